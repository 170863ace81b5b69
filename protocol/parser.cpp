// The parser's frame: finds the line, recognises its first word, and calls the function that parses the rest.
#include "protocol/parser.hpp"

#include <array>
#include <cstdint>
#include <string_view>

#include "protocol/commands.hpp"
#include "protocol/line_scan.hpp"
#include "protocol/numbers.hpp"
#include "protocol/words.hpp"

namespace mxkv::protocol {
namespace {

/// The first bytes of a TLS handshake.
constexpr std::string_view kTlsHandshake = "\x16\x03";

Parsed closed() noexcept {
  Parsed parsed;
  parsed.what = outcome::close;
  return parsed;
}

/// HTTP is closed without an answer (rule 5): it is a browser, or a page that makes a browser post to us.
Parsed unknown_command(const Tokens& tokens) noexcept {
  return tokens.last().starts_with("HTTP/") ? closed() : refused(kError);
}

/// A first word, its command, and the function that parses its line.
struct Word {
  std::string_view text{};
  verb op{};
  Grammar reads = nullptr;
  std::uint64_t begin = word_of(text.substr(0, 8));  ///< its first eight bytes
};

/// First words without a row: further names of commands.
constexpr std::array kOtherNames{Word{"put", verb::set, parse_storage},
                                 Word{"slabs", verb::tune, parse_slabs},
                                 Word{"lru_crawler", verb::tune, parse_lru_crawler}};

constexpr std::size_t kWords = kOtherNames.size() + [] {
  std::size_t count = 0;
  for (const Command& command : detail::kCommandTable) {
    count += command.reads != nullptr ? 1 : 0;
  }
  return count;
}();

/// The first words, by a perfect hash of their first eight bytes, in which no two words agree.
class WordTable {
 public:
  consteval WordTable() {
    std::size_t count = 0;
    for (const Command& command : detail::kCommandTable) {
      if (command.reads != nullptr) {
        words_[count++] = {command.word, command.op, command.reads};
      }
    }
    for (const Word& word : kOtherNames) {
      words_[count++] = word;
    }
    while (!fill()) {
      factor_ = factor_ * 6364136223846793005U + 1442695040888963407U;  // Knuth, MMIX
    }
  }

  /// Null if no command has this word.
  [[nodiscard]] const Word* find(std::string_view name) const noexcept {
    const std::uint64_t begin = load_text(name.substr(0, 8));
    const Word& word = words_[numbers_[slot_of(begin)]];
    const bool same = word.begin == begin && word.text.size() == name.size();
    return same && (name.size() <= 8 || word.text == name) ? &word : nullptr;
  }

 private:
  static constexpr unsigned kBits = 10;
  static constexpr std::uint8_t kNone = kWords;  ///< index of an empty word, for unused slots

  [[nodiscard]] constexpr std::size_t slot_of(std::uint64_t begin) const noexcept {
    return static_cast<std::size_t>((begin * (factor_ | 1U)) >> (64 - kBits));
  }
  consteval bool fill() {
    numbers_.fill(kNone);
    for (std::size_t n = 0; n < kWords; ++n) {
      std::uint8_t& number = numbers_[slot_of(words_[n].begin)];
      if (number != kNone) {
        return false;
      }
      number = static_cast<std::uint8_t>(n);
    }
    return true;
  }

  std::uint64_t factor_ = 1;
  std::array<Word, kWords + 1> words_{};
  std::array<std::uint8_t, std::size_t{1} << kBits> numbers_{};
};
constexpr WordTable kWordTable;

Parsed parse_line(CommandLine line) noexcept {
  line.request.noreply = false;
  line.request.key = {};
  const std::string_view name = line.tokens.next().text;
  if (name.empty()) {
    return refused(kBadFormat);
  }
  const Word* const word = kWordTable.find(name);
  if (word == nullptr) {
    return unknown_command(line.tokens);
  }
  line.request.op = word->op;
  return word->reads(line);
}

Parsed parse_login_line(CommandLine line) noexcept {
  Tokens ahead = line.tokens;
  if (ahead.next().text == "set") {
    for (int ignored = 0; ignored < 3; ++ignored) {
      (void)ahead.next();
    }
    std::uint64_t& bytes = line.request.value_bytes;
    if (read_u64(ahead.next().text, bytes) && bytes <= kLongestValue) {
      line.request.op = verb::set;
      line.request.noreply = false;
      return accepted();
    }
  }
  return parse_line(line);
}

/// Finds the line and has `family` parse it.
Parsed parse_framed(const char* data, std::size_t size, const ParserLimits& limits, LineState& line,
                    Request& request, Parsed (*family)(CommandLine) noexcept) noexcept {
  if (size == 0) {
    return {};
  }
  std::size_t end = 0;
  switch (find_line_end(data, size, limits, line, end)) {
    case line_end::missing:
      return {};
    case line_end::too_long:
      return closed();
    case line_end::found:
      break;
  }
  const std::size_t bytes = end - (end > 0 && data[end - 1] == '\r' ? 1 : 0);
  Tokens tokens(data, data + bytes);
  Parsed parsed = family({tokens, request, limits});
  parsed.consumed = end + 1;
  return parsed;
}

}  // namespace

wire_protocol protocol_of(std::string_view first) noexcept {
  if (first.starts_with(kBinaryRequestMagic)) {
    return wire_protocol::binary;
  }
  if (first.starts_with(kTlsHandshake)) {
    return wire_protocol::tls;
  }
  return kTlsHandshake.starts_with(first) ? wire_protocol::undecided : wire_protocol::text;
}

std::string_view foreign_protocol(std::string_view data) noexcept {
  if (data.starts_with(kTlsHandshake)) {
    return "TLS";
  }
  return data.substr(0, data.find('\n')).find(" HTTP/") != std::string_view::npos ? "HTTP" : "";
}

Parsed Parser::parse_any_line(const char* data, std::size_t size, LineState& line,
                              Request& request) const noexcept {
  return parse_framed(data, size, limits_, line, request, parse_line);
}

Parsed Parser::parse_login(const char* data, std::size_t size, LineState& line,
                           Request& request) const noexcept {
  return parse_framed(data, size, limits_, line, request, parse_login_line);
}

}  // namespace mxkv::protocol

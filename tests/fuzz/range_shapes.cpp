#include "tests/fuzz/range_shapes.hpp"

#include <cstdint>
#include <utility>

#include "protocol/reply.hpp"

namespace mxkv::fuzz {
namespace {

/// Keys of a range come in strict order.
class KeyOrder {
 public:
  explicit KeyOrder(bool reverse) : reverse_(reverse) {}
  bool takes(std::string key) {
    const bool in_order = !last_ || (reverse_ ? key < *last_ : key > *last_);
    last_ = std::move(key);
    return in_order;
  }

 private:
  bool reverse_;
  std::optional<std::string> last_;
};

/// One item of mr: its key first, then the wanted flags.
void meta_item(Reader& in, const Owed& owed, KeyOrder& order) {
  auto words = words_of(in.line());
  const bool value = words.front() == "VA";
  const std::size_t first = value ? 2 : 1;
  if (!in.require(value == owed.meta.value && words.size() > first && words[first].starts_with('k'))) {
    return;
  }
  if (value && in.require(number_of(words[1]).has_value())) {
    in.block(*number_of(words[1]));
  }
  const bool binary = words.size() > first + 1 && words[first + 1] == "b";
  const std::optional<std::string> key =
      binary ? decoded(words[first].substr(1)) : std::string{words[first].substr(1)};
  in.require(key && order.takes(*key));
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(first) + (binary ? 2 : 1));
  meta_flags(in, owed, words, "Ocfhlst", "XZ");
}

/// `word` and as many fields A B K G O ~ N M as there may be; the first is A. Returns its number.
std::optional<std::uint64_t> total_line(Reader& in, const Owed& owed, std::string_view word) {
  const auto words = words_of(in.line());
  if (!in.require(words.size() > 1 && words[0] == word && words[1].starts_with('A'))) {
    return std::nullopt;
  }
  for (const std::string_view field : words) {
    in.require(!field.starts_with('O') || field.substr(1) == owed.meta.opaque());
    in.require(!owed.locked || !field.starts_with('~'));  // nothing is guessed at one point in time
  }
  return number_of(words[1].substr(1));
}

}  // namespace

std::optional<std::string> meta_flags(Reader& in, const Owed& owed, std::vector<std::string_view> words,
                                      std::string_view shows, std::string_view marks) {
  std::optional<std::string> key;
  std::string_view wants = owed.meta.wants();
  for (std::size_t i = 0; i < words.size() && in.good(); ++i) {
    const std::string_view word = words[i];
    if (!in.require(!word.empty())) {
      break;
    }
    const std::string_view token = word.substr(1);
    if (token.empty() && marks.find(word[0]) != std::string_view::npos) {
      continue;
    }
    const std::size_t place = wants.find(word[0]);
    if (!in.require(place != std::string_view::npos && shows.find(word[0]) != std::string_view::npos)) {
      break;
    }
    wants.remove_prefix(place + 1);
    if (word[0] == 'O') {
      in.require(token == owed.meta.opaque());
    } else if (word[0] == 'k') {
      const bool binary = i + 1 < words.size() && words[i + 1] == "b";
      key = binary ? decoded(token) : std::string{token};
      in.require(key == owed.key);
      i += binary ? 1 : 0;
    } else {
      in.require(number_of(token) || (word[0] == 't' && token == "-1"));
    }
  }
  return key;
}

void classic_range(Reader& in, const Owed& owed) {
  KeyOrder order{owed.reverse};
  while (in.good() && (in.next_is("VALUE ") || in.next_is("KEY "))) {
    const auto words = words_of(in.line());
    const std::size_t fields = owed.keys_only ? 2 : owed.with_cas ? 5 : 4;
    if (!in.require(words.size() == fields && (words[0] == "KEY") == owed.keys_only)) {
      return;
    }
    const std::optional<std::string> key = owed.base64 ? decoded(words[1]) : std::string{words[1]};
    in.require(key && order.takes(*key));
    if (!owed.keys_only && in.require(number_of(words[2]) && number_of(words[3]))) {
      in.block(*number_of(words[3]));
    }
  }
  if (in.takes(protocol::kBinaryKey)) {
    return;
  }
  if (in.takes("CURSOR ")) {
    in.require(!in.line().empty());
  }
  in.require(in.takes(protocol::kEnd));
}

void meta_range(Reader in, const Owed& owed, std::vector<std::size_t>& ends) {
  KeyOrder order{owed.reverse};
  for (std::uint64_t items = 0; in.good(); ++items) {
    if (owed.meta.quiet) {
      ends.push_back(in.at());
    }
    if (in.next_is("EN ")) {
      if (total_line(in, owed, "EN") == items && in.good()) {
        ends.push_back(in.at());
      }
      return;
    }
    meta_item(in, owed, order);
  }
}

void meta_count(Reader& in, const Owed& owed) {
  if (owed.locked && in.takes(protocol::kTooManyKeys)) {
    return;
  }
  if (!owed.by_delimiter) {
    total_line(in, owed, "HD");
    return;
  }
  std::uint64_t groups = 0;
  while (in.good() && in.next_is("HD k")) {
    ++groups;
    in.line();
  }
  in.require(total_line(in, owed, "EN") == groups);
}

void changed_range(Reader& in, const Owed& owed) {
  if (owed.locked && in.takes_any({protocol::kTooManyKeys, protocol::kOutOfMemory})) {
    return;
  }
  Reader line = in;
  const auto words = words_of(line.line());
  for (const std::string_view field : words) {
    in.require(!owed.locked || !field.starts_with('G'));
  }
  in.require(total_line(in, owed, "HD").has_value());
}

}  // namespace mxkv::fuzz

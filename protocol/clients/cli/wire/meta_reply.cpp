#include "protocol/clients/cli/wire/meta_reply.hpp"

#include <array>

#include "protocol/clients/cli/failure.hpp"
#include "protocol/numbers.hpp"
#include "protocol/reply.hpp"

namespace mxkv::cli {
namespace {

/// The longest line that a server sends: an error, or a page's end with a cursor.
constexpr std::size_t kMostLineBytes = std::size_t{64} * 1024;
constexpr std::uint64_t kMostValueBytes = std::uint64_t{1} << 31U;

std::string_view cut_word(std::string_view& text) noexcept {
  while (text.starts_with(' ')) {
    text.remove_prefix(1);
  }
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

[[noreturn]] void no_reply(std::string_view line) {
  throw Failure(Outcome::unreachable,
                "the reply does not follow memcached's protocol: " + std::string(line.substr(0, 80)));
}

}  // namespace

std::optional<std::string_view> MetaReply::flag(char letter) const noexcept {
  std::string_view words = rest;
  for (;;) {
    const std::string_view word = cut_word(words);
    if (word.empty()) {
      return {};
    }
    if (word.front() == letter) {
      return word.substr(1);
    }
  }
}

std::uint64_t MetaReply::number(char letter) const noexcept {
  std::uint64_t read = 0;
  const auto text = flag(letter);
  return text && protocol::read_u64(*text, read) ? read : 0;
}

bool MetaReply::is_error() const noexcept {
  return code == "ERROR" || code == "CLIENT_ERROR" || code == "SERVER_ERROR" || code == "ERROR:";
}

bool MetaReply::key_into(std::string& key) const {
  const auto text = flag('k');
  if (!text) {
    return false;
  }
  if (!has('b')) {
    key.assign(*text);
    return true;
  }
  key.resize(text->size());
  std::size_t bytes = 0;
  if (!protocol::read_base64(*text, key.data(), bytes)) {
    no_reply(line);
  }
  key.resize(bytes);
  return true;
}

std::string MetaReply::key() const {
  std::string result;
  key_into(result);
  return result;
}

std::size_t read_meta_reply(std::string_view bytes, MetaReply& reply) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) {
    if (bytes.size() > kMostLineBytes) {
      no_reply(bytes);
    }
    return 0;
  }
  reply = {};
  reply.line = bytes.substr(0, end);
  if (reply.line.ends_with('\r')) {
    reply.line.remove_suffix(1);
  }
  reply.rest = reply.line;
  reply.code = cut_word(reply.rest);
  if (reply.code != "VA") {
    return end + 1;
  }
  std::uint64_t length = 0;
  if (!protocol::read_u64(cut_word(reply.rest), length) || length > kMostValueBytes) {
    no_reply(reply.line);
  }
  if (bytes.size() - end - 1 < length + 2) {
    return 0;
  }
  if (bytes.substr(end + 1 + length, 2) != "\r\n") {
    no_reply(reply.line);
  }
  reply.value = bytes.substr(end + 1, length);
  reply.has_value = true;
  return end + 1 + length + 2;
}

void throw_refusal(std::string_view line) {
  const bool login = line.find("unauthenticated") != std::string_view::npos ||
                     line.find("authentication") != std::string_view::npos;
  throw Failure(login ? Outcome::login : Outcome::refused,
                "the server replied: " + std::string(line) +
                    (line.ends_with("unauthenticated") ? " (see --user)" : ""));
}

void expect_no_error(const MetaReply& reply) {
  if (reply.is_error()) {
    throw_refusal(reply.line);
  }
}

}  // namespace mxkv::cli

// Reads replies line by line, and the words of a line.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/reply.hpp"

namespace mxkv::fuzz {

/// Reads replies from some place on. Bytes that do not fit make it bad, for good.
class Reader {
 public:
  Reader(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] bool good() const { return good_; }
  bool require(bool holds) { return good_ = good_ && holds; }

  /// One of these, whole, if it is next.
  bool takes(std::string_view text) {
    if (!good_ || !text_.substr(at_).starts_with(text)) {
      return false;
    }
    at_ += text.size();
    return true;
  }
  bool takes_any(std::initializer_list<std::string_view> texts) {
    return std::ranges::any_of(texts, [this](std::string_view text) { return takes(text); });
  }
  /// The next line without its end, which must be CR LF, or LF alone where `bare`.
  std::string_view line(bool bare = false) {
    const std::size_t end = text_.find('\n', at_);
    if (!require(end != std::string_view::npos && (bare || (end > at_ && text_[end - 1] == '\r')))) {
      return {};
    }
    const std::string_view found = text_.substr(at_, end - at_ - (bare ? 0 : 1));
    at_ = end + 1;
    return found;
  }
  /// A data block and its end.
  void block(std::uint64_t bytes) {
    if (require(bytes <= text_.size() - at_)) {
      at_ += static_cast<std::size_t>(bytes);
      require(takes(protocol::kCrLf));
    }
  }
  [[nodiscard]] bool next_is(std::string_view text) const { return text_.substr(at_).starts_with(text); }

 private:
  std::string_view text_;
  std::size_t at_;
  bool good_ = true;
};

/// The words between single spaces.
inline std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

/// A decimal number, as replies have it.
inline std::optional<std::uint64_t> number_of(std::string_view word) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool plain = word == "0" || !word.starts_with('0');
  return error == std::errc{} && end == word.data() + word.size() && plain ? std::optional{number}
                                                                           : std::nullopt;
}

/// The bytes that a text of base64 encodes.
inline std::optional<std::string> decoded(std::string_view text) {
  std::string bytes(text.size() / 4 * 3 + 3, '\0');
  std::size_t count = 0;
  if (!protocol::read_base64(text, bytes.data(), count)) {
    return std::nullopt;
  }
  bytes.resize(count);
  return bytes;
}

}  // namespace mxkv::fuzz

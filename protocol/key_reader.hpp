// Inside the parser: the keys of ranges and of meta commands, which come as they are or in base64.
//
// The limit of a key holds for its bytes, not for their text. So a command that allows keys in base64 reads
// them with KeyReader, not with Token::is_key().
#pragma once

#include <cstddef>
#include <string_view>

#include "protocol/cursor.hpp"
#include "protocol/reply.hpp"
#include "protocol/tokens.hpp"

namespace mxkv::protocol {

/// Longest base64 text of a key.
inline constexpr std::size_t kMaxEncodedKeyBytes = 4 * ((kMaxKeyBytes + 2) / 3);
/// Room for one decoded bound: a bound of the longest text may decode to a little more than a key.
inline constexpr std::size_t kBoundScratch = kMaxEncodedKeyBytes / 4 * 3;
static_assert(2 * kBoundScratch <= sizeof(Request::scratch));
static_assert(kMaxCursorBytes <= sizeof(Request::scratch));

/// Turns key tokens into keys. Keeps the error of the last token that was no key.
class KeyReader {
 public:
  explicit KeyReader(Request& request) noexcept : KeyReader(request.range.base64, request.scratch.data()) {}
  /// The keys of base64 go to `scratch`, kBoundScratch each.
  KeyReader(bool base64, char* scratch) noexcept : base64_(base64), out_(scratch) {}

  std::string_view read(std::string_view text, bool clean) noexcept {
    if (!base64_) {
      if (!Token{text, clean}.is_key()) {
        error_ = kBadFormat;
      }
      return text;
    }
    std::size_t bytes = 0;
    if (text.size() > kMaxEncodedKeyBytes) {
      error_ = kBadFormat;
      return {};
    }
    if (!read_base64(text, out_, bytes)) {
      error_ = kBadEncoding;
      return {};
    }
    if (bytes == 0 || bytes > kMaxKeyBytes) {
      error_ = kBadFormat;
    }
    const std::string_view key(out_, bytes);
    out_ += kBoundScratch;
    return key;
  }

  [[nodiscard]] std::string_view error() const noexcept { return error_; }

 private:
  bool base64_;
  char* out_;
  std::string_view error_;
};

}  // namespace mxkv::protocol

// The words of one command line: separated by spaces alone, runs of them collapsed (rule 2).
//
// The search for the end of a token also finds whether the token could be a key, so that keys are read once.
// Control bytes do not separate words: some clients (memcaslap) send keys with control bytes, and memcached
// takes them. NUL and CR, which would make lines ambiguous to other programs, make a token unclean.
#pragma once

#include <cstddef>
#include <string_view>

#include "protocol/request.hpp"
#include "protocol/words.hpp"

namespace mxkv::protocol {

struct Token {
  std::string_view text;  ///< empty: the line has no more
  bool clean = true;      ///< no byte that a key may not hold

  [[nodiscard]] bool empty() const noexcept { return text.empty(); }
  /// For a key that comes as it is. KeyReader reads keys that may be base64.
  [[nodiscard]] bool is_key() const noexcept { return clean && !text.empty() && text.size() <= kMaxKeyBytes; }
};

class Tokens {
 public:
  /// [begin, end) is the line without its CR LF.
  Tokens(const char* begin, const char* end) noexcept : begin_(begin), at_(begin), end_(end) {
    skip_spaces();
  }

  [[nodiscard]] Token next() noexcept {
    const char* const begin = at_;
    Token token;
    at_ = find_not_key(at_, end_);
    while (at_ != end_ && *at_ != ' ') {
      token.clean = token.clean && is_key_byte(*at_);
      at_ = find_not_key(at_ + 1, end_);
    }
    token.text = {begin, static_cast<std::size_t>(at_ - begin)};
    skip_spaces();
    return token;
  }

  [[nodiscard]] bool done() const noexcept { return at_ == end_; }
  /// The rest of the line, from the next token on.
  [[nodiscard]] std::string_view rest() const noexcept { return {at_, static_cast<std::size_t>(end_ - at_)}; }

  /// The last token of the whole line, whatever was taken.
  [[nodiscard]] std::string_view last() const noexcept {
    const char* end = end_;
    while (end != begin_ && end[-1] == ' ') {
      --end;
    }
    const char* begin = end;
    while (begin != begin_ && begin[-1] != ' ') {
      --begin;
    }
    return {begin, static_cast<std::size_t>(end - begin)};
  }

 private:
  void skip_spaces() noexcept {
    while (at_ != end_ && *at_ == ' ') {
      ++at_;
    }
  }

  const char* begin_;
  const char* at_;
  const char* end_;
};

}  // namespace mxkv::protocol

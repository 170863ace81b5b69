// One line, parsed: what most tests of the parser ask for.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include "protocol/parser.hpp"
#include "protocol/reply.hpp"

namespace mxkv::protocol {

/// The bytes stand at the end of a heap block of their own, so that a sanitizer sees any read beyond them.
class ParsedLine {
 public:
  explicit ParsedLine(std::string_view text, ParserLimits limits = {})
      : text_(std::make_unique<char[]>(text.size())), request_(std::make_unique<Request>()) {
    text.copy(text_.get(), text.size());
    LineState line;
    parsed_ = Parser(limits).parse(text_.get(), text.size(), line, *request_);
  }

  [[nodiscard]] const Parsed& parsed() const noexcept { return parsed_; }
  [[nodiscard]] bool accepted() const noexcept { return parsed_.what == outcome::request; }
  [[nodiscard]] const Request* operator->() const noexcept { return request_.get(); }
  [[nodiscard]] const RangeRequest& range() const noexcept { return request_->range; }

 private:
  std::unique_ptr<char[]> text_;
  std::unique_ptr<Request> request_;
  Parsed parsed_;
};

/// Checks that `line` (without CR LF) is answered with `error` after swallowing `swallow` bytes.
inline void expect_refused(std::string_view line, std::string_view error, std::uint64_t swallow = 0) {
  const std::string text = std::string(line) + "\r\n";
  const ParsedLine parsed(text);
  EXPECT_EQ(parsed.parsed().what, outcome::error) << line;
  EXPECT_EQ(parsed.parsed().error, error) << line;
  EXPECT_EQ(parsed.parsed().swallow, swallow) << line;
  EXPECT_EQ(parsed.parsed().consumed, text.size()) << line;
  EXPECT_FALSE(parsed.parsed().delete_key) << line;
}

inline constexpr std::string_view kSilence;

/// A key one byte too long.
inline const std::string& overlong_key() {
  static const std::string key(kMaxKeyBytes + 1, 'k');
  return key;
}

}  // namespace mxkv::protocol

// One line, parsed: the usual input of the parser's tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "protocol/cursor.hpp"
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

inline void expect_bound(const RangeBound& bound, std::string_view key, bool inclusive) {
  EXPECT_FALSE(bound.unbounded);
  EXPECT_EQ(bound.key, key);
  EXPECT_EQ(bound.inclusive, inclusive);
}

inline std::string cursor_text(const CursorState& state) {
  std::string text(kMaxCursorBytes, '\0');
  text.resize(static_cast<std::size_t>(write_cursor(text.data(), state) - text.data()));
  return text;
}

inline constexpr std::string_view kSilence;

/// A key one byte too long.
inline const std::string& overlong_key() {
  static const std::string key(kMaxKeyBytes + 1, 'k');
  return key;
}

}  // namespace mxkv::protocol

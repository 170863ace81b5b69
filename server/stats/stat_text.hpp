// Lines of `stats`: "STAT <name> <value>", then END. Names and values may come from clients: keys, paths,
// certificates. A line always stays one line, and its name one word (runtime/base/readable.hpp).
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace mxkv::server {

/// Collects the lines. Thread-safety: none, like a plain value.
class StatText {
 public:
  void add(std::string_view name, std::string_view value);
  template <std::integral T>
  void add(std::string_view name, T value) {
    add(name, std::string_view{std::to_string(value)});
  }
  /// Seconds with six decimals, as memcached prints CPU times.
  void add_seconds(std::string_view name, long seconds, long microseconds);
  /// The whole reply, or the last page of it.
  [[nodiscard]] std::string finish() &&;
  /// The lines of a page that is not the last.
  [[nodiscard]] std::string page() && { return std::move(text_); }

 private:
  void append(std::string_view text, bool blanks);

  std::string text_;
};

}  // namespace mxkv::server

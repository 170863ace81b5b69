// Lines of `stats`: "STAT <name> <value>", then END.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace mxkv::server {

/// Collects the lines. Thread-safety: that of a plain value.
class StatText {
 public:
  void add(std::string_view name, std::string_view value);
  template <std::integral T>
  void add(std::string_view name, T value) {
    add(name, std::string_view{std::to_string(value)});
  }
  /// Seconds with six decimals, as memcached prints CPU times.
  void add_seconds(std::string_view name, long seconds, long microseconds);
  /// The whole reply.
  [[nodiscard]] std::string finish() &&;

 private:
  std::string text_;
};

}  // namespace mxkv::server

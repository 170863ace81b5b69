// Allows at most so many lines in each second, and counts the lines left out.
#pragma once

#include <cstdint>

namespace mxkv::server {

/// Time is in seconds of any clock that never goes back. Thread-safety: none, like a plain value.
class RateLimit {
 public:
  /// `rate` lines a second; 0: no limit.
  explicit RateLimit(std::uint32_t rate) noexcept : rate_(rate) {}

  void set_rate(std::uint32_t rate) noexcept { rate_ = rate; }
  [[nodiscard]] std::uint32_t rate() const noexcept { return rate_; }

  /// Whether a line may be written in `second`; if not, counts it as left out.
  [[nodiscard]] bool allows(std::uint64_t second) noexcept {
    if (second != second_) {
      second_ = second;
      lines_ = 0;
    }
    if (rate_ != 0 && lines_ >= rate_) {
      ++left_out_;
      return false;
    }
    ++lines_;
    return true;
  }
  /// Takes the number of lines left out before `second`; 0 while that second lasts.
  [[nodiscard]] std::uint64_t take_left_out(std::uint64_t second) noexcept {
    return second == second_ ? 0 : take_left_out();
  }
  [[nodiscard]] std::uint64_t take_left_out() noexcept {
    const std::uint64_t count = left_out_;
    left_out_ = 0;
    return count;
  }
  [[nodiscard]] bool owes_note() const noexcept { return left_out_ > 0; }

 private:
  std::uint32_t rate_;
  std::uint32_t lines_ = 0;
  std::uint64_t second_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace mxkv::server

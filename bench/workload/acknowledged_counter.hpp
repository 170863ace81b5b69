// Numbers for inserted records, handed out in order. Readers use a number once the server has acknowledged it
// and all numbers below. So a read never asks for a record whose insert is still under way.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace mxkv::bench {

/// Thread-safety: any thread.
class AcknowledgedCounter {
 public:
  /// The most numbers that may be unacknowledged at once.
  static constexpr std::uint64_t kWindow = std::uint64_t{1} << 20;

  /// Numbers below `start` count as acknowledged.
  explicit AcknowledgedCounter(std::uint64_t start) : acknowledged_(kWindow), end_(start), next_(start) {}

  /// The next number to insert. It must be acknowledged before kWindow further ones are taken.
  std::uint64_t take() noexcept { return next_.fetch_add(1, std::memory_order_relaxed); }
  void acknowledge(std::uint64_t number);
  /// All numbers below this one are in the server.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_.load(std::memory_order_acquire); }

 private:
  std::mutex mutex_;                // guards acknowledged_
  std::vector<bool> acknowledged_;  // by number modulo kWindow, for numbers at or above end_
  std::atomic<std::uint64_t> end_;  // release by acknowledge(), pairs with the acquire in end()
  std::atomic<std::uint64_t> next_;
};

}  // namespace mxkv::bench

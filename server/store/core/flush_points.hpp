// The moments up to which flushes have taken items: a delayed flush_all removes nothing itself.
#pragma once

#include <atomic>
#include <cstdint>

namespace mxkv::server {

/// Once the clock has reached a point (us), items with an order up to it do not count as there. Relaxed:
/// each point stands for itself. Thread-safety: any thread, but only one at a time calls set().
struct FlushPoints {
  std::atomic<std::uint64_t> next{0};    ///< the point that was set last
  std::atomic<std::uint64_t> before{0};  ///< the point in force until `next` is reached
  std::atomic<std::uint64_t> order{0};   ///< of the operation that set `next`, or more

  /// The point in force.
  [[nodiscard]] std::uint64_t at(std::uint64_t now_us) const noexcept {
    const std::uint64_t point = next.load(std::memory_order_relaxed);
    return point > now_us ? before.load(std::memory_order_relaxed) : point;
  }
  void set(std::uint64_t point, std::uint64_t now_us, std::uint64_t set_by = 0) noexcept {
    order.store(set_by, std::memory_order_relaxed);
    before.store(at(now_us), std::memory_order_relaxed);
    next.store(point, std::memory_order_relaxed);
  }
};

}  // namespace mxkv::server

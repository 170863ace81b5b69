// The herald's counters. The herald's thread writes them, except `watches`; any thread reads them.
#pragma once

#include <atomic>
#include <cstdint>

namespace mxkv::server {

/// Relaxed: each is independent.
struct HeraldCounts {
  std::atomic<std::uint64_t> watches{0};  ///< begun or about to begin
  std::atomic<std::uint64_t> channels{0};
  std::atomic<std::uint64_t> live{0};
  std::atomic<std::uint64_t> behind{0};
  std::atomic<std::uint64_t> epochs{0};   ///< read
  std::atomic<std::uint64_t> changes{0};  ///< read
  std::atomic<std::uint64_t> lines{0};    ///< written, once for all watches of a form
  std::atomic<std::uint64_t> told{0};     ///< lines handed to watches
  std::atomic<std::uint64_t> gaps{0};     ///< times that the next epoch was gone: all live watches ended
  std::atomic<std::uint64_t> falls{0};    ///< watches that fell behind
  std::atomic<std::uint64_t> old{0};      ///< watches that ended since their changes are gone
  std::atomic<std::uint64_t> lost{0};     ///< requests with a position of another history
};

/// For the only writer of a counter.
inline void count(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}
inline void set(std::atomic<std::uint64_t>& counter, std::uint64_t to) noexcept {
  counter.store(to, std::memory_order_relaxed);
}

}  // namespace mxkv::server

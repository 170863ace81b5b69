// How long the last flushes took. A ring instead of a histogram: an operator asks how the disk is now.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mxkv::server {

/// Thread-safety: add() one thread; the rest any thread.
class FlushTimes {
 public:
  static constexpr std::size_t kKept = 512;

  struct Figures {
    std::uint64_t flushes = 0;  ///< since the start
    std::uint64_t p50_ns = 0;   ///< of the last kKept, as the rest
    std::uint64_t p99_ns = 0;
    std::uint64_t most_ns = 0;
  };

  void add(std::uint64_t nanoseconds) noexcept {
    const std::uint64_t flushes = flushes_.load(std::memory_order_relaxed);
    ring_[flushes % kKept].store(nanoseconds, std::memory_order_relaxed);
    flushes_.store(flushes + 1, std::memory_order_release);  // pairs with figures()
  }

  [[nodiscard]] Figures figures() const noexcept {
    Figures figures;
    figures.flushes = flushes_.load(std::memory_order_acquire);
    std::array<std::uint64_t, kKept> kept;
    const std::size_t count = std::min<std::uint64_t>(figures.flushes, kKept);
    for (std::size_t i = 0; i < count; ++i) {
      kept[i] = ring_[i].load(std::memory_order_relaxed);
    }
    if (count > 0) {
      std::sort(kept.begin(), kept.begin() + count);
      figures.p50_ns = kept[(count - 1) / 2];
      figures.p99_ns = kept[(count - 1) * 99 / 100];
      figures.most_ns = kept[count - 1];
    }
    return figures;
  }

 private:
  std::array<std::atomic<std::uint64_t>, kKept> ring_{};  // relaxed: statistics
  std::atomic<std::uint64_t> flushes_{0};
};

}  // namespace mxkv::server

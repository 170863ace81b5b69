// A rate limit: a bucket from which connections on any worker draw.
//
// The bucket is one word: the time up to which all was drawn. A draw moves that time on. It is never more
// than a second behind now, so that at most a second's worth may be drawn at once. A draw may take more than
// the bucket has. That leaves a debt, and the next draw waits until it is paid. So requests and bytes may be
// drawn when their number is known, after a turn.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace mxkv::server {

/// Thread-safety: any thread. Relaxed: a limit; it orders no other memory.
class Rate {
 public:
  static constexpr std::uint64_t kSecondNs = 1'000'000'000;

  /// 0: no limit.
  void set(std::uint64_t a_second) noexcept { a_second_.store(a_second, std::memory_order_relaxed); }
  [[nodiscard]] bool limits() const noexcept { return a_second_.load(std::memory_order_relaxed) != 0; }

  /// How much may be drawn now; kNoLimit where there is none.
  [[nodiscard]] std::uint64_t room(std::uint64_t now_ns) const noexcept {
    const std::uint64_t rate = a_second_.load(std::memory_order_relaxed);
    const std::uint64_t drawn = std::max(drawn_ns_.load(std::memory_order_relaxed), least(now_ns));
    if (rate == 0) {
      return kNoLimit;
    }
    return drawn >= now_ns ? 0 : amount(now_ns - drawn, rate);
  }
  /// Whether the bucket is full.
  [[nodiscard]] bool rests(std::uint64_t now_ns) const noexcept {
    return drawn_ns_.load(std::memory_order_relaxed) <= least(now_ns);
  }
  void draw(std::uint64_t amount, std::uint64_t now_ns) noexcept {
    const std::uint64_t rate = a_second_.load(std::memory_order_relaxed);
    if (rate == 0 || amount == 0) {
      return;
    }
    const auto takes_ns =
        static_cast<std::uint64_t>(static_cast<double>(amount) * 1e9 / static_cast<double>(rate));
    std::uint64_t before = drawn_ns_.load(std::memory_order_relaxed);
    while (!drawn_ns_.compare_exchange_weak(before, std::max(before, least(now_ns)) + takes_ns,
                                            std::memory_order_relaxed)) {
    }
  }
  /// When there is room again: for one unit, or at least kLeastWaitNs later, so that waits are not too short.
  [[nodiscard]] std::uint64_t next_ns() const noexcept {
    const std::uint64_t rate = std::max<std::uint64_t>(1, a_second_.load(std::memory_order_relaxed));
    return drawn_ns_.load(std::memory_order_relaxed) + std::max(kSecondNs / rate + 1, kLeastWaitNs);
  }

  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

 private:
  static constexpr std::uint64_t kLeastWaitNs = 1'000'000;

  static std::uint64_t amount(std::uint64_t ns, std::uint64_t rate) noexcept {
    return ns >= kSecondNs
               ? rate
               : static_cast<std::uint64_t>(static_cast<double>(ns) / 1e9 * static_cast<double>(rate));
  }
  static std::uint64_t least(std::uint64_t now_ns) noexcept {
    return now_ns > kSecondNs ? now_ns - kSecondNs : 0;
  }

  std::atomic<std::uint64_t> a_second_{0};
  std::atomic<std::uint64_t> drawn_ns_{0};
};

}  // namespace mxkv::server

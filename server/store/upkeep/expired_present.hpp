// Estimates how many expired items are still in the store, for `stats`. Every five seconds, while any item is
// to expire, random walks (index/sample_task.hpp) look at some leaves. Until the next look, sweeps and
// requests that remove expired items reduce the estimate.
#pragma once

#include <atomic>
#include <cstdint>

namespace mxkv::runtime {
class Worker;
}

namespace mxkv::server {

class ExpirySweep;
class StoreState;

/// One per store. Thread-safety: any worker.
class ExpiredPresent {
 public:
  static constexpr std::uint64_t kEveryUs = 5'000'000;
  static constexpr std::uint32_t kWalks = 256;

  ExpiredPresent(StoreState& store, const ExpirySweep& sweep) noexcept : store_(store), sweep_(sweep) {}

  /// Call it often: it starts a look when the time has come.
  void tick(runtime::Worker& worker);

  struct Estimate {
    std::uint64_t items = 0;
    std::uint64_t bytes = 0;
  };
  /// Also any other thread.
  [[nodiscard]] Estimate estimate() const noexcept;

  /// The looking task reports its result.
  void found(double items, double bytes) noexcept;

 private:
  [[nodiscard]] std::uint64_t removed() const noexcept;

  StoreState& store_;
  const ExpirySweep& sweep_;
  // Relaxed, all of them: statistics, which may be inconsistent for a moment.
  std::atomic<std::uint64_t> next_us_{0};
  std::atomic<std::uint64_t> items_{0};    ///< found by the last look
  std::atomic<std::uint64_t> bytes_{0};    ///< the bytes of these items
  std::atomic<std::uint64_t> removed_{0};  ///< the count of removed expired items at the last look
};

}  // namespace mxkv::server

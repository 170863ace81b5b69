// How many items have expired and are still there, for `stats`: every few seconds, while any item is to
// expire, random walks (index/sample_task.hpp) look at some leaves. Sweeps and requests that remove such
// items take them off until the next look.
#pragma once

#include <atomic>
#include <cstdint>

namespace mxkv::runtime {
class Worker;
}

namespace mxkv::server {

class ExpirySweep;
class StoreState;

/// One a store. Thread-safety: any worker.
class ExpiredPresent {
 public:
  static constexpr std::uint64_t kEveryUs = 5'000'000;
  static constexpr std::uint32_t kWalks = 256;

  ExpiredPresent(StoreState& store, const ExpirySweep& sweep) noexcept : store_(store), sweep_(sweep) {}

  /// To be called often: looks if it is time.
  void tick(runtime::Worker& worker);

  struct Estimate {
    std::uint64_t items = 0;
    std::uint64_t bytes = 0;
  };
  /// Also any other thread.
  [[nodiscard]] Estimate estimate() const noexcept;

  /// For the task that looks: what it found.
  void found(double items, double bytes) noexcept;

 private:
  [[nodiscard]] std::uint64_t removed() const noexcept;

  StoreState& store_;
  const ExpirySweep& sweep_;
  // Relaxed, all of them: for statistics, which may show one without the other for a moment.
  std::atomic<std::uint64_t> next_us_{0};
  std::atomic<std::uint64_t> items_{0};    ///< that the last look found
  std::atomic<std::uint64_t> bytes_{0};    ///< theirs
  std::atomic<std::uint64_t> removed_{0};  ///< expired ones that had been removed by then, ever
};

}  // namespace mxkv::server

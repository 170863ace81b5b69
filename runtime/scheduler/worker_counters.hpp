// The counters of each worker, for statistics, the rebalancer and the watchdog.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace mxkv::runtime {

/// Counters of one worker; each a relaxed atomic with one writer.
struct WorkerCounters {
  std::atomic<std::uint64_t> rounds{0};   ///< ended; a worker whose count stands still while not parked hangs
  std::atomic<std::uint64_t> tasks{0};    ///< executed; levels run through count as one
  std::atomic<std::uint64_t> ended{0};    ///< tasks that came to their end
  std::atomic<std::uint64_t> retries{0};  ///< times that a task met a writer and was put back
  std::atomic<std::uint64_t> stuck{0};    ///< tasks that were put back RetryWatch::kMany times
  std::atomic<std::uint64_t> conflicts{0};  ///< reads of a tree's node that a writer made void
  std::atomic<std::uint64_t> bound{0};      ///< tasks that ran in their objects' pools
  std::atomic<std::uint64_t> forwarded{0};  ///< bound tasks that had to go to another pool
  std::atomic<std::uint64_t> parks{0};
  std::atomic<std::uint64_t> wakes{0};            ///< wake-ups that this worker sent to others
  std::atomic<std::uint64_t> reclaimed{0};        ///< objects freed after their epoch
  std::atomic<std::uint64_t> reclaims{0};         ///< reclaim tasks that ran
  std::atomic<std::uint64_t> urgent_reclaims{0};  ///< reclaim tasks that had priority, since much was retired
  std::atomic<std::uint64_t> retired_bytes{0};    ///< that wait to be freed now
  std::atomic<std::uint64_t> pools_stolen{0};     ///< leases taken of other workers' pools
  std::atomic<std::uint64_t> tasks_stolen{0};     ///< tasks taken from them
  std::atomic<std::uint64_t> urgent{0};           ///< spawned with high priority, to be run here
  std::atomic<std::uint64_t> low{0};              ///< the same with low priority
  std::atomic<std::uint64_t> placed{0};           ///< sent to the place that they were annotated with
  std::atomic<std::uint64_t> misplaced{0};        ///< tasks annotated with a place where no worker runs
  std::atomic<std::uint64_t> pool_tasks{0};       ///< tasks that it took out of pools, for the rebalancer
  std::atomic<std::uint64_t> pools_moved{0};      ///< pools that it took over from other workers
  std::atomic<std::uint64_t> objects_moved{0};    ///< objects that it put into other pools
  std::atomic<std::uint64_t> turned_hot{0};       ///< objects whose writers go to a pool from then on
  std::atomic<std::uint64_t> turned_cold{0};      ///< objects whose writers latch them where they are again
  /// Immediate and deferred tasks taken, by rule (locality_queues.hpp).
  std::array<std::atomic<std::uint64_t>, 6> refills{};
};

/// Adds to one of them. Its writer only.
inline void count(std::atomic<std::uint64_t>& counter, std::uint64_t n = 1) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

}  // namespace mxkv::runtime

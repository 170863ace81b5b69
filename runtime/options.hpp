// Options of the task runtime, with defaults and units. Filled in by config/ or by a test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/base/ids.hpp"

namespace mxkv::runtime {

/// When the lines of an annotated task are prefetched [Mx 3].
enum class prefetch_mode : std::uint8_t {
  off,       ///< never
  distance,  ///< when the task is `distance` slots from execution in the prefetch buffer
  at_spawn,  ///< when the task enters the prefetch buffer
  tuned,     ///< at spawn, or at a distance that each worker finds by its tasks' cost
};

/// From which workers an idle worker takes tasks.
enum class stealing_scope : std::uint8_t {
  off,      ///< none
  node,     ///< workers on its NUMA node
  machine,  ///< all workers, nearest first
};

/// In which order workers take immediate and deferred tasks.
enum class task_order : std::uint8_t {
  las,  ///< by caches and NUMA nodes, requests kept together [LAS 4.2]
  nls,  ///< one deferred queue for all, immediate tasks of any worker: the baseline of [LAS 6.1]
};

/// The things that the rebalancer moves from loaded workers to others, now and then [MK 3, 5].
enum class rebalance_strategy : std::uint8_t {
  off,      ///< nothing
  pools,    ///< ownership of whole pools
  objects,  ///< pools, and objects: few others stay in the pool of a hot one
};

/// The word for a strategy, as configurations write it. Any thread.
[[nodiscard]] constexpr std::string_view rebalance_strategy_name(rebalance_strategy strategy) noexcept {
  constexpr std::string_view kNames[] = {"off", "pools", "objects"};
  return kNames[static_cast<unsigned>(strategy)];
}

/// Redistribution by measured load; in contrast to stealing it lasts, and it reaches other NUMA nodes.
struct RebalanceOptions {
  rebalance_strategy strategy = rebalance_strategy::off;
  std::uint32_t period_ms = 100;  ///< between two looks at the loads
};

/// Prefetch buffer of a worker.
struct PrefetchOptions {
  prefetch_mode mode = prefetch_mode::at_spawn;
  std::uint32_t distance = 8;  ///< slots ahead, 1-64; used by prefetch_mode::distance
  std::uint32_t window = 64;   ///< most tasks in the prefetch buffer at once, 1-256
};

/// The pages behind the arenas of nodes, items and tasks.
enum class huge_pages_mode : std::uint8_t {
  off,          ///< 4 KiB pages (madvise NOHUGEPAGE)
  transparent,  ///< madvise HUGEPAGE on 2 MiB aligned arenas
};

/// Memory of the whole runtime.
struct MemoryOptions {
  std::size_t limit_bytes = 0;  ///< tree, items, buffers, retired and unread output together; 0: found out
  huge_pages_mode huge_pages = huge_pages_mode::transparent;
  bool numa_placement = true;  ///< bind each worker's arenas to the NUMA node of its PU
  bool in_core = false;        ///< a core dump has the arenas, too: as large as they are, with all data
};

/// How often a worker publishes the epoch that it is in [Mx 4.4, fig. 11].
enum class epoch_mode : std::uint8_t {
  batched,  ///< once for many tasks
  task,     ///< around every task
  off,      ///< once for many tasks, but nothing is ever reclaimed before the end: for measurements
};

/// Epoch based reclamation [Mx 4.4].
struct EpochOptions {
  epoch_mode mode = epoch_mode::batched;
  std::uint32_t interval_ms = 50;         ///< least time between two epoch advances
  std::size_t advance_bytes = 4U << 20U;  ///< retired bytes of one worker that advance the epoch early
};

/// How operations on intervals are kept apart.
enum class interval_order : std::uint8_t {
  toggle,  ///< by buckets [To 3]
  queue,   ///< by one queue under one latch, as interval locks do: the baseline
};

/// How operations on intervals are scheduled [To 3].
struct ToggleOptions {
  interval_order order = interval_order::toggle;
  std::uint32_t buckets = 0;  ///< 0: as many as there are workers, and at least Toggle::kLeastBuckets
  std::uint32_t slots_per_bucket = 8;  ///< inner buckets; at most Toggle::kMostInner
  bool hosts = false;                  ///< only a bucket's host orders its operations; false: any worker
  bool inner = true;                   ///< whether there is an inner mode at all
  bool stealing = true;                ///< whether idle workers take slots of others' buckets
};

/// One worker and the processing unit that it is pinned to.
struct WorkerPlacement {
  PuId pu{};
  NumaNodeId node{};
  bool pinned = true;                            ///< false: the thread is left to the system's scheduler
  std::optional<PrefetchOptions> prefetch = {};  ///< of this worker; none: RuntimeOptions::prefetch
  std::uint32_t pools = 0;                       ///< of this worker; 0: RuntimeOptions::pools_per_worker
};

struct Topology;

/// Everything the runtime needs to start.
struct RuntimeOptions {
  std::vector<WorkerPlacement> workers;  ///< one worker each, at least one
  /// The machine, for which workers are near each other; null: workers of a node are all alike.
  std::shared_ptr<const Topology> topology;
  stealing_scope stealing = stealing_scope::node;  ///< of pools [MK 5]
  task_order order = task_order::las;
  stealing_scope order_reach = stealing_scope::machine;  ///< of immediate and deferred tasks [LAS 4.2]
  /// Immediate tasks of a worker go to workers of other nodes that have nothing to do, while more than so many wait
  /// there; 0: never, as in the paper.
  std::uint32_t spill_above = 1;
  RebalanceOptions rebalance;
  std::vector<std::uint32_t> os_nodes;  ///< the system's number of NumaNodeId i; empty: one node, never bound
  std::vector<std::size_t> node_bytes;  ///< most memory placed on NumaNodeId i; empty: as its workers need
  PrefetchOptions prefetch;
  MemoryOptions memory;
  EpochOptions epoch;
  std::uint32_t spin_rounds = 256;   ///< most empty rounds before an idle worker blocks
  bool fast_path = true;             ///< off: all tasks go through guarded execution, for tests
  std::uint32_t buffered_tasks = 0;  ///< in a prefetch buffer before urgent ones wait; 0: what it can hold
  std::uint32_t batch_tasks = 4096;  ///< most tasks executed between two polls of the sockets
  std::uint32_t pools_per_worker =
      4;  ///< task pools that data objects are spread over, besides the pinned one
};

}  // namespace mxkv::runtime

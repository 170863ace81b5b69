// In which order a worker looks at the others: to steal from them, and to wake one of them [LAS 4.3].
//
// Pure functions of the machine and of where the workers sit, computed once at start. Workers at the
// same distance come in turn from the one after `self`, so that thieves do not all try the same victim.
#pragma once

#include <span>
#include <vector>

#include "runtime/base/ids.hpp"
#include "runtime/options.hpp"
#include "runtime/topology/topology.hpp"

namespace mxkv::runtime {

/// Victims of worker `self`, nearest first: SMT siblings (they share its caches), its core group, its
/// NUMA node, then the other nodes by distance. All workers but `self`, each once. Thread-safety: any thread.
[[nodiscard]] std::vector<WorkerId> steal_order(const Topology& topology,
                                                std::span<const WorkerPlacement> workers, WorkerId self);

/// The workers that `self` wakes when it has more work than it runs: its core group, its NUMA node, then the
/// other nodes by distance. Inside the group the SMT siblings come last: a sibling that wakes takes execution slots
/// from `self`. All workers but `self`, each once. Thread-safety: any thread.
[[nodiscard]] std::vector<WorkerId> wake_order(const Topology& topology,
                                               std::span<const WorkerPlacement> workers, WorkerId self);

/// The workers of `order` that `self` may steal from, or wake to be stolen from. Thread-safety: any thread.
[[nodiscard]] std::vector<WorkerId> within(stealing_scope scope, std::vector<WorkerId> order,
                                           std::span<const WorkerPlacement> workers, WorkerId self);

/// Where worker `self` looks for immediate and deferred tasks of others, and which workers it wakes for its
/// own [LAS 4].
struct LocalityOrder {
  std::size_t group = 0;              ///< the group of its own deferred queue, see worker_groups()
  std::vector<WorkerId> group_mates;  ///< by increasing cache distance [LAS rule 2]
  std::vector<std::size_t>
      far_groups;                    ///< it may take from their deferred queues, nearest first [LAS rule 4]
  std::vector<WorkerId> node_mates;  ///< of other groups on its node, in a fixed order [LAS rule 5]
  std::vector<WorkerId> far_mates;   ///< of other nodes, nearest first
  std::vector<WorkerId> wake_immediate;  ///< nearest first, only on its node (4.3)
  std::vector<WorkerId> wake_deferred;   ///< nearest first
};

/// Which group each worker is in, numbered from 0 by their first workers: core groups; workers on unknown PUs
/// are one group a node. With task_order::nls all workers are one group. Thread-safety: any thread.
[[nodiscard]] std::vector<std::size_t> worker_groups(const Topology& topology,
                                                     std::span<const WorkerPlacement> workers,
                                                     task_order order);

/// By `order`, as far as `scope` allows. Under task_order::nls all others are node_mates. Thread-safety: any
/// thread.
[[nodiscard]] LocalityOrder locality_order(const Topology& topology, std::span<const WorkerPlacement> workers,
                                           WorkerId self, task_order order, stealing_scope scope);

/// A machine of which nothing is known but the nodes of its workers, all equally far. Thread-safety: any
/// thread.
[[nodiscard]] Topology plain_topology(std::span<const WorkerPlacement> workers);

}  // namespace mxkv::runtime

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

/// Whom worker `self` wakes when it has more work than it runs: its core group, its NUMA node, then the
/// other nodes by distance. Inside the group the SMT siblings come last: one that wakes takes execution
/// slots from `self`. All workers but `self`, each once. Thread-safety: any thread.
[[nodiscard]] std::vector<WorkerId> wake_order(const Topology& topology,
                                               std::span<const WorkerPlacement> workers, WorkerId self);

/// Those of `order` whom worker `self` may steal from, or wake to be stolen from. Thread-safety: any thread.
[[nodiscard]] std::vector<WorkerId> within(stealing_scope scope, std::vector<WorkerId> order,
                                           std::span<const WorkerPlacement> workers, WorkerId self);

/// A machine of which nothing is known but the nodes of its workers, all equally far. Thread-safety: any
/// thread.
[[nodiscard]] Topology plain_topology(std::span<const WorkerPlacement> workers);

}  // namespace mxkv::runtime

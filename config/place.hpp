// Places workers on processing units, given the units that they may use.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/options.hpp"
#include "runtime/topology/topology.hpp"

namespace mxkv::config {

using Units = std::vector<const runtime::ProcessingUnit*>;

/// Places `workers` (0: one for each unit) on `units`, of which there is at least one. If there are fewer
/// workers than units, they are spread: each core group gets one before any gets a second, each core before
/// an SMT sibling is used, and nodes take turns. If there are more, units get a second worker and so on, and
/// the workers float unless `units_were_chosen`. The workers of a node get consecutive ids. Thread-safety:
/// any thread.
[[nodiscard]] std::vector<runtime::WorkerPlacement> place(const Units& units, std::size_t workers,
                                                          bool units_were_chosen);

/// The same placements, grouped by node; otherwise the order stays.
[[nodiscard]] std::vector<runtime::WorkerPlacement> by_node(
    const std::vector<runtime::WorkerPlacement>& placements);

}  // namespace mxkv::config

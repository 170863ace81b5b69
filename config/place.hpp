// On which processing units workers go, given the units they may use.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/options.hpp"
#include "runtime/topology/topology.hpp"

namespace mxkv::config {

using Units = std::vector<const runtime::ProcessingUnit*>;

/// `workers` of them (0: one for each) on `units`, of which there is at least one. Fewer workers than units
/// are spread: each core group gets one before one gets a second, each core before an SMT sibling is used,
/// nodes taking turns. More go round again, and float unless `units_were_chosen`. The workers of a node get
/// consecutive ids. Thread-safety: any thread.
[[nodiscard]] std::vector<runtime::WorkerPlacement> place(const Units& units, std::size_t workers,
                                                          bool units_were_chosen);

/// The same placements with those of a node together; the order given stays otherwise.
[[nodiscard]] std::vector<runtime::WorkerPlacement> by_node(
    const std::vector<runtime::WorkerPlacement>& placements);

}  // namespace mxkv::config

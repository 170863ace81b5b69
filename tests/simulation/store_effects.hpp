// What an operation may make of the keys of a history, given what its client was told.
//
// Time and eviction are no operations here. Whoever meets an item may find it expired or not if its time came
// while the operation ran: each operation judges by some moment of its own. Where items are evicted, any of
// them may be found gone, and stays so.
#pragma once

#include <vector>

#include "tests/simulation/store_operation.hpp"

namespace mxkv::simulation {

/// Appends the states that `op` may leave behind to `after`; none: it does not fit `before`.
void collect_effects(const KeyStates& before, const Operation& op, bool evicts,
                     std::vector<KeyStates>& after);

}  // namespace mxkv::simulation

// The possible effects of an operation on the keys of a history, given its client's answer.
//
// Time and eviction are no operations here. An operation may find an item expired or not if its time came
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

// The conditions that must hold of a simulated store once its world has ended.
#pragma once

#include "tests/simulation/complaints.hpp"
#include "tests/simulation/store_history.hpp"
#include "tests/simulation/store_world.hpp"
#include "tests/simulation/store_world_options.hpp"

namespace mxkv::simulation {

/// Checks that nothing is held, and that no task waits. Drops waiting tasks.
void check_locks(server::Store& store, runtime::Runtime& runtime, Complaints& complaints);
/// Checks that the history can be explained, and that sums have not changed; counts the operations.
void check_history(const StoreHistory& history, const StoreWorldOptions& options, StoreReport& report,
                   Complaints& complaints);
/// Checks the tree of a store whose workers are stopped, and that it holds no more than the last page showed.
void check_items(server::Store& store, const StoreHistory& history, const StoreWorldOptions& options,
                 StoreReport& report, Complaints& complaints);
/// Compares the counts of the store and of its quotas with all items. Between two steps of the workers.
void check_counts(server::Store& store, Complaints& complaints);

}  // namespace mxkv::simulation

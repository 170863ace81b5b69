// What must hold of a simulated store once its world has ended.
#pragma once

#include "tests/simulation/complaints.hpp"
#include "tests/simulation/store_history.hpp"
#include "tests/simulation/store_world.hpp"
#include "tests/simulation/store_world_options.hpp"

namespace mxkv::simulation {

/// Nothing is held, and nothing waits. Drops what waits.
void check_locks(server::Store& store, runtime::Runtime& runtime, Complaints& complaints);
/// Whether the history can be explained, and sums are what they were; counts what was done.
void check_history(const StoreHistory& history, const StoreWorldOptions& options, StoreReport& report,
                   Complaints& complaints);
/// The tree of a store whose workers are stopped, and that it holds no more than the last page showed.
void check_items(server::Store& store, const StoreHistory& history, const StoreWorldOptions& options,
                 StoreReport& report, Complaints& complaints);

}  // namespace mxkv::simulation

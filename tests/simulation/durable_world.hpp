// A durable store: one process after the other on one disk. A seed ends each anywhere: by a power cut, a kill
// or in order, amid a recovery, a checkpoint, a rename, with a disk that fails and fills up meanwhile.
//
// After each start the world checks that the found state is the earlier state up to some epoch
// (DurableLedger). It is not before any epoch that a reply had waited for, so that all answered changes are
// there. It has no change of a later epoch, so that nothing is half done, and nothing comes again. Where
// reads wait for the disk, too, the history of all clients with the found state as its last page has to be
// linearizable: so no client was shown data that is gone.
#pragma once

#include <cstdint>

#include "tests/simulation/durable_options.hpp"

namespace mxkv::simulation {

/// Runs the world of that seed to its end.
[[nodiscard]] DurableReport run_durable_world(std::uint64_t seed,
                                              durable_mistake mistake = durable_mistake::none);

}  // namespace mxkv::simulation

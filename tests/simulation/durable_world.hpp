// A store that is to survive: one process after the other on one disk, each of which a seed ends anywhere: by a power
// cut, a kill or in order, amid a recovery, a checkpoint, a rename, with a disk that fails and fills up meanwhile.
//
// After each start the world looks whether what was found is what was there up to some epoch (DurableLedger): not
// before any epoch that a reply had waited for, so that all that was answered is there; and nothing of any epoch
// behind, so that nothing is half done, and nothing comes again. Where reads wait for the disk, too, the history of
// all clients with what the start found as its last page has to be linearizable: so nobody was shown what is gone.
#pragma once

#include <cstdint>

#include "tests/simulation/durable_options.hpp"

namespace mxkv::simulation {

/// Runs the world of that seed to its end.
[[nodiscard]] DurableReport run_durable_world(std::uint64_t seed,
                                              durable_mistake mistake = durable_mistake::none);

}  // namespace mxkv::simulation

// Pins threads to processing units. It does not place memory: that is runtime/memory.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"

namespace mxkv::runtime {

/// Makes the calling thread run on `pu` only, from now on; the value is the PU it runs on.
/// Errors: the machine has no such CPU, or the process may not use it; the affinity is then unchanged.
/// Thread-safety: any thread, for itself.
[[nodiscard]] Result<PuId> pin_current_thread(PuId pu);

}  // namespace mxkv::runtime

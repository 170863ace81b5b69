// Where a test may let another thread go on: lock-free parts take a `Schedule` and call its `point()` between
// two atomic steps. See tests/schedule.
#pragma once

namespace mxkv::runtime {

/// No interference: what the product uses.
struct FreeRunning {
  static void point() noexcept {}
};

}  // namespace mxkv::runtime

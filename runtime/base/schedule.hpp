// Where a test may let another thread go on: lock-free parts take a `Schedule` and call its `point()` between
// two atomic steps. See tests/schedule.
#pragma once

#include <concepts>

namespace mxkv::runtime {

/// Has a static point() that a part calls between two of its atomic steps.
template <class S>
concept StepSchedule = requires {
  { S::point() } -> std::same_as<void>;
};

/// No interference: the product uses this.
struct FreeRunning {
  static void point() noexcept {}
};

}  // namespace mxkv::runtime

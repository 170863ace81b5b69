// Worlds by seed: the seed decides which kind of keys and nodes as well.
#pragma once

#include "tests/simulation/world.hpp"

namespace mxkv::simulation {

inline constexpr std::size_t kKinds = 4;  ///< of trees

/// Runs the world of that seed to its end.
[[nodiscard]] Report run_world(std::uint64_t seed, fault what = fault::none);

}  // namespace mxkv::simulation

// The settings that a seed draws for a world before it begins: the machine, the runtime's switches, the
// tree's primitives, and how rough it gets. A new switch of the runtime is drawn in draw_runtime().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "index/tree.hpp"
#include "runtime/base/random.hpp"
#include "runtime/options.hpp"

namespace mxkv::simulation {

inline constexpr std::size_t kMemoryBytes = std::size_t{64} << 20U;

[[nodiscard]] inline bool one_in(runtime::Random& random, std::uint64_t n) {
  return random.below(n) == 0;
}

struct WorldOptions {
  runtime::RuntimeOptions runtime;
  index::TreeOptions tree;
  std::size_t keys = 0;
  std::size_t operations = 0;  ///< on the tree, of each worker's client
  std::size_t wave = 0;        ///< as index::testing::LoadOptions has it
  std::size_t errands = 0;     ///< of each worker's client
  unsigned interruptions_in_64 = 0;
  bool uneven_speed = false;  ///< some workers step rarely
  bool short_of_memory = false;
  bool ends_early = false;  ///< stopped in the middle of everything
};

[[nodiscard]] WorldOptions draw_world(runtime::Random& random);
/// For a failure's message.
[[nodiscard]] std::string describe(const WorldOptions& world);

}  // namespace mxkv::simulation

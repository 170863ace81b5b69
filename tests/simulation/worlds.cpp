#include "tests/simulation/worlds.hpp"

namespace mxkv::simulation {

namespace {

using index::NodeShape;
using index::testing::ByteEnv;
using index::testing::IntegerEnv;
using index::testing::Interrupted;

// Of four to nine entries, so that few keys make deep trees.
using SmallIntegers = Interrupted<IntegerEnv<NodeShape<2, 2, 2, false>>>;
using Integers = Interrupted<IntegerEnv<NodeShape<3, 2, 3, false>>>;
using SmallBytes = Interrupted<ByteEnv<NodeShape<2, 2, 2, true>>>;
using Bytes = Interrupted<ByteEnv<NodeShape<3, 2, 3, true>>>;

}  // namespace

Report run_world(std::uint64_t seed, fault what) {
  switch (seed % kKinds) {
    case 0:
      return World<SmallIntegers>{seed, what}.run();
    case 1:
      return World<SmallBytes>{seed, what}.run();
    case 2:
      return World<Integers>{seed, what}.run();
    default:
      return World<Bytes>{seed, what}.run();
  }
}

}  // namespace mxkv::simulation

// Many operations in flight at one leaf: a write that lands between two hops of another must not send it back
// again and again.
#include "tests/unit/index/tree_fixture.hpp"

namespace mxkv::index::testing {
namespace {

constexpr std::size_t kInFlight = 64;

/// Tasks that one worker executes for 64 neighbouring keys at once, all operations in flight together.
std::uint64_t tasks_for_a_crowd(TreeUnderTest<ByteEnv<>>& tree, verb how, std::uint64_t operand) {
  runtime::Worker& worker = tree.driver().worker(0);
  const std::uint64_t before = worker.counters().tasks.load();
  std::vector<Operation<ByteEnv<>>> crowd(kInFlight);
  tree.driver().on_worker(0, [&](runtime::Worker& home) {
    for (std::size_t i = 0; i < kInFlight; ++i) {
      crowd[i].key = "neighbours-" + std::to_string(1000 + i);
      crowd[i].how = how;
      crowd[i].operand = operand;
      start_operation(tree.context(), crowd[i], home);
    }
  });
  tree.driver().run_until([&] {
    return std::all_of(crowd.begin(), crowd.end(), [](const auto& operation) { return operation.done; });
  });
  for (const auto& operation : crowd) {
    EXPECT_TRUE(operation.done) << operation.key;
  }
  return worker.counters().tasks.load() - before;
}

TEST(Crowd, WritesAtOneLeafDoNotSendEachOtherBackMoreThanOnce) {
  for (const runtime::primitive leaves : kTreePrimitives) {
    TreeUnderTest<ByteEnv<>> tree{driver_options(1), {leaves, runtime::primitive::optimistic_latch}};
    for (int i = 0; i < (kSlowRuns ? 6'000 : 20'000); ++i) {  // so deep that leaves are reached hop by hop
      tree.apply(std::to_string(i), verb::upsert, 0);
    }
    // A few hops an operation; with a hop a line for all of them it would be more than twice that.
    EXPECT_LT(tasks_for_a_crowd(tree, verb::upsert, 1), 16 * kInFlight) << "inserts";
    EXPECT_LT(tasks_for_a_crowd(tree, verb::upsert, 2), 16 * kInFlight) << "replacements";
    EXPECT_LT(tasks_for_a_crowd(tree, verb::find, 0), 16 * kInFlight) << "look-ups";
  }
}

}  // namespace
}  // namespace mxkv::index::testing

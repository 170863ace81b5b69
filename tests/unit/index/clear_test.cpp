// Clearing the tree: its entries are gone for every later operation, and are freed when no task can be in it.
#include "tests/unit/index/byte_keys.hpp"
#include "tests/unit/index/tree_fixture.hpp"

namespace mxkv::index::testing {
namespace {

using ClearedEnv = ByteEnv<NodeShape<2, 2, 2, true>>;

TEST(Clear, AClearedTreeIsEmptyAndGivesItsMemoryBack) {
  TreeUnderTest<ClearedEnv> tree;
  for (int round = 0; round < 3; ++round) {
    TreeUnderTest<ClearedEnv>::Model model;
    for (const auto& key : make_keys(key_set::families, 200, 3)) {
      tree.apply(key, verb::upsert, 1);
      model.emplace(key, 1);
    }
    tree.expect_holds(model);
    tree.apply({}, verb::clear);
    tree.expect_holds({});
    for (int i = 0; i < 10; ++i) {
      tree.driver().clock().advance_us(100'000);
      tree.driver().settle();
    }
    const LiveBytes left = live_bytes(tree.driver().runtime());
    EXPECT_EQ(left.items, 0U);
    EXPECT_LT(left.nodes, 3 * sizeof(Node<ClearedEnv::Traits::Shape>))
        << "more than the new root and the spare";
  }
}

TEST(Clear, IdleWorkersHelpToTakeALargeTreeApart) {
  runtime::RuntimeOptions options = driver_options(2);
  options.order_reach = runtime::stealing_scope::node;
  options.batch_tasks = 1;
  TreeUnderTest<ClearedEnv> tree{options};
  for (const auto& key : make_keys(key_set::families, 2000, 3)) {
    tree.apply(key, verb::upsert, 1);
  }
  tree.apply({}, verb::clear);
  for (int i = 0; i < 10; ++i) {
    tree.driver().clock().advance_us(100'000);
    tree.driver().settle();
  }
  EXPECT_EQ(live_bytes(tree.driver().runtime()).items, 0U);
  for (std::size_t worker = 0; worker < 2; ++worker) {
    EXPECT_GT(tree.driver().worker(worker).counters().refills[2].load(), 10U) << "worker " << worker;
  }
}

// A writer that started before the clear splits a leaf of the old tree long after. The separator's task holds
// a pointer to the new node, found under the writer's old pin.
TEST(Clear, TheOldTreeStaysWhileASeparatorOfItIsOnItsWay) {
  runtime::RuntimeOptions options = driver_options(2);
  options.batch_tasks = 1;
  options.pools_per_worker = 1;
  TreeUnderTest<ClearedEnv> tree{
      options, {runtime::primitive::optimistic_scheduling, runtime::primitive::optimistic_latch}};
  for (const char* key : {"a", "b", "c", "d"}) {
    tree.apply(key, verb::upsert, 1);
  }
  tree.driver().settle();
  Operation<ClearedEnv> late;
  late.key = "e";
  late.how = verb::upsert;
  Operation<ClearedEnv> clear;
  clear.how = verb::clear;
  runtime::Runtime& runtime = tree.driver().runtime();
  runtime::Worker& owner = tree.driver().worker(0);
  tree.driver().on_worker(1, [&](runtime::Worker& worker) {
    start_operation(tree.context(), clear, worker);
    start_operation(tree.context(), late, worker);  // has the old root in its hands
  });
  runtime::Worker& other = tree.driver().worker(1);
  for (int i = 0; i < 3; ++i) {
    other.step();  // its tasks go to the pools of the nodes that they write to
  }
  while (!clear.done) {
    owner.step();
  }
  ASSERT_FALSE(late.done);
  for (int i = 0; i < 4; ++i) {
    runtime.epochs().leave(other.id());
    EXPECT_TRUE(runtime.epochs().try_advance());
  }
  {
    const auto held = runtime::WriteLatch::acquire(*tree.tree().root().object(), 1);  // stops the separator
    for (int i = 0; i < 200; ++i) {
      tree.driver().clock().advance_us(1'000);
      owner.step();
      other.step();  // the new half is in one of its pools, by load
      runtime.epochs().try_advance();
    }
    ASSERT_TRUE(late.done);
    EXPECT_GE(live_bytes(runtime).nodes, 3 * sizeof(Node<ClearedEnv::Traits::Shape>))
        << "old leaf, its half, root";
  }
  tree.expect_holds({});
}

}  // namespace
}  // namespace mxkv::index::testing

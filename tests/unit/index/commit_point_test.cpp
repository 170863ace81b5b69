// A change passes the commit point before a reader can see it.
#include "index/commit_point.hpp"

#include <functional>
#include <vector>

#include "tests/unit/index/byte_keys.hpp"
#include "tests/unit/index/tree_fixture.hpp"

namespace mxkv::index::testing {
namespace {

using Env = ByteEnv<NodeShape<2, 2, 2, true>>;

/// Keeps the changes that pass, and calls a function of the test for each.
struct Listener final : CommitListener<KeyView> {
  void passed(const Commit<KeyView>& commit, runtime::Worker& /*worker*/) noexcept override {
    changes.push_back(commit.change);
    then(commit);
  }
  std::vector<Change> changes;
  std::function<void(const Commit<KeyView>&)> then = [](const Commit<KeyView>&) {};
};

/// A tree with a listener.
struct Heard {
  Heard() { tree.tree().commits().listen(&listener); }
  Heard(const Heard&) = delete;
  Heard& operator=(const Heard&) = delete;
  ~Heard() { tree.tree().commits().listen(nullptr); }
  Operation<Env> run(const char* key, verb how, const Change& change) {
    Operation<Env> operation;
    operation.key = key;
    operation.how = how;
    operation.operand = 1;
    operation.change = change;
    tree.driver().on_worker(
        0, [&](runtime::Worker& worker) { start_operation(tree.context(), operation, worker); });
    tree.driver().run_until([&] { return operation.done; });
    EXPECT_TRUE(operation.done);
    return operation;
  }

  TreeUnderTest<Env> tree;
  Listener listener;
};

TEST(CommitPoint, ARecordChangesInPlaceAfterItPassedAndItsLeafsFloorWasRaised) {
  Heard heard;
  heard.run("k", verb::upsert, Change::put(5));
  TestItem* item = nullptr;
  heard.listener.then = [&](const Commit<KeyView>& commit) {
    item = &TestItem::of(commit.old);
    EXPECT_EQ(item->touches.load(), 0U) << "it changed before it passed";
  };
  const Operation<Env> touch = heard.run("k", verb::touch, Change::touched(77, 8, 1));
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(item->touches.load(), 1U);
  EXPECT_EQ(touch.floor_then, 77U);
  ASSERT_EQ(heard.listener.changes.size(), 2U);
  EXPECT_EQ(heard.listener.changes.back().what, change::touched);
  EXPECT_EQ(heard.listener.changes.back().expiry, 8U);
  EXPECT_EQ(heard.listener.changes.back().marks, 1U);
}

TEST(CommitPoint, AClearPassesBehindItsLatchAndRaisesTheFloorOfWhatItLeaves) {
  Heard heard;
  heard.run("k", verb::upsert, Change::put(5));
  heard.run("", verb::clear, Change::put(99));
  ASSERT_EQ(heard.listener.changes.size(), 2U);
  EXPECT_EQ(heard.listener.changes.back().what, change::flushed);
  EXPECT_EQ(heard.listener.changes.back().order, 99U);
  const auto& root = *static_cast<const Node<Env::Traits::Shape>*>(heard.tree.tree().root().object());
  EXPECT_EQ(root.order_floor(), 99U);
  EXPECT_FALSE(runtime::OptimisticRead{root}.locked());
}

TEST(CommitPoint, NoTwoOperationsClaimOneOrder) {
  CommitPoint<KeyView> point;
  EXPECT_EQ(point.claim(10), 10U);
  EXPECT_EQ(point.claim(10), 11U);
  EXPECT_EQ(point.claim(3), 12U);
  point.raise_floor(20);
  EXPECT_EQ(point.claim(15), 21U);
  EXPECT_EQ(point.floor(), 21U);
}

}  // namespace
}  // namespace mxkv::index::testing

// Runs of neighbouring leaves that become empty at once: they go one after the other, whatever other work
// there is.
#include <algorithm>
#include <deque>

#include "tests/unit/index/byte_keys.hpp"
#include "tests/unit/index/spaced_keys.hpp"
#include "tests/unit/index/tree_fixture.hpp"

namespace mxkv::index::testing {
namespace {

/// An update that waits for its turn at the leaf, as a connection's write waits for the requests sent before
/// it.
template <class Env>
class InTurnTask final : public UpdateTask<InTurnTask<Env>, typename Env::Traits> {
  using Base = UpdateTask<InTurnTask<Env>, typename Env::Traits>;

 public:
  struct Turn {
    typename Env::OwnedKey key{};
    bool come = false;
    runtime::MxTask* parked = nullptr;
    bool done = false;
    bool found = false;
  };

  InTurnTask(const runtime::TaskClass* task_class, TreeContext<Env>& context, Turn& turn) noexcept
      : Base(task_class, context.tree), context_(&context), turn_(&turn) {}
  [[nodiscard]] typename Env::Traits::Key key() const noexcept { return Env::view(turn_->key); }
  Decision decide(bool found, std::uint64_t /*old*/, runtime::Worker& /*worker*/) {
    if (!turn_->come) {
      turn_->parked = this;
      return {Decision::what::wait, 0};
    }
    return found ? Decision{Decision::what::remove, 0} : Decision{};
  }
  Change commit(typename Base::NodeT& /*leaf*/, bool /*found*/, std::uint64_t /*old*/,
                std::uint64_t /*value*/, runtime::Worker& /*worker*/) noexcept {
    return {};
  }
  runtime::step committed(bool /*found*/, std::uint64_t old, runtime::Worker& worker) {
    context_->env.retire(worker, old);
    return end(true);
  }
  runtime::step left(bool found, std::uint64_t /*old*/, runtime::Worker& /*worker*/) { return end(found); }
  runtime::step out_of_memory(runtime::Worker& /*worker*/) { return end(false); }

 private:
  runtime::step end(bool found) {
    turn_->found = found;
    turn_->done = true;
    return runtime::step::done;
  }

  TreeContext<Env>* context_;
  Turn* turn_;
};

template <class Env>
class UnlinkRuns : public ::testing::Test {
 protected:
  using OwnedKey = typename Env::OwnedKey;
  using Under = TreeUnderTest<Env>;
  static OwnedKey key(std::uint64_t n) { return spaced_key(OwnedKey{}, n); }

  static void fill(Under& tree, std::uint64_t keys) {
    for (std::uint64_t n = 0; n < keys; ++n) {
      tree.apply(key(n), verb::upsert, n);
    }
    tree.driver().settle();
  }
  /// Removes keys in this order, all of them under way at once.
  static void remove_at_once(Under& tree, const std::vector<std::uint64_t>& order) {
    std::deque<Operation<Env>> removals;
    for (std::size_t i = 0; i < order.size(); ++i) {
      Operation<Env>& removal = removals.emplace_back();
      removal.key = key(order[i]);
      removal.how = verb::remove;
      const std::size_t worker = i * tree.driver().runtime().worker_count() / order.size();
      tree.driver().on_worker(worker,
                              [&](runtime::Worker& on) { start_operation(tree.context(), removal, on); });
    }
    tree.driver().settle();
    EXPECT_TRUE(std::all_of(removals.begin(), removals.end(), [](const auto& op) { return op.found; }));
  }
};

using RunsEnvs = ::testing::Types<IntegerEnv<NodeShape<2, 2, 2, false>>, IntegerEnv<>,
                                  ByteEnv<NodeShape<2, 2, 2, true>>, ByteEnv<>>;
TYPED_TEST_SUITE(UnlinkRuns, RunsEnvs);

TYPED_TEST(UnlinkRuns, LeavesThatEmptyAtOnceGoWhateverTheOrder) {
  const std::uint64_t keys = kSlowRuns ? 400 : 1200;
  for (const std::size_t workers : {1U, 2U, 4U}) {
    for (int how = 0; how < 3; ++how) {
      for (const runtime::primitive by : kTreePrimitives) {
        SCOPED_TRACE(::testing::Message()
                     << workers << " workers, order " << how << ", " << runtime::primitive_name(by));
        typename TestFixture::Under tree{driver_options(workers), {by, by}};
        this->fill(tree, keys);
        std::vector<std::uint64_t> order(keys);
        std::generate(order.begin(), order.end(), [n = std::uint64_t{0}]() mutable { return n++; });
        if (how == 1) {
          std::reverse(order.begin(), order.end());
        } else if (how == 2) {
          std::shuffle(order.begin(), order.end(), tree.driver().random());
        }
        const CheckReport full = Checker<typename TypeParam::Traits>::check(tree.tree());
        this->remove_at_once(tree, order);
        tree.expect_holds({});
        const UnlinkCounters& unlinks = tree.tree().unlinks();
        EXPECT_EQ(unlinks.leaves.load() + unlinks.branches.load(), full.nodes - full.levels);
        if (how == 0 && workers == 1) {  // others go on only when it is their turn to be stepped
          EXPECT_GT(unlinks.handed_on.load(), 0U) << "neighbours met";
          // Each task waits for its left neighbour without polling.
          EXPECT_LT(unlinks.waits.load(), 4 * full.nodes);
        }
      }
    }
  }
}

// The key belongs to a leaf that is unlinked while the update waits there; then the key comes back in another
// leaf.
TYPED_TEST(UnlinkRuns, AnUpdateThatWaitedDecidesAtTheNodeThatHasTheKeyNow) {
  constexpr std::uint64_t kKeys = 200;
  using Task = InTurnTask<TypeParam>;
  for (std::uint64_t at = 40; at < 160; at += 7) {
    SCOPED_TRACE(at);
    typename TestFixture::Under tree;
    this->fill(tree, kKeys);
    tree.apply(this->key(at), verb::remove);
    typename Task::Turn turn;
    turn.key = this->key(at);
    tree.driver().on_worker(
        0, [&](runtime::Worker& worker) { worker.create<Task>(tree.context(), turn)->start(worker); });
    tree.driver().run_until([&turn] { return turn.parked != nullptr; });
    for (std::uint64_t n = 20; n < 180; ++n) {
      if (n != at) {
        ASSERT_TRUE(tree.apply(this->key(n), verb::remove).found);
      }
    }
    tree.driver().settle();
    ASSERT_GT(tree.tree().unlinks().leaves.load(), 0U);
    tree.apply(this->key(at), verb::upsert, 4711);
    turn.come = true;
    tree.driver().on_worker(0, [&turn](runtime::Worker& worker) { worker.spawn(turn.parked); });
    tree.driver().run_until([&turn] { return turn.done; });
    EXPECT_TRUE(turn.found) << "it was there when the update's turn came";
    EXPECT_FALSE(tree.find(this->key(at)).found);
  }
}

// The tree is cleared while the update waits, and the key comes back in the new one.
TYPED_TEST(UnlinkRuns, AnUpdateThatWaitedDecidesInTheTreeThatThereIsNow) {
  using Task = InTurnTask<TypeParam>;
  for (const bool comes_back : {false, true}) {
    for (std::uint64_t at = 1; at < 200; at += 20) {
      SCOPED_TRACE(::testing::Message() << at << (comes_back ? " comes back" : ""));
      typename TestFixture::Under tree;
      this->fill(tree, 200);
      typename Task::Turn turn;
      turn.key = this->key(at);
      tree.driver().on_worker(
          0, [&](runtime::Worker& worker) { worker.create<Task>(tree.context(), turn)->start(worker); });
      tree.driver().run_until([&turn] { return turn.parked != nullptr; });
      tree.apply({}, verb::clear);
      if (comes_back) {
        tree.apply(this->key(at), verb::upsert, 4711);
      }
      turn.come = true;
      tree.driver().on_worker(0, [&turn](runtime::Worker& worker) { worker.spawn(turn.parked); });
      tree.driver().run_until([&turn] { return turn.done; });
      EXPECT_EQ(turn.found, comes_back) << "what was cleared before its turn came is not there";
      EXPECT_FALSE(tree.find(this->key(at)).found);
    }
  }
}

}  // namespace
}  // namespace mxkv::index::testing

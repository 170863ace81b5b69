// Figure 2 of the MxTasking paper, as printed, compiles and does what it says.
#include <gtest/gtest.h>

#include <array>

#include "runtime/scheduler/tasking.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace figure_two {

namespace tasking = mxkv::tasking;
using namespace mxkv::tasking;  // NOLINT(google-build-using-namespace): the paper's names are unqualified

using Key = std::uint64_t;

struct TreeNode : mxkv::runtime::testing::Words<6> {
  using Words::Words;
};

struct Tree {
  tasking::ResourcePointer<TreeNode> root;
  [[nodiscard]] static std::size_t node_size() { return sizeof(TreeNode); }
};

/// The look-up's result, for the test.
struct Found {
  std::uint64_t value = 0;
  int times = 0;
};

/// Reads the word at its key: `inspect` may be repeated, `resume` happens once.
class LookupTask final : public MxTask {
 public:
  struct Scratch {
    std::uint64_t value = 0;
  };
  LookupTask(const mxkv::runtime::TaskClass* task_class, tasking::ResourcePointer<TreeNode> node, Key key)
      : MxTask(task_class), node_(node.get()), key_(key) {}

  [[nodiscard]] bool staged() const { return false; }
  void inspect(const mxkv::runtime::OptimisticRead& /*read*/, Scratch& scratch) const {
    scratch.value = node_->words[key_].load();
  }
  step resume(Scratch& scratch, Worker& worker) {
    auto& found = worker.local<Found>();
    found.value = scratch.value;
    ++found.times;
    return step::done;
  }
  step conflict(Worker& /*worker*/) { return step::again; }

 private:
  TreeNode* node_;
  Key key_;
};

// clang-format off
void figure_two(Tree* tree, Key key) {
  LookupTask* lookup = nullptr;

  /* create an annotated resource, that is read by tasks in parallel,
     read heavy, and accessed with high frequency */
  tree->root =
    tasking::create_resource<TreeNode>(isolation::shared,
      rw_ratio::read_heavy, access_frequency::high);
  tree->root->words[key].store(4711);

  /* spawn a lookup task that starts traversal at the root node */
  lookup = tasking::create_task<LookupTask>(tree->root, key);
  lookup->annotate(priority::high); // priority
  lookup->annotate(access::readonly); // access mode
  lookup->annotate(tree->root, tree->node_size()); // accessed data object and size
  tasking::spawn(lookup);
}
// clang-format on

TEST(FigureTwo, CreatesAnAnnotatedResourceAndLooksItUp) {
  mxkv::runtime::testing::Machine machine{1};
  Found found;
  Tree tree;
  machine[0].set_local(&found);
  machine[0].spawn(mxkv::runtime::testing::lambda_task(machine[0], [&](MxTask&, Worker&) {
    figure_two(&tree, 3);
    return step::done;
  }));
  machine.run_until_idle();
  EXPECT_EQ(found.value, 4711U);
  EXPECT_EQ(found.times, 1);
  EXPECT_EQ(tree.root.synchronization(), primitive::optimistic_scheduling) << "shared and read-heavy";
  EXPECT_EQ(machine.runtime.pool(tree.root.pool_hint()).owner(), machine[0].id());
}

/// One line and a bit: the value heap alone would align it to eight bytes.
struct AwkwardNode : mxkv::runtime::DataObject {
  using DataObject::DataObject;
  std::uint64_t more[8]{};
};

TEST(Tasking, EveryResourceIsLineAlignedWhateverItsSize) {
  static_assert(sizeof(AwkwardNode) % mxkv::runtime::kCacheLineBytes != 0);
  mxkv::runtime::testing::Machine machine{1};
  int misaligned = 0;
  machine[0].spawn(mxkv::runtime::testing::lambda_task(machine[0], [&](MxTask&, Worker&) {
    std::array<tasking::ResourcePointer<AwkwardNode>, 8> nodes;
    for (auto& node : nodes) {
      node = tasking::create_resource<AwkwardNode>(isolation::exclusive, rw_ratio::balanced,
                                                   access_frequency::low);
      misaligned +=
          reinterpret_cast<std::uintptr_t>(node.get()) % mxkv::runtime::kCacheLineBytes != 0 ? 1 : 0;
    }
    for (const auto& node : nodes) {
      tasking::destroy_resource(node);
    }
    return step::done;
  }));
  machine.run_until_idle();
  EXPECT_EQ(misaligned, 0);
  EXPECT_EQ(machine[0].nodes().stats().live_bytes, 0U);
}

TEST(Tasking, AResourceBeyondTheLimitIsEmpty) {
  auto options = mxkv::runtime::testing::unpinned(1);
  options.memory.limit_bytes = 1;
  mxkv::runtime::testing::Machine machine{options};
  bool empty = false;
  machine[0].spawn(mxkv::runtime::testing::lambda_task(machine[0], [&](MxTask&, Worker&) {
    empty = !tasking::create_resource<TreeNode>(isolation::none, rw_ratio::balanced, access_frequency::low);
    return step::done;
  }));
  machine.run_until_idle();
  EXPECT_TRUE(empty);
}

TEST(TaskingDeathTest, NamesTheMistakeOfSpawningOutsideOfATask) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(static_cast<void>(tasking::this_worker()), "other threads use Runtime::submit");
}

}  // namespace figure_two

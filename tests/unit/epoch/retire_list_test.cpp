// Retire lists: which objects are freed, when and by which worker, and that blocks are neither lost nor taken
// from the system.
#include "runtime/epoch/retire_list.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

constexpr ReclaimKind kNumbers{0};
constexpr ReclaimKind kMarked{1};
constexpr ReclaimKind kSubtrees{2};
constexpr std::size_t kAll = ~std::size_t{0};

class CountingBlocks final : public RetireBlockSource {
 public:
  void* allocate_retire_block() override {
    ++out;
    return ::operator new(RetireList::kBlockBytes);
  }
  void release_retire_block(void* block) noexcept override {
    --out;
    ::operator delete(block);
  }
  int out = 0;
};

struct RetiredObject {
  int freed = 0;
  int freed_as = -1;
};

// Reclaim functions get no context, as in the product: their data hangs on the worker.
struct Fixture : ::testing::Test {
  Fixture() { worker.set_local(this); }

  static void free_as(void* object, int kind) {
    auto& retired = *static_cast<RetiredObject*>(object);
    ++retired.freed;
    retired.freed_as = kind;
  }
  std::size_t reclaim(std::uint64_t horizon, std::size_t most = kAll, std::size_t most_bytes = kAll) {
    static constexpr ReclaimFunction kFunctions[] = {
        [](Worker&, void* object) { free_as(object, 0); },
        [](Worker&, void* object) { free_as(object, 1); },
        [](Worker& on, void* object) {
          auto& fixture = on.local<Fixture>();
          free_as(object, 2);
          fixture.list.add(&fixture.child, kNumbers, fixture.child_stamp, 1);
        },
    };
    return list.reclaim(horizon, {most, most_bytes}, kFunctions, worker);
  }

  testing::Machine machine{1};
  Worker& worker = machine[0];
  CountingBlocks blocks;
  RetireList list{blocks};
  RetiredObject child;
  std::uint64_t child_stamp = 0;
};

using RetireListTest = Fixture;

TEST_F(RetireListTest, FreesOnlyWhatIsStampedBelowTheHorizon) {
  RetiredObject old_one;
  RetiredObject young_one;
  list.add(&old_one, kNumbers, 4, 10);
  list.add(&young_one, kNumbers, 5, 10);
  EXPECT_EQ(reclaim(4), 0U);
  EXPECT_EQ(reclaim(5), 1U);
  EXPECT_EQ(old_one.freed, 1);
  EXPECT_EQ(young_one.freed, 0);
  EXPECT_EQ(list.entries(), 1U);
  EXPECT_EQ(reclaim(6), 1U);
  EXPECT_EQ(young_one.freed, 1);
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(blocks.out, 0);
}

TEST_F(RetireListTest, FreesEachObjectOnceByTheFunctionOfItsKind) {
  std::vector<RetiredObject> objects(500);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    list.add(&objects[i], i % 2 == 0 ? kNumbers : kMarked, 2 + i / 100, 1);
  }
  EXPECT_EQ(list.entries(), objects.size());
  EXPECT_EQ(reclaim(100), objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    EXPECT_EQ(objects[i].freed, 1);
    EXPECT_EQ(objects[i].freed_as, static_cast<int>(i % 2));
  }
  EXPECT_EQ(blocks.out, 0);
}

TEST_F(RetireListTest, StopsSoonAfterTheNumberItWasGivenAndGoesOnLater) {
  std::vector<RetiredObject> objects(300);
  for (RetiredObject& object : objects) {
    list.add(&object, kNumbers, 2, 1);
  }
  const std::size_t first = reclaim(3, 10);
  EXPECT_GE(first, 10U);
  EXPECT_LT(first, 100U) << "whole blocks, of less than 50 objects";
  EXPECT_EQ(list.entries(), objects.size() - first);
  EXPECT_EQ(reclaim(3), objects.size() - first);
}

TEST_F(RetireListTest, StopsSoonAfterTheBytesItWasGiven) {
  std::vector<RetiredObject> objects(300);
  for (RetiredObject& object : objects) {
    list.add(&object, kNumbers, 2, 1000);
  }
  const std::size_t first = reclaim(3, kAll, 60'000);
  EXPECT_GE(first, 60U);
  EXPECT_LT(first, 110U) << "whole blocks, of less than 50 objects";
  EXPECT_TRUE(list.any_below(3));
  EXPECT_EQ(reclaim(3), objects.size() - first);
  EXPECT_FALSE(list.any_below(3));
}

TEST_F(RetireListTest, AReclaimFunctionMayRetireFurtherObjects) {
  RetiredObject parent;
  child_stamp = 9;
  list.add(&parent, kSubtrees, 2, 1);
  EXPECT_EQ(reclaim(3), 1U);
  EXPECT_EQ(child.freed, 0);
  EXPECT_EQ(list.entries(), 1U);
  EXPECT_EQ(reclaim(10), 1U);
  EXPECT_EQ(child.freed, 1);
}

TEST_F(RetireListTest, FollowsUpAtOnceWhatAReclaimFunctionRetiredBelowTheHorizon) {
  RetiredObject parent;
  child_stamp = 2;
  list.add(&parent, kSubtrees, 2, 1);
  EXPECT_EQ(reclaim(3), 2U);
  EXPECT_EQ(child.freed, 1);
  EXPECT_TRUE(list.empty());
}

TEST_F(RetireListTest, CountsBytesUntilTheyAreReset) {
  RetiredObject object;
  list.add(&object, kNumbers, 2, 100);
  list.add(&object, kNumbers, 2, 28);
  EXPECT_EQ(list.bytes_since_advance(), 128U);
  list.reset_bytes();
  EXPECT_EQ(list.bytes_since_advance(), 0U);
  EXPECT_EQ(reclaim(3), 2U);
}

TEST_F(RetireListTest, CountsBytesUntilTheyAreFreed) {
  std::vector<RetiredObject> objects(100);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    list.add(&objects[i], kNumbers, i < 50 ? 2 : 5, std::size_t{1} << 32U);
  }
  list.reset_bytes();
  EXPECT_EQ(list.bytes(), std::size_t{100} << 32U);
  EXPECT_EQ(reclaim(3), 50U);
  EXPECT_EQ(list.bytes(), std::size_t{50} << 32U);
  child_stamp = 9;
  RetiredObject parent;
  list.add(&parent, kSubtrees, 6, 10);
  EXPECT_EQ(reclaim(8), 51U);
  EXPECT_EQ(list.bytes(), 1U) << "what a reclaim function retired";
  EXPECT_EQ(reclaim(10), 1U);
  EXPECT_EQ(list.bytes(), 0U);
  EXPECT_EQ(list.bytes_since_advance(), 11U);
}

TEST_F(RetireListTest, KeepsTheOrderOfStampsAcrossItsBlocks) {
  std::vector<RetiredObject> objects(200);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    list.add(&objects[i], kNumbers, 10 + i, 1);  // a block each
  }
  for (std::size_t i = 0; i < objects.size(); ++i) {
    EXPECT_EQ(reclaim(10 + i), i == 0 ? 0U : 1U);
    EXPECT_EQ(objects[i].freed, 0);
  }
  EXPECT_EQ(reclaim(kAll), 1U);
}

}  // namespace
}  // namespace mxkv::runtime

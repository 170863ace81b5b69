// Blocks that are released on another worker than the one whose span they are in, step by step on one thread.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "runtime/memory/value_heap.hpp"
#include "tests/unit/memory/memory_fixture.hpp"

namespace mxkv::runtime {
namespace {

using testing::Heaps;

std::vector<void*> allocate(ValueHeap& heap, std::size_t count, std::size_t bytes = 200) {
  std::vector<void*> blocks;
  blocks.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    blocks.push_back(heap.allocate(bytes));
  }
  return blocks;
}

void release_all(ValueHeap& heap, const std::vector<void*>& blocks) {
  for (void* block : blocks) {
    heap.release(block);
  }
}

TEST(ValueHeapSharing, AForeignBlockGoesHomeInBatchesAndIsUsedByItsOwnerAgain) {
  Heaps heaps(2);
  const std::vector<void*> blocks = allocate(heaps[0], 20);
  release_all(heaps[1], blocks);
  EXPECT_EQ(heaps[0].bin_bytes(), 16U * 200U) << "one batch of 16 went, four blocks wait";
  heaps[1].flush_foreign();
  EXPECT_EQ(heaps[0].bin_bytes(), 20U * 200U);
  EXPECT_EQ(heaps[0].stats().live_bytes, 20U * 200U) << "live until collected";
  EXPECT_EQ(heaps[0].collect(), 20U);
  EXPECT_EQ(heaps[0].bin_bytes(), 0U);
  EXPECT_EQ(heaps[0].stats().live_bytes, 0U);
  EXPECT_EQ(heaps[0].stats().collected, 20U);
  EXPECT_EQ(heaps[1].stats().foreign_frees, 20U);
  const std::set<void*> old(blocks.begin(), blocks.end());
  EXPECT_EQ(old.count(heaps[0].allocate(200)), 1U);
}

TEST(ValueHeapSharing, TheOwnerCollectsBeforeItTakesANewSpan) {
  Heaps heaps(2);
  const std::size_t per_span = kSpanBytes / 200;
  const std::vector<void*> blocks = allocate(heaps[0], per_span);
  release_all(heaps[1], blocks);
  allocate(heaps[0], 16 * (per_span / 16));
  EXPECT_EQ(heaps.space.span_bytes(), kSpanBytes);
}

TEST(ValueHeapSharing, ACollectedSpanServesAnotherWorkerAndClass) {
  Heaps heaps(2, kSpanBytes);
  const std::vector<void*> blocks = allocate(heaps[0], 100);
  EXPECT_EQ(heaps[1].allocate(3000), nullptr) << "the only span belongs to worker 0";
  release_all(heaps[1], blocks);
  heaps.settle();
  EXPECT_NE(heaps[1].allocate(3000), nullptr);
}

TEST(ValueHeapSharing, LargeBlocksAreReleasedByAnyWorkerAtOnce) {
  Heaps heaps(2);
  void* large = heaps[0].allocate(5 * kSpanBytes);
  ASSERT_NE(large, nullptr);
  heaps[1].release(large);
  EXPECT_EQ(heaps.space.span_bytes(), 0U);
  EXPECT_EQ(heaps.budget.category_bytes(memory_category::items), 0U);
}

TEST(ValueHeapSharing, ABinPastItsSizeWakesItsOwnerOnce) {
  ValueSpaceOptions options = testing::space_options(3);
  options.bin_wake_bytes = std::size_t{40} * 200;
  Heaps heaps(64 * testing::kMiB, options);
  struct Woken final : BinOwners {
    void wake(WorkerId owner) noexcept override { owners.push_back(owner); }
    std::vector<WorkerId> owners;
  } woken;
  heaps.space.set_bin_owners(woken);
  release_all(heaps[0], allocate(heaps[1], 32));
  EXPECT_TRUE(woken.owners.empty());
  release_all(heaps[2], allocate(heaps[1], 32));
  EXPECT_EQ(woken.owners, std::vector<WorkerId>{WorkerId(1)});
  release_all(heaps[2], allocate(heaps[1], 32));
  EXPECT_EQ(woken.owners.size(), 1U) << "not again before it collected";
  heaps[1].collect();
  release_all(heaps[2], allocate(heaps[1], 48));
  EXPECT_EQ(woken.owners.size(), 2U);
}

TEST(ValueHeapSharing, BlocksOfSeveralOwnersReachTheirOwn) {
  Heaps heaps(3);
  std::vector<void*> a = allocate(heaps[0], 10);
  std::vector<void*> b = allocate(heaps[1], 10);
  for (std::size_t i = 0; i < 10; ++i) {
    heaps[2].release(a[i]);
    heaps[2].release(b[i]);
  }
  heaps[2].flush_foreign();
  EXPECT_EQ(heaps[0].collect(), 10U);
  EXPECT_EQ(heaps[1].collect(), 10U);
  EXPECT_EQ(heaps[0].stats().live_bytes, 0U);
  EXPECT_EQ(heaps[1].stats().live_bytes, 0U);
}

TEST(ValueHeapSharing, BlocksOfAllSizesGoHomeTogether) {
  for (const std::vector<std::size_t>& sizes :
       {std::vector<std::size_t>{16}, {24}, {64, 16, 200}, {16, 1024, 32, 16, 4096}, {128}, {48, 120, 8}}) {
    for (std::size_t count = 1; count < 70; ++count) {
      Heaps heaps(2);
      std::vector<void*> blocks;
      for (std::size_t i = 0; i < count; ++i) {
        blocks.push_back(heaps[0].allocate(sizes[i % sizes.size()]));
      }
      release_all(heaps[1], blocks);
      heaps[1].flush_foreign();
      ASSERT_EQ(heaps[0].collect(), count) << "blocks of " << sizes[0];
      ASSERT_EQ(heaps[0].stats().live_bytes, 0U);
    }
  }
}

TEST(ValueHeapSharing, SpansGoBackToThePoolOfTheirOwnNode) {
  ValueSpaceOptions options = testing::space_options(2);
  options.pages.os_nodes = {0, 0};
  MemoryBudget budget(64 * testing::kMiB, 2);
  ValueSpace space(budget, options);
  ValueHeap near(space, budget.account(WorkerId(0)), WorkerId(0), NumaNodeId(0));
  ValueHeap far(space, budget.account(WorkerId(1)), WorkerId(1), NumaNodeId(1));
  void* large = far.allocate(3 * kSpanBytes);
  near.release(large);
  EXPECT_NE(near.allocate(3 * kSpanBytes), large) << "the other node's memory is not taken";
  EXPECT_EQ(far.allocate(3 * kSpanBytes), large);
}

}  // namespace
}  // namespace mxkv::runtime

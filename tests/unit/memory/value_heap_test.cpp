// The value allocator as one worker sees it.
#include "runtime/memory/value_heap.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "runtime/base/random.hpp"
#include "tests/unit/memory/memory_fixture.hpp"

namespace mxkv::runtime {
namespace {

using testing::Heaps;
using testing::kMiB;
using testing::PatternBlock;

std::vector<void*> fill_span(ValueHeap& heap, std::size_t bytes, std::size_t count) {
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < count; ++i) {
    blocks.push_back(heap.allocate(bytes));
    EXPECT_NE(blocks.back(), nullptr);
  }
  return blocks;
}

TEST(ValueHeap, EveryClassIsAlignedAndUsableInFull) {
  Heaps heaps(1);
  for (std::size_t size_class = 0; size_class < kSizeClasses; ++size_class) {
    const std::size_t bytes = class_bytes(size_class);
    for (int i = 0; i < 3; ++i) {
      void* block = heaps[0].allocate(bytes);
      ASSERT_NE(block, nullptr);
      const auto address = reinterpret_cast<std::uintptr_t>(block);
      EXPECT_EQ(address % 8, 0U);
      EXPECT_TRUE((bytes % 64 != 0 && bytes <= 512) || address % 64 == 0) << bytes;
      EXPECT_EQ(heaps[0].usable_size(block), bytes);
      std::memset(block, 0x5A, bytes);
    }
  }
}

TEST(ValueHeap, SizesBetweenClassesAreRoundedUpAndZeroIsASize) {
  Heaps heaps(1);
  for (const std::size_t bytes : {0U, 1U, 15U, 17U, 140U, 257U, 1025U, 5000U, 40'000U, 65'536U}) {
    void* block = heaps[0].allocate(bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_GE(heaps[0].usable_size(block), bytes);
    heaps[0].release(block);
  }
}

TEST(ValueHeap, LargeBlocksAreWholeSpansUpToASuperblock) {
  Heaps heaps(1);
  void* large = heaps[0].allocate(kSpanBytes + 1);
  ASSERT_NE(large, nullptr);
  EXPECT_EQ(heaps[0].usable_size(large), 2 * kSpanBytes);
  void* largest = heaps[0].allocate(kLargestValueBytes);
  ASSERT_NE(largest, nullptr);
  std::memset(largest, 1, kLargestValueBytes);
  EXPECT_EQ(heaps[0].allocate(kLargestValueBytes + 1), nullptr);
  EXPECT_EQ(heaps[0].allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(heaps[0].stats().failed, 2U);
  heaps[0].release(large);
  heaps[0].release(largest);
  EXPECT_EQ(heaps.space.span_bytes(), 0U);
}

TEST(ValueHeap, RandomBlocksNeverOverlapAndAllMemoryComesBack) {
  Heaps heaps(1);
  Random random(3);
  std::vector<PatternBlock> held;
  for (int i = 0; i < 60'000; ++i) {
    if (held.size() < 100 || (held.size() < 3000 && random.below(2) == 0)) {
      const std::size_t bytes = random.below(50) == 0 ? random.below(150'000) : random.below(1200);
      PatternBlock block{static_cast<unsigned char*>(heaps[0].allocate(bytes)), bytes,
                         static_cast<std::uint8_t>(random())};
      ASSERT_NE(block.data, nullptr);
      block.fill();
      held.push_back(block);
    } else {
      PatternBlock& victim = held[random.below(held.size())];
      ASSERT_TRUE(victim.intact());
      heaps[0].release(victim.data);
      victim = held.back();
      held.pop_back();
    }
  }
  for (const PatternBlock& block : held) {
    ASSERT_TRUE(block.intact());
    heaps[0].release(block.data);
  }
  heaps.settle();
  EXPECT_EQ(heaps[0].stats().live_bytes, 0U);
  EXPECT_EQ(heaps.space.span_bytes(), 0U);
  EXPECT_EQ(heaps.budget.used_bytes(), 0U);
}

TEST(ValueHeap, PrefetchNextNamesTheBlockThatComesNext) {
  Heaps heaps(1);
  Random random(5);
  std::vector<void*> held;
  int promises = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::size_t bytes = 128 + random.below(32);
    if (random.below(3) != 0 || held.empty()) {
      const void* const promised = heaps[0].next_block(bytes);
      void* const block = heaps[0].allocate(bytes);
      ASSERT_TRUE(promised == nullptr || promised == block);
      promises += promised != nullptr ? 1 : 0;
      held.push_back(block);
    } else {
      void*& victim = held[random.below(held.size())];
      heaps[0].release(victim);
      victim = held.back();
      held.pop_back();
    }
  }
  EXPECT_GT(promises, 3000) << "only a new span is no promise";
  EXPECT_EQ(heaps[0].next_block(kSpanBytes + 1), nullptr);
}

TEST(ValueHeap, BlocksOf896BytesLieDenselyInTheirSpan) {
  Heaps heaps(1);
  std::set<std::uintptr_t> addresses;
  for (void* block : fill_span(heaps[0], 896, 73)) {
    addresses.insert(reinterpret_cast<std::uintptr_t>(block));
  }
  EXPECT_EQ(*addresses.rbegin() - *addresses.begin(), 72U * 896U);
  EXPECT_EQ(heaps.space.span_bytes(), kSpanBytes);
}

TEST(ValueHeap, TheFullestSpanServesFirst) {
  Heaps heaps(1);
  constexpr std::size_t kPerSpan = kSpanBytes / 4096;
  const std::vector<void*> blocks = fill_span(heaps[0], 4096, 4 * kPerSpan);
  // Span 0 keeps two blocks, span 1 all but two, span 2 half; span 3 is current and full.
  std::set<void*> free_in_span_1;
  for (std::size_t i = 0; i < kPerSpan; ++i) {
    if (i >= 2) {
      heaps[0].release(blocks[i]);
    }
    if (i < 2) {
      heaps[0].release(blocks[kPerSpan + i]);
      free_in_span_1.insert(blocks[kPerSpan + i]);
    }
    if (i < kPerSpan / 2) {
      heaps[0].release(blocks[2 * kPerSpan + i]);
    }
  }
  EXPECT_EQ(free_in_span_1.count(heaps[0].allocate(4096)), 1U);
  EXPECT_EQ(free_in_span_1.count(heaps[0].allocate(4096)), 1U);
  const auto third = static_cast<std::byte*>(heaps[0].allocate(4096));
  EXPECT_EQ((third - static_cast<std::byte*>(blocks[2 * kPerSpan])) / static_cast<std::ptrdiff_t>(kSpanBytes),
            0);
}

TEST(ValueHeap, AnEmptySpanGoesBackAtOnceAndServesAnotherClass) {
  Heaps heaps(1);
  const std::size_t per_span = kSpanBytes / 128;
  const std::vector<void*> blocks = fill_span(heaps[0], 128, 2 * per_span);
  ASSERT_EQ(heaps.space.span_bytes(), 2 * kSpanBytes);
  for (std::size_t i = 0; i < per_span; ++i) {
    heaps[0].release(blocks[i]);
  }
  EXPECT_EQ(heaps.space.span_bytes(), kSpanBytes);
  const std::set<void*> old(blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(per_span));
  EXPECT_EQ(old.count(heaps[0].allocate(1024)), 1U) << "the span's first block begins where the old one did";
}

TEST(ValueHeap, TheBudgetRefusesAndARecoveryFollowsARelease) {
  Heaps heaps(1, kMiB);
  std::vector<void*> blocks;
  while (void* block = heaps[0].allocate(100)) {
    blocks.push_back(block);
  }
  EXPECT_EQ(heaps.budget.used_bytes(), kMiB);
  EXPECT_GT(blocks.size() * 104, kMiB * 98 / 100);
  EXPECT_EQ(heaps[0].next_block(100), nullptr);
  EXPECT_EQ(heaps[0].allocate(2000), nullptr) << "no other class gets memory either";
  EXPECT_EQ(heaps[0].allocate(2 * kSpanBytes), nullptr);
  EXPECT_GE(heaps[0].stats().failed, 3U);
  heaps[0].release(blocks[7]);
  EXPECT_EQ(heaps[0].allocate(100), blocks[7]);
  for (void* block : blocks) {
    heaps[0].release(block);
  }
  EXPECT_NE(heaps[0].allocate(2000), nullptr) << "empty spans change class";
  EXPECT_NE(heaps[0].allocate(2 * kSpanBytes), nullptr);
}

TEST(ValueHeap, AnEmptyCurrentSpanIsGivenUpWhenAnotherClassFindsTheBudgetExhausted) {
  Heaps heaps(1, kSpanBytes);
  heaps[0].release(heaps[0].allocate(100));
  EXPECT_EQ(heaps.space.span_bytes(), kSpanBytes) << "kept: the class will want it again";
  EXPECT_NE(heaps[0].allocate(5000), nullptr);
}

TEST(ValueHeap, AUsedUpRangeGivesNullAndLeavesTheBudgetRight) {
  Heaps heaps(64 * kMiB, testing::space_options(1, 2 * kMiB));
  std::size_t spans = 0;
  while (heaps[0].allocate(kSpanBytes) != nullptr) {
    ++spans;
  }
  EXPECT_EQ(spans, 32U);
  heaps.budget.account(WorkerId(0)).flush();
  EXPECT_EQ(heaps.budget.used_bytes(), 2 * kMiB);
}

TEST(ValueHeap, StatsCountBlocksAndSpansOfEachClass) {
  Heaps heaps(1);
  fill_span(heaps[0], 1000, 70);
  const ValueClassStats stats = heaps[0].class_stats(size_class_for(1000));
  EXPECT_EQ(stats.block_bytes, 1024U);
  EXPECT_EQ(stats.live_blocks, 70U);
  EXPECT_EQ(stats.spans, 2U);
  EXPECT_EQ(heaps[0].stats().live_bytes, 70U * 1024U);
  EXPECT_EQ(heaps[0].stats().span_bytes, 2 * kSpanBytes);
  EXPECT_EQ(heaps.budget.category_bytes(memory_category::items), 2 * kSpanBytes);
}

TEST(ValueHeap, WorksOnHugePagesAsOnSmallOnes) {
  ValueSpaceOptions options = testing::space_options(1);
  options.pages.huge_pages = huge_pages_mode::transparent;
  Heaps heaps(64 * kMiB, options);
  for (const PatternBlock block :
       {PatternBlock{static_cast<unsigned char*>(heaps[0].allocate(kMiB)), kMiB, 1},
        PatternBlock{static_cast<unsigned char*>(heaps[0].allocate(896)), 896, 2}}) {
    ASSERT_NE(block.data, nullptr);
    block.fill();
    EXPECT_TRUE(block.intact());
  }
}

TEST(ValueSpace, RefundsBlocksThatWereNeverReleased) {
  MemoryBudget budget(64 * kMiB, 1);
  {
    ValueSpace space(budget, testing::space_options(1));
    ValueHeap heap(space, budget.account(WorkerId(0)), WorkerId(0), NumaNodeId(0));
    fill_span(heap, 5000, 100);
    budget.account(WorkerId(0)).flush();
    EXPECT_EQ(budget.used_bytes(), space.span_bytes());
  }
  EXPECT_EQ(budget.used_bytes(), 0U);
  EXPECT_EQ(budget.category_bytes(memory_category::items), 0U);
}

}  // namespace
}  // namespace mxkv::runtime

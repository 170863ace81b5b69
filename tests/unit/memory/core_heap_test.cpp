// The task allocator: core heaps over one processor heap, on one thread.
#include "runtime/memory/core_heap.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

namespace mxkv::runtime {
namespace {

constexpr std::array kBlocks{task_block::bytes_64, task_block::bytes_128, task_block::bytes_192,
                             task_block::bytes_256, task_block::bytes_384};

PageOptions small_pages() {
  PageOptions options;
  options.huge_pages = huge_pages_mode::off;
  return options;
}

std::vector<void*> allocate(CoreHeap& heap, task_block block, std::size_t count) {
  std::vector<void*> blocks;
  blocks.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    blocks.push_back(heap.allocate(block));
  }
  return blocks;
}

struct CoreHeapTest : ::testing::Test {
  MemoryBudget budget{MemoryBudget::kUnlimited, 1};
  TaskMemory memory{budget, small_pages(), 16 * kHugePageBytes};
  ProcessorHeap& processor = memory.processor_heap(NumaNodeId(0));
};

TEST(TaskBlock, ATypeGetsTheSmallestBlockThatHoldsIt) {
  static_assert(task_block_for(1) == task_block::bytes_64);
  static_assert(task_block_for(64) == task_block::bytes_64);
  static_assert(task_block_for(65) == task_block::bytes_128);
  static_assert(task_block_for(192) == task_block::bytes_192);
  EXPECT_EQ(task_block_for(193), task_block::bytes_256);
  EXPECT_EQ(task_block_for(257), task_block::bytes_384);
  EXPECT_EQ(task_block_bytes(task_block_for(384)), 384U);
}

TEST_F(CoreHeapTest, BlocksAreLineAlignedAndDoNotOverlap) {
  CoreHeap heap(processor);
  std::set<std::pair<std::uintptr_t, std::uintptr_t>> ranges;
  for (const task_block block : kBlocks) {
    for (int i = 0; i < 300; ++i) {
      void* address = heap.allocate(block);
      ASSERT_NE(address, nullptr);
      std::memset(address, i, task_block_bytes(block));
      const auto from = reinterpret_cast<std::uintptr_t>(address);
      EXPECT_EQ(from % kCacheLineBytes, 0U);
      ranges.emplace(from, from + task_block_bytes(block));
    }
  }
  EXPECT_EQ(ranges.size(), kBlocks.size() * 300U);
  std::uintptr_t end = 0;
  for (const auto& [from, to] : ranges) {
    EXPECT_GE(from, end);
    end = to;
  }
}

TEST_F(CoreHeapTest, TheBlockReleasedLastIsGivenOutFirst) {
  CoreHeap heap(processor);
  void* first = heap.allocate(task_block::bytes_128);
  void* second = heap.allocate(task_block::bytes_128);
  heap.release(second, task_block::bytes_128);
  heap.release(first, task_block::bytes_128);
  EXPECT_EQ(heap.allocate(task_block::bytes_128), first);
  EXPECT_EQ(heap.allocate(task_block::bytes_128), second);
}

TEST_F(CoreHeapTest, AHeapKeepsAtMostTwoBatchesAndPassesTheRestOn) {
  CoreHeap producer(processor);
  CoreHeap consumer(processor);
  const std::vector<void*> blocks =
      allocate(producer, task_block::bytes_64, std::size_t{10} * kTaskBatchBlocks);
  const std::set<void*> seen(blocks.begin(), blocks.end());
  for (void* block : blocks) {  // blocks change hands: allocated there, released here
    consumer.release(block, task_block::bytes_64);
    ASSERT_LE(consumer.free_blocks(task_block::bytes_64), 2 * kTaskBatchBlocks);
  }
  const std::size_t taken = memory.taken_bytes();
  for (std::uint32_t i = 0; i < 8 * kTaskBatchBlocks; ++i) {
    EXPECT_EQ(seen.count(producer.allocate(task_block::bytes_64)), 1U) << "a released block comes back";
  }
  EXPECT_EQ(memory.taken_bytes(), taken);
}

TEST_F(CoreHeapTest, SwingingAroundABatchBorderDoesNotGoToTheProcessorHeap) {
  CoreHeap heap(processor);
  const std::vector<void*> blocks = allocate(heap, task_block::bytes_64, std::size_t{2} * kTaskBatchBlocks);
  for (void* block : blocks) {
    heap.release(block, task_block::bytes_64);
  }
  ASSERT_EQ(heap.free_blocks(task_block::bytes_64), 2 * kTaskBatchBlocks);
  const std::set<void*> own(blocks.begin(), blocks.end());
  for (int swing = 0; swing < 3; ++swing) {
    const std::vector<void*> taken = allocate(heap, task_block::bytes_64, kTaskBatchBlocks + 1);
    for (void* block : taken) {
      EXPECT_EQ(own.count(block), 1U) << "a batch came from outside, although the heap had one";
      heap.release(block, task_block::bytes_64);
    }
  }
}

TEST_F(CoreHeapTest, FullBatchesOfAHeapThatEndsServeTheNextHeap) {
  std::set<void*> seen;
  {
    CoreHeap heap(processor);
    for (void* block : allocate(heap, task_block::bytes_192, std::size_t{2} * kTaskBatchBlocks)) {
      heap.release(block, task_block::bytes_192);
      seen.insert(block);
    }
  }
  CoreHeap next(processor);
  for (std::uint32_t i = 0; i < 2 * kTaskBatchBlocks; ++i) {
    EXPECT_EQ(seen.count(next.allocate(task_block::bytes_192)), 1U);
  }
}

TEST_F(CoreHeapTest, ExhaustedAddressSpaceGivesNullAndAReleaseHelpsAgain) {
  TaskMemory tiny(budget, small_pages(), kHugePageBytes);
  CoreHeap heap(tiny.processor_heap(NumaNodeId(0)));
  std::size_t count = 0;
  void* last = nullptr;
  while (void* block = heap.allocate(task_block::bytes_384)) {
    last = block;
    ++count;
  }
  const std::size_t batches_a_slab = kTaskSlabBytes / (std::size_t{384} * kTaskBatchBlocks);
  EXPECT_EQ(count, kHugePageBytes / kTaskSlabBytes * batches_a_slab * kTaskBatchBlocks);
  EXPECT_EQ(heap.allocate(task_block::bytes_384), nullptr);
  heap.release(last, task_block::bytes_384);
  EXPECT_EQ(heap.allocate(task_block::bytes_384), last);
}

TEST(TaskMemory, IsChargedEvenPastTheLimitAndRefundedAtTheEnd) {
  MemoryBudget budget(1000, 1);
  {
    TaskMemory memory(budget, small_pages(), 4 * kHugePageBytes);
    CoreHeap heap(memory.processor_heap(NumaNodeId(0)));
    EXPECT_EQ(budget.used_bytes(), 0U);
    EXPECT_NE(heap.allocate(task_block::bytes_64), nullptr);
    EXPECT_EQ(budget.category_bytes(memory_category::tasks), kTaskSlabBytes);
  }
  EXPECT_EQ(budget.used_bytes(), 0U);
}

TEST(TaskMemory, SlabsWithoutABlockInUseGoBackAndServeAgain) {
  MemoryBudget budget(MemoryBudget::kUnlimited, 1);
  TaskMemory memory(budget, small_pages(), 16 * kHugePageBytes);
  CoreHeap heap(memory.processor_heap(NumaNodeId(0)));
  const auto charged = [&budget] { return budget.category_bytes(memory_category::tasks); };
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> first = allocate(heap, task_block::bytes_192, 20'000);
    std::vector<void*> second = allocate(heap, task_block::bytes_640, 10'000);
    const std::size_t most = charged();
    EXPECT_GE(most, std::size_t{20'000} * 192 + std::size_t{10'000} * 640);
    // All but one: its slab stays, and the ones that are carved just now.
    void* const kept = first[10'000];
    std::memset(kept, 0x5A, 192);
    first.erase(first.begin() + 10'000);
    for (void* block : first) {
      heap.release(block, task_block::bytes_192);
    }
    for (void* block : second) {
      heap.release(block, task_block::bytes_640);
    }
    ASSERT_TRUE(heap.wants_trim());
    heap.trim();
    EXPECT_LE(charged(), 3 * kTaskSlabBytes);
    EXPECT_FALSE(heap.wants_trim()) << "what cannot go is not looked at again and again";
    for (std::size_t i = 0; i < 192; ++i) {
      ASSERT_EQ(static_cast<unsigned char*>(kept)[i], 0x5A) << "a block in use stays as it is";
    }
    heap.release(kept, task_block::bytes_192);
    EXPECT_EQ(memory.blocks_out(task_block::bytes_192), heap.free_blocks(task_block::bytes_192));
    EXPECT_LE(memory.taken_bytes(), most + kHugePageBytes) << "slabs are used again";
  }
}

TEST(TaskMemory, TrimmingKeepsEveryBlockThatIsLeft) {
  MemoryBudget budget(MemoryBudget::kUnlimited, 1);
  TaskMemory memory(budget, small_pages(), 16 * kHugePageBytes);
  CoreHeap heap(memory.processor_heap(NumaNodeId(0)));
  std::vector<void*> used = allocate(heap, task_block::bytes_384, 30'000);
  std::vector<void*> left;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (i % 97 == 0) {  // a block or more of each slab
      left.push_back(used[i]);
    } else {
      heap.release(used[i], task_block::bytes_384);
    }
  }
  const std::size_t charged = budget.category_bytes(memory_category::tasks);
  heap.trim();
  EXPECT_EQ(budget.category_bytes(memory_category::tasks), charged) << "each slab has a block in use";
  const std::size_t taken = memory.taken_bytes();
  std::set<void*> all(left.begin(), left.end());
  for (void* const block :
       allocate(heap, task_block::bytes_384, used.size() - left.size() - kTaskBatchBlocks)) {
    EXPECT_TRUE(all.insert(block).second) << "no block is given out twice";
  }
  EXPECT_EQ(memory.taken_bytes(), taken);
}

TEST(TaskMemory, EachNodeCarvesItsOwnArena) {
  MemoryBudget budget(MemoryBudget::kUnlimited, 1);
  PageOptions options = small_pages();
  options.os_nodes = {0, 0};
  TaskMemory memory(budget, options, 4 * kHugePageBytes);
  CoreHeap here(memory.processor_heap(NumaNodeId(0)));
  CoreHeap there(memory.processor_heap(NumaNodeId(1)));
  const auto a = reinterpret_cast<std::uintptr_t>(here.allocate(task_block::bytes_64));
  const auto b = reinterpret_cast<std::uintptr_t>(there.allocate(task_block::bytes_64));
  EXPECT_NE(a / kHugePageBytes, b / kHugePageBytes);
}

}  // namespace
}  // namespace mxkv::runtime

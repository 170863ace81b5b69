// Use of released memory is reported: death tests, in AddressSanitizer builds only.
#include "runtime/memory/poison.hpp"

#include <gtest/gtest.h>

#include "runtime/memory/core_heap.hpp"
#include "tests/unit/memory/memory_fixture.hpp"

namespace mxkv::runtime {
namespace {

TEST(Poison, LinksSurviveInPoisonedBlocks) {
  alignas(8) std::byte block[64]{};
  detail::poison(block, sizeof block);
  detail::write_link(block, &block[8]);
  EXPECT_EQ(detail::read_link(block), &block[8]);
  detail::unpoison(block, sizeof block);
}

#ifdef MXKV_ADDRESS_SANITIZER

void touch(void* address) {
  *static_cast<volatile unsigned char*>(address) = 1;
}

TEST(PoisonDeathTest, AValueUsedAfterItsReleaseIsReported) {
  testing::Heaps heaps(2);
  auto* block = static_cast<unsigned char*>(heaps[0].allocate(200));
  touch(block + 199);
  heaps[0].release(block);
  EXPECT_DEATH(touch(block), "use-after-poison");
  EXPECT_DEATH(touch(block + 100), "use-after-poison");
  auto* foreign = static_cast<unsigned char*>(heaps[0].allocate(200));
  heaps[1].release(foreign);
  EXPECT_DEATH(touch(foreign + 50), "use-after-poison");
}

TEST(PoisonDeathTest, ALargeValueUsedAfterItsReleaseIsReported) {
  testing::Heaps heaps(1);
  auto* block = static_cast<unsigned char*>(heaps[0].allocate(3 * kSpanBytes));
  heaps[0].release(block);
  EXPECT_DEATH(touch(block + 2 * kSpanBytes), "use-after-poison");
}

TEST(PoisonDeathTest, ABlockNeverGivenOutIsPoisoned) {
  testing::Heaps heaps(1);
  auto* block = static_cast<unsigned char*>(heaps[0].allocate(200));
  EXPECT_DEATH(touch(block + 200), "use-after-poison");
}

TEST(PoisonDeathTest, ATaskBlockUsedAfterItsReleaseIsReported) {
  MemoryBudget budget(MemoryBudget::kUnlimited, 1);
  TaskMemory memory(budget, PageOptions{}, kHugePageBytes);
  CoreHeap heap(memory.processor_heap(NumaNodeId(0)));
  void* block = heap.allocate(task_block::bytes_64);
  heap.release(block, task_block::bytes_64);
  EXPECT_DEATH(touch(block), "use-after-poison");
}

#endif

}  // namespace
}  // namespace mxkv::runtime

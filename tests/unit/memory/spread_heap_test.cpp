// Blocks that are on all nodes in turn, and come home from whichever worker releases them.
#include "runtime/memory/spread_heap.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "tests/unit/memory/memory_fixture.hpp"

namespace mxkv::runtime {
namespace {

constexpr std::array kNodes{NumaNodeId{0}, NumaNodeId{2}};
constexpr std::size_t kBytes = 1024;

struct Spread {
  static ValueSpaceOptions space_options() {
    ValueSpaceOptions options;
    options.pages.huge_pages = huge_pages_mode::off;
    options.pages.numa_placement = false;
    options.pages.os_nodes = {0, 1, 2};
    options.category = memory_category::index;
    options.workers = 1 + kNodes.size();
    return options;
  }

  MemoryBudget budget{testing::kMiB, 2};
  ValueSpace space{budget, space_options()};
  ValueHeap worker{space, budget.account(WorkerId{0}), WorkerId{0}, NumaNodeId{0}};
  SpreadHeap heap{space, budget.account(WorkerId{1}), WorkerId{1}, kNodes};
};

TEST(SpreadHeap, EachNodeHasEveryFewthBlock) {
  Spread spread;
  for (std::size_t i = 0; i < 4 * kNodes.size(); ++i) {
    void* const block = spread.heap.allocate(kBytes);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(spread.space.node_of(block), kNodes[i % kNodes.size()]);
  }
  for (std::size_t node = 0; node < kNodes.size(); ++node) {
    EXPECT_EQ(spread.heap.stats(node).live_bytes, 4 * kBytes);
  }
}

TEST(SpreadHeap, WhatAWorkerReleasesComesHomeAndNothingStaysCharged) {
  Spread spread;
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < 100; ++i) {
    blocks.push_back(spread.heap.allocate(kBytes));
  }
  for (void* const block : blocks) {
    spread.worker.release(block);
  }
  spread.worker.flush_foreign();
  spread.heap.collect();
  for (std::size_t node = 0; node < kNodes.size(); ++node) {
    EXPECT_EQ(spread.heap.stats(node).live_bytes, 0U);
  }
  EXPECT_EQ(spread.space.span_bytes(), 0U);
  EXPECT_EQ(spread.budget.used_bytes(), 0U);
}

TEST(SpreadHeap, IsRefusedWhereTheBudgetIsUsedUpAndGoesOnAfterwards) {
  Spread spread;
  std::vector<void*> blocks;
  while (void* const block = spread.heap.allocate(kBytes)) {
    blocks.push_back(block);
  }
  EXPECT_GT(blocks.size(), 500U);
  spread.worker.release(blocks.back());
  spread.worker.flush_foreign();
  EXPECT_NE(spread.heap.allocate(kBytes), nullptr);
}

TEST(SpreadHeap, ServesSeveralThreads) {
  Spread spread;
  std::array<std::vector<void*>, 2> blocks;
  {
    std::vector<std::jthread> threads;
    for (std::vector<void*>& mine : blocks) {
      threads.emplace_back([&spread, &mine] {
        for (int i = 0; i < 300; ++i) {
          mine.push_back(spread.heap.allocate(kBytes));
        }
      });
    }
  }
  for (const std::vector<void*>& some : blocks) {
    for (void* const block : some) {
      ASSERT_NE(block, nullptr);
      spread.worker.release(block);
    }
  }
  spread.worker.flush_foreign();
  spread.heap.collect();
  EXPECT_EQ(spread.space.span_bytes(), 0U);
}

}  // namespace
}  // namespace mxkv::runtime

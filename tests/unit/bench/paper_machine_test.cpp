// The model of the LAS paper's servers: which accesses cost more than others.
#include "bench/figures/paper_machine.hpp"

#include <gtest/gtest.h>

#include "runtime/topology/build.hpp"

namespace mxkv::bench {
namespace {

constexpr std::size_t kBlock = 65'536;
constexpr std::size_t kCoresOfNode = 8;

struct NumaServer : ::testing::Test {
  /// Nanoseconds that a worker takes to read a block.
  double reads(std::size_t worker, const int& block, std::uint16_t home) {
    const double before = machine.clocks()[worker];
    machine.read(worker, &block, runtime::NumaNodeId{home}, kBlock);
    return machine.clocks()[worker] - before;
  }
  const runtime::Topology topology = runtime::topology_from_synthetic(numa_machine().topology).value();
  PaperMachine machine{numa_machine(), topology, kBlock, 0};
  int blocks[1'000] = {};
};

TEST_F(NumaServer, HasFourNodesOfEightCoresThatShareACache) {
  EXPECT_EQ(topology.nodes.size(), 4U);
  EXPECT_EQ(topology.core_groups.size(), 4U);
  EXPECT_EQ(topology.pus.size(), 4 * kCoresOfNode);
}

TEST_F(NumaServer, CacheIsCheaperThanMemoryAndThatThanRemoteMemory) {
  const double local = reads(0, blocks[0], 0);
  const double remote = reads(kCoresOfNode, blocks[1], 0);
  EXPECT_LT(local, remote);
  EXPECT_LT(reads(1, blocks[0], 0), local) << "a core of the same node read it";
  EXPECT_LT(reads(kCoresOfNode, blocks[1], 0), remote) << "it is cached there too";
  EXPECT_EQ(machine.clocks()[2], 0) << "others are not held up";
}

TEST_F(NumaServer, ACoresOwnCacheIsNearestAndHoldsAFewBlocks) {
  const double memory = reads(0, blocks[0], 0);
  const double own = reads(0, blocks[0], 0);
  const double shared = reads(1, blocks[0], 0);
  EXPECT_LT(own, shared);
  EXPECT_LT(shared, memory);
  for (std::size_t i = 1; i <= numa_machine().own_bytes / kBlock; ++i) {
    reads(0, blocks[i], 0);
  }
  EXPECT_NEAR(reads(0, blocks[0], 0), shared, 1e-3) << "it has left for others";
}

TEST_F(NumaServer, WhatIsWrittenFirstComesFromMemory) {
  const auto writes = [this](const int& block) {
    const double before = machine.clocks()[0];
    machine.write(0, &block, kBlock);
    return machine.clocks()[0] - before;
  };
  const double first = writes(blocks[0]);
  EXPECT_LT(writes(blocks[0]), first);
}

TEST_F(NumaServer, ALinkIsSharedByTheCoresOfTwoNodesAlone) {
  double same = 0;
  for (std::size_t worker = kCoresOfNode; worker < 2 * kCoresOfNode; ++worker) {
    same = reads(worker, blocks[worker], 0);
  }
  EXPECT_GE(same, kCoresOfNode * static_cast<double>(kBlock) / numa_machine().link);
}

TEST_F(NumaServer, WhatWasWrittenIsInTheWritersCacheAloneAndFarFromOthers) {
  reads(kCoresOfNode, blocks[0], 0);
  machine.write(0, &blocks[0], kBlock);
  const double near = reads(1, blocks[0], 0);
  EXPECT_GT(reads(kCoresOfNode, blocks[0], 0), near) << "the copy was of the past";
}

TEST_F(NumaServer, TheLongestUnusedBlockLeavesTheCache) {
  const std::size_t room = numa_machine().cache_bytes / kBlock;
  const double cold = reads(0, blocks[0], 0);
  for (std::size_t i = 1; i < room; ++i) {
    reads(0, blocks[i], 0);
  }
  EXPECT_LT(reads(0, blocks[0], 0), cold) << "all of them fit";
  reads(0, blocks[room], 0);
  EXPECT_LT(reads(0, blocks[0], 0), cold) << "it was used last but one";
  EXPECT_NEAR(reads(0, blocks[1], 0), cold, 1e-3);
}

TEST_F(NumaServer, CoresThatReadFromOneMemoryWaitForEachOther) {
  double last = 0;
  for (std::size_t worker = 0; worker < 4 * kCoresOfNode; ++worker) {
    last = reads(worker, blocks[worker], 0);
  }
  EXPECT_GE(last, 32 * static_cast<double>(kBlock) / numa_machine().controller);
}

TEST(SmpServer, HasFourPairsOfCoresAndOneMemory) {
  const runtime::Topology topology = runtime::topology_from_synthetic(smp_machine().topology).value();
  EXPECT_EQ(topology.nodes.size(), 1U);
  EXPECT_EQ(topology.core_groups.size(), 4U);
  EXPECT_EQ(topology.pus.size(), 8U);
}

}  // namespace
}  // namespace mxkv::bench

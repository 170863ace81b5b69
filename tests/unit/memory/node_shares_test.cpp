// Where arenas go when nodes have shares.
#include "runtime/memory/node_shares.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/memory/page_range.hpp"

namespace mxkv::runtime {
namespace {

constexpr NumaNodeId kFirst{0};
constexpr NumaNodeId kSecond{1};
constexpr NumaNodeId kThird{2};

TEST(NodeShares, ANodeIsTakenWhileItsShareLasts) {
  NodeShares shares{std::array<std::size_t, 2>{100, 100}};
  EXPECT_EQ(shares.charge(kSecond, 60), kSecond);
  EXPECT_EQ(shares.charge(kSecond, 40), kSecond);
  EXPECT_EQ(shares.taken_bytes(kSecond), 100U);
  EXPECT_EQ(shares.taken_bytes(kFirst), 0U);
}

TEST(NodeShares, WhatDoesNotFitGoesToTheNodeWithMostRoom) {
  NodeShares shares{std::array<std::size_t, 3>{100, 50, 80}};
  EXPECT_EQ(shares.charge(kFirst, 90), kFirst);
  EXPECT_EQ(shares.charge(kFirst, 20), kThird);
  EXPECT_EQ(shares.charge(kFirst, 20), kThird);
  EXPECT_EQ(shares.charge(kFirst, 20), kSecond);
  EXPECT_EQ(shares.charge(kFirst, 10), kFirst) << "it still has room for less";
}

TEST(NodeShares, ANodeWithoutAShareHoldsNothingWhileOthersHaveRoom) {
  NodeShares shares{std::array<std::size_t, 2>{0, 100}};
  EXPECT_EQ(shares.charge(kFirst, 100), kSecond);
  EXPECT_EQ(shares.charge(kFirst, 1), kFirst) << "nobody has room: memory counts more than its place";
  EXPECT_EQ(shares.taken_bytes(kFirst), 1U);
}

TEST(NodeShares, ThreadsTogetherDoNotExceedAShare) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kEach = 1000;
  NodeShares shares{std::array<std::size_t, 2>{kThreads * kEach / 2, kThreads * kEach / 2}};
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&shares] {
        for (std::size_t j = 0; j < kEach; ++j) {
          static_cast<void>(shares.charge(kFirst, 1));
        }
      });
    }
  }
  EXPECT_EQ(shares.taken_bytes(kFirst), kThreads * kEach / 2);
  EXPECT_EQ(shares.taken_bytes(kSecond), kThreads * kEach / 2);
}

TEST(NodeShares, RangesThatHaveThemInCommonCountTheirArenasTogether) {
  PageOptions options;
  options.os_nodes = {0, 0};  // two nodes of ours on the one that every machine has
  options.shares =
      std::make_shared<NodeShares>(std::array<std::size_t, 2>{2 * kHugePageBytes, 8 * kHugePageBytes});
  PageRange first{16 * kHugePageBytes, options};
  PageRange second{16 * kHugePageBytes, options};
  ASSERT_NE(first.take(kHugePageBytes, kFirst), nullptr);
  ASSERT_NE(second.take(1, kFirst), nullptr);
  EXPECT_EQ(options.shares->taken_bytes(kFirst), 2 * kHugePageBytes);
  ASSERT_NE(second.take(3 * kHugePageBytes, kFirst), nullptr);
  EXPECT_EQ(options.shares->taken_bytes(kFirst), 2 * kHugePageBytes);
  EXPECT_EQ(options.shares->taken_bytes(kSecond), 3 * kHugePageBytes);
}

}  // namespace
}  // namespace mxkv::runtime

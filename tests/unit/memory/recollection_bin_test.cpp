// The bin by itself; races are played by a schedule that interrupts itself. All orders: tests/schedule.
#include "runtime/memory/recollection_bin.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <utility>
#include <vector>

namespace mxkv::runtime {
namespace {

struct alignas(64) Block {
  std::array<std::byte, 64> bytes{};
};

std::vector<void*> chain(void* first) {
  std::vector<void*> blocks;
  for (void* block = first; block != nullptr; block = detail::read_link(block)) {
    blocks.push_back(block);
  }
  return blocks;
}

/// The blocks of a test go back to being plain memory at its end.
struct RecollectionBinTest : ::testing::Test {
  ~RecollectionBinTest() override { detail::unpoison(blocks.data(), sizeof blocks); }
  std::array<Block, 8> blocks;
};

TEST_F(RecollectionBinTest, GivesBackWholeChainsYoungestFirst) {
  RecollectionBin bin;
  detail::write_link(&blocks[0], &blocks[1]);
  EXPECT_FALSE(bin.push(&blocks[0], &blocks[1], 128, 1000));
  EXPECT_FALSE(bin.push(&blocks[2], &blocks[2], 64, 1000));
  EXPECT_EQ(bin.bytes(), 192U);
  EXPECT_EQ(chain(bin.take_all()), (std::vector<void*>{&blocks[2], &blocks[0], &blocks[1]}));
  EXPECT_EQ(bin.take_all(), nullptr);
  EXPECT_EQ(bin.bytes(), 0U);
}

TEST_F(RecollectionBinTest, ExactlyThePushThatCrossesTheSizeWakes) {
  RecollectionBin bin;
  EXPECT_FALSE(bin.push(&blocks[0], &blocks[0], 64, 150));
  EXPECT_FALSE(bin.push(&blocks[1], &blocks[1], 64, 150));
  EXPECT_TRUE(bin.push(&blocks[2], &blocks[2], 64, 150));
  EXPECT_FALSE(bin.push(&blocks[3], &blocks[3], 64, 150));
  ASSERT_NE(bin.take_all(), nullptr);
  EXPECT_TRUE(bin.push(&blocks[0], &blocks[0], 150, 150))
      << "after collecting, the next crossing wakes again";
}

/// Lets a test act as another thread at the last point before a compare-and-swap.
std::function<void()>* interruption = nullptr;  // NOLINT: only within one test at a time
int points_before = 0;                          // NOLINT

struct Interrupted {
  static void point() {
    if (interruption != nullptr && points_before-- == 0) {
      (*std::exchange(interruption, nullptr))();
    }
  }
};

TEST_F(RecollectionBinTest, APushThatLosesAgainstAPushKeepsBothChains) {
  BasicRecollectionBin<Interrupted> bin;
  std::function<void()> other = [&] { EXPECT_FALSE(bin.push(&blocks[1], &blocks[1], 64, 1000)); };
  interruption = &other;
  points_before = 1;
  EXPECT_FALSE(bin.push(&blocks[0], &blocks[0], 64, 1000));
  EXPECT_EQ(chain(bin.take_all()), (std::vector<void*>{&blocks[0], &blocks[1]}));
}

TEST_F(RecollectionBinTest, APushThatLosesAgainstTheOwnerDoesNotBringTakenBlocksBack) {
  BasicRecollectionBin<Interrupted> bin;
  EXPECT_FALSE(bin.push(&blocks[1], &blocks[1], 64, 1000));
  std::vector<void*> taken;
  std::function<void()> owner = [&] { taken = chain(bin.take_all()); };
  interruption = &owner;
  points_before = 1;
  EXPECT_FALSE(bin.push(&blocks[0], &blocks[0], 64, 1000));
  EXPECT_EQ(taken, (std::vector<void*>{&blocks[1]}));
  EXPECT_EQ(chain(bin.take_all()), (std::vector<void*>{&blocks[0]}));
}

}  // namespace
}  // namespace mxkv::runtime

// The bin by itself; races are played by an atomic that interrupts itself.
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
  bin.subtract(192);
  EXPECT_EQ(bin.bytes(), 0U);
}

TEST_F(RecollectionBinTest, ExactlyThePushThatCrossesTheSizeWakes) {
  RecollectionBin bin;
  EXPECT_FALSE(bin.push(&blocks[0], &blocks[0], 64, 150));
  EXPECT_FALSE(bin.push(&blocks[1], &blocks[1], 64, 150));
  EXPECT_TRUE(bin.push(&blocks[2], &blocks[2], 64, 150));
  EXPECT_FALSE(bin.push(&blocks[3], &blocks[3], 64, 150));
  ASSERT_NE(bin.take_all(), nullptr);
  bin.subtract(256);
  EXPECT_TRUE(bin.push(&blocks[0], &blocks[0], 150, 150))
      << "after collecting, the next crossing wakes again";
}

/// An atomic that lets a test act as another thread just before a compare-and-swap.
std::function<void()>* interruption = nullptr;  // NOLINT: only within one test at a time

template <class T>
class InterruptedAtomic {
 public:
  InterruptedAtomic(T value) : value_(value) {}  // NOLINT(google-explicit-constructor): as std::atomic
  [[nodiscard]] T load(std::memory_order /*order*/) const { return value_; }
  T exchange(T value, std::memory_order /*order*/) { return std::exchange(value_, value); }
  T fetch_add(T n, std::memory_order /*order*/) { return std::exchange(value_, value_ + n); }
  T fetch_sub(T n, std::memory_order /*order*/) { return std::exchange(value_, value_ - n); }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order /*ok*/, std::memory_order /*failed*/) {
    if (interruption != nullptr) {
      (*std::exchange(interruption, nullptr))();
    }
    if (value_ != expected) {
      expected = value_;
      return false;
    }
    value_ = desired;
    return true;
  }

 private:
  T value_;
};

TEST_F(RecollectionBinTest, APushThatLosesAgainstAPushKeepsBothChains) {
  BasicRecollectionBin<InterruptedAtomic> bin;
  std::function<void()> other = [&] { EXPECT_FALSE(bin.push(&blocks[1], &blocks[1], 64, 1000)); };
  interruption = &other;
  EXPECT_FALSE(bin.push(&blocks[0], &blocks[0], 64, 1000));
  EXPECT_EQ(chain(bin.take_all()), (std::vector<void*>{&blocks[0], &blocks[1]}));
}

TEST_F(RecollectionBinTest, APushThatLosesAgainstTheOwnerDoesNotBringTakenBlocksBack) {
  BasicRecollectionBin<InterruptedAtomic> bin;
  EXPECT_FALSE(bin.push(&blocks[1], &blocks[1], 64, 1000));
  std::vector<void*> taken;
  std::function<void()> owner = [&] { taken = chain(bin.take_all()); };
  interruption = &owner;
  EXPECT_FALSE(bin.push(&blocks[0], &blocks[0], 64, 1000));
  EXPECT_EQ(taken, (std::vector<void*>{&blocks[1]}));
  EXPECT_EQ(chain(bin.take_all()), (std::vector<void*>{&blocks[0]}));
}

}  // namespace
}  // namespace mxkv::runtime

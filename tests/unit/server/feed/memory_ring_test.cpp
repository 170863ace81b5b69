// The ring of recent epochs: what it finds, drops and charges.
#include "server/feed/memory_ring.hpp"

#include <gtest/gtest.h>

namespace mxkv::server {
namespace {

RingEpoch epoch(std::uint64_t number, std::size_t bytes) {
  return {.number = number, .bytes = std::string(bytes, 'x')};
}

TEST(MemoryRing, FindsTheNextEpochBehindANumber) {
  MemoryRing ring{1'000, nullptr};
  ring.begin(4);
  EXPECT_EQ(ring.behind(4), nullptr);
  ring.add(epoch(6, 10));
  ring.add(epoch(9, 10));
  EXPECT_EQ(ring.behind(4)->number, 6U);
  EXPECT_EQ(ring.behind(5)->number, 6U);
  EXPECT_EQ(ring.behind(6)->number, 9U);
  EXPECT_EQ(ring.behind(9), nullptr);
  EXPECT_EQ(ring.complete_behind(), 4U);
}

/// Two epochs of `bytes`, and less than three.
std::size_t two_of(std::size_t bytes) {
  return 2 * epoch(1, bytes).own_bytes() + 10;
}

TEST(MemoryRing, DropsTheOldestAboveItsSize) {
  MemoryRing ring{two_of(40), nullptr};
  ring.begin(0);
  for (std::uint64_t number = 1; number <= 5; ++number) {
    ring.add(epoch(number, 40));
  }
  EXPECT_EQ(ring.complete_behind(), 3U);
  EXPECT_EQ(ring.bytes(), 2 * epoch(1, 40).own_bytes());
  EXPECT_EQ(ring.behind(0)->number, 4U);
}

TEST(MemoryRing, KeepsTheNewestEpochWhateverItsSize) {
  MemoryRing ring{100, nullptr};
  ring.begin(0);
  ring.add(epoch(1, 10));
  ring.add(epoch(2, 500));
  EXPECT_EQ(ring.complete_behind(), 1U);
  EXPECT_EQ(ring.behind(1)->number, 2U);
  ring.begin(2);
  EXPECT_EQ(ring.bytes(), 0U);
  EXPECT_EQ(ring.behind(0), nullptr);
}

TEST(MemoryRing, ChargesWhatItHolds) {
  runtime::MemoryBudget budget{std::size_t{1} << 20U, 1};
  {
    MemoryRing ring{two_of(70), &budget};
    ring.begin(0);
    for (std::uint64_t number = 1; number <= 3; ++number) {
      ring.add(epoch(number, 70));
    }
    EXPECT_EQ(budget.category_bytes(runtime::memory_category::buffers), 2 * epoch(1, 70).own_bytes());
  }
  EXPECT_EQ(budget.category_bytes(runtime::memory_category::buffers), 0U);
}

TEST(MemoryRing, TakesAPartOfTheMemoryLimitAtMost) {
  runtime::MemoryBudget budget{8'000, 1};
  MemoryRing ring{1'000'000, &budget};
  EXPECT_EQ(ring.most_bytes(), 1'000U);
  budget.set_limit_bytes(80'000);
  EXPECT_EQ(ring.most_bytes(), 10'000U);
  ring.begin(0);
  for (std::uint64_t number = 1; number <= 100; ++number) {
    ring.add(epoch(number, 500));
  }
  EXPECT_LE(ring.bytes(), 10'000U);
  EXPECT_GT(ring.bytes(), 8'000U);
}

}  // namespace
}  // namespace mxkv::server

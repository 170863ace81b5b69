// Spans out of superblocks, of a pool with its own small tables.
#include "runtime/memory/superblock_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/memory/poison.hpp"

namespace mxkv::runtime::detail {
namespace {

constexpr std::size_t kSuperblocks = 16;

PageOptions small_pages() {
  PageOptions options;
  options.huge_pages = huge_pages_mode::off;
  return options;
}

struct SuperblockPoolTest : ::testing::Test {
  PageRange range{kSuperblocks * kSuperblockBytes, small_pages()};
  std::vector<Span> spans{kSuperblocks * kSpansPerSuperblock};
  std::vector<Superblock> superblocks{kSuperblocks};
  SpanTables tables{range.base(), spans.data(), superblocks.data()};
  SuperblockPool pool{range, tables, NumaNodeId(0)};

  std::vector<Span*> acquire_all(std::uint32_t count) {
    std::vector<Span*> all;
    while (Span* span = pool.acquire(count)) {
      all.push_back(span);
    }
    return all;
  }
};

TEST_F(SuperblockPoolTest, GivesOutEverySpanOnceThenNull) {
  const std::vector<Span*> all = acquire_all(1);
  EXPECT_EQ(std::set<Span*>(all.begin(), all.end()).size(), kSuperblocks * kSpansPerSuperblock);
  EXPECT_EQ(pool.span_bytes(), kSuperblocks * kSuperblockBytes);
  EXPECT_EQ(pool.pooled_bytes(), 0U);
  for (Span* span : all) {
    EXPECT_EQ(span->base, range.base() + (span - spans.data()) * static_cast<std::ptrdiff_t>(kSpanBytes));
    pool.release(span);
  }
  EXPECT_EQ(pool.span_bytes(), 0U);
  EXPECT_NE(pool.acquire(1), nullptr);
}

TEST_F(SuperblockPoolTest, RunsLieWithinOneSuperblock) {
  EXPECT_EQ(acquire_all(20).size(), kSuperblocks);
  EXPECT_EQ(acquire_all(12).size(), kSuperblocks) << "the rest of each superblock is one run of 12";
  EXPECT_EQ(pool.acquire(1), nullptr);
}

TEST_F(SuperblockPoolTest, ARunIsFoundOnlyWhereTheFreeSpansAreNeighbours) {
  const std::vector<Span*> all = acquire_all(1);
  for (std::size_t i = 0; i < all.size(); i += 2) {
    pool.release(&spans[i]);
  }
  EXPECT_EQ(pool.acquire(2), nullptr);
  pool.release(&spans[7]);
  EXPECT_EQ(pool.acquire(3), &spans[6]);
}

TEST_F(SuperblockPoolTest, TheFullestSuperblockServesFirst) {
  acquire_all(1);
  for (const std::size_t span : {32U, 33U, 34U, 64U}) {  // three free spans in superblock 1, one in 2
    pool.release(&spans[span]);
  }
  EXPECT_EQ(pool.acquire(1), &spans[64]);
}

TEST_F(SuperblockPoolTest, AmongEquallyFullSuperblocksAndAmongTheirSpansTheLastReleasedServesFirst) {
  acquire_all(1);
  for (const std::size_t span : {40U, 35U, 70U, 66U}) {  // two free spans each in superblocks 1 and 2
    pool.release(&spans[span]);
  }
  EXPECT_EQ(pool.acquire(1), &spans[66]);
  pool.release(&spans[44]);
  pool.release(&spans[40 - 4]);
  EXPECT_EQ(pool.acquire(1), &spans[70]) << "the fullest first all the same";
  EXPECT_EQ(pool.acquire(1), &spans[36]);
}

TEST_F(SuperblockPoolTest, FreeSuperblocksServeLastInFirstOutAndTheOldestLoseTheirPages) {
  const std::vector<Span*> all = acquire_all(kSpansPerSuperblock);
  for (std::size_t i = 0; i < 6; ++i) {
    unpoison(all[i]->base, 1);
    *all[i]->base = std::byte{1};
    pool.release(all[i]);
  }
  EXPECT_EQ(pool.pooled_bytes(), 4 * kSuperblockBytes);
  for (std::size_t i = 6; i-- > 0;) {
    Span* const span = pool.acquire(kSpansPerSuperblock);
    ASSERT_NE(span, nullptr);
    unpoison(span->base, 1);
    if (i >= 2) {
      EXPECT_EQ(span, all[i]);
      EXPECT_EQ(*span->base, std::byte{1}) << "kept with its pages";
    } else {
      EXPECT_EQ(*span->base, std::byte{0}) << "its pages went back";
    }
  }
  EXPECT_EQ(pool.acquire(1), nullptr);
}

TEST_F(SuperblockPoolTest, PagesOfAllButAFewFreeSuperblocksGoBackToTheSystem) {
  const std::vector<Span*> all = acquire_all(kSpansPerSuperblock);
  for (Span* span : all) {
    unpoison(span->base, 1);
    *span->base = std::byte{1};
    pool.release(span);
  }
  EXPECT_EQ(pool.pooled_bytes(), 4 * kSuperblockBytes);
  std::size_t zero = 0;
  for (Span* span : acquire_all(kSpansPerSuperblock)) {
    unpoison(span->base, 1);
    zero += *span->base == std::byte{0} ? 1 : 0;
  }
  EXPECT_EQ(zero, kSuperblocks - 4);
}

TEST_F(SuperblockPoolTest, RandomRunsNeverOverlapAndAllComeBack) {
  Random random(11);
  std::vector<Span*> held;
  std::vector<bool> used(spans.size(), false);
  for (int i = 0; i < 20'000; ++i) {
    if (random.below(2) == 0) {
      Span* const span = pool.acquire(static_cast<std::uint32_t>(1 + random.below(kSpansPerSuperblock)));
      if (span == nullptr) {
        continue;
      }
      const auto first = static_cast<std::size_t>(span - spans.data());
      ASSERT_EQ(first / kSpansPerSuperblock, (first + span->span_count - 1) / kSpansPerSuperblock);
      for (std::size_t s = first; s < first + span->span_count; ++s) {
        ASSERT_FALSE(used[s]);
        used[s] = true;
      }
      held.push_back(span);
    } else if (!held.empty()) {
      const std::size_t victim = random.below(held.size());
      const auto first = static_cast<std::size_t>(held[victim] - spans.data());
      std::fill_n(used.begin() + static_cast<std::ptrdiff_t>(first), held[victim]->span_count, false);
      pool.release(held[victim]);
      held[victim] = held.back();
      held.pop_back();
    }
  }
  for (Span* span : held) {
    pool.release(span);
  }
  EXPECT_EQ(pool.span_bytes(), 0U);
  EXPECT_EQ(acquire_all(kSpansPerSuperblock).size(), kSuperblocks);
}

}  // namespace
}  // namespace mxkv::runtime::detail

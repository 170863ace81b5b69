// The worst part of the items that are met, for any shape of idle times.
#include "server/store/upkeep/eviction_scores.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "runtime/base/random.hpp"

namespace mxkv::server {
namespace {

constexpr std::uint64_t kNow = 1'000'000'000;

/// An item whose score is its idle time.
EvictionScores::Seen read_often(std::uint64_t idle_us) {
  return EvictionScores::seen(idle_us, 3, 0);
}

/// The part of `count` idle times, drawn by `draw`, that the class calls worst.
template <class Draw>
double told_worst(EvictionScores& times, std::size_t count, Draw draw, std::uint64_t now_us = kNow) {
  std::size_t told = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const EvictionScores::Seen item = read_often(draw());
    times.note(item, now_us);
    told += times.is_worst(item) ? 1 : 0;
  }
  return static_cast<double>(told) / static_cast<double>(count);
}

TEST(EvictionScores, ThePartIsKeptForAnyShapeOfTimes) {
  runtime::Random random{1};
  for (const double part : {0.01, 0.1, 0.5}) {
    for (const int shape : {0, 1, 2, 3}) {
      EvictionScores times;
      times.set_part(part, kNow);
      const auto draw = [&]() -> std::uint64_t {
        switch (shape) {
          case 0:
            return 7;  // all the same
          case 1:
            return random.below(1'000'000);
          case 2:
            return std::uint64_t{1} << random.below(50);
          default:
            return random.below(10) == 0 ? 0 : ~std::uint64_t{0};
        }
      };
      told_worst(times, 20'000, draw);
      EXPECT_NEAR(told_worst(times, 100'000, draw), part, 0.1 * part + 0.002) << "shape " << shape;
    }
  }
}

TEST(EvictionScores, RemovedItemsAreNotAmongTheWorst) {
  runtime::Random random{3};
  EvictionScores times;
  times.remember(600);
  const auto idle_from = [&](std::uint64_t least) { return least + random.below(least); };
  for (int lap = 0; lap < 10; ++lap) {  // each of them is met more than once
    for (int i = 0; i < 600; ++i) {
      times.note(read_often(idle_from(i < 60 ? 10'000'000'000 : 10'000'000)), kNow);
    }
  }
  times.set_part(0.1, kNow);
  EXPECT_FALSE(times.is_worst(read_often(15'000'000)));
  for (int i = 0; i < 60; ++i) {
    times.forget(read_often(idle_from(10'000'000'000)));
  }
  times.set_part(0.1, kNow);
  EXPECT_TRUE(times.is_worst(read_often(21'000'000)));
}

TEST(EvictionScores, NoItemTwiceAsIdleAsTheReportedOneIsLeft) {
  runtime::Random random{2};
  EvictionScores times;
  times.set_part(0.1, kNow);
  for (int i = 0; i < 10'000; ++i) {
    times.note(read_often(random.below(1'000'000)), kNow);
  }
  EXPECT_FALSE(times.is_worst(read_often(700'000)));
  EXPECT_TRUE(times.is_worst(read_often(1'400'000)));
}

TEST(EvictionScores, WhereAllAreToGoNoneIsLeft) {
  EvictionScores times;
  times.set_part(1, kNow);
  EXPECT_TRUE(times.is_worst(read_often(0)));  // also a time unlike any that was noted
}

TEST(EvictionScores, FollowsWhenTimesChange) {
  runtime::Random random{3};
  EvictionScores times;
  times.set_part(0.1, kNow);
  told_worst(times, 20'000, [&] { return random.below(1000); });
  const auto later = [&] { return 1'000'000 + random.below(1'000'000); };
  told_worst(times, 60'000, later);
  EXPECT_NEAR(told_worst(times, 50'000, later), 0.1, 0.02);
}

// A load that pauses must not make all items look idle.
TEST(EvictionScores, NotedTimesGrowOlderWithTheItems) {
  for (const std::uint64_t pause_us : {5'000'000U, 100'000'000U, 4'000'000'000U}) {
    runtime::Random random{4};
    EvictionScores times;
    times.set_part(0.1, kNow);
    told_worst(times, 20'000, [&] { return random.below(100'000'000); });
    // In one go, and in small steps.
    for (std::uint64_t passed = 0; passed <= pause_us; passed += pause_us / 50) {
      times.set_part(0.1, kNow + passed);
    }
    std::size_t told = 0;
    for (int i = 0; i < 10'000; ++i) {
      told += times.is_worst(read_often(pause_us + random.below(100'000'000))) ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(told) / 10'000, 0.1, 0.05) << pause_us;
  }
}

TEST(EvictionScores, IdleTimeReadsAndTheRootOfTheSizeMakeTheScore) {
  constexpr std::uint64_t kLong = 1'000'000'000;
  const auto score = [](std::uint64_t idle_us, std::uint32_t reads, std::size_t bytes) {
    return std::log2(EvictionScores::seen(idle_us, reads, bytes).score());
  };
  EXPECT_NEAR(score(2 * kLong, 0, 0) - score(kLong, 0, 0), 1, 0.001);
  EXPECT_NEAR(score(kLong, 0, 0) - score(kLong, 3, 0), 7, 0.001);
  EXPECT_NEAR(score(kLong, 1, 0) - score(kLong, 3, 0), 4, 0.001);
  EXPECT_NEAR(score(kLong, 2, 0) - score(kLong, 3, 0), 1, 0.001);
  EXPECT_NEAR(score(kLong, 3, 1 << 20U) - score(kLong, 3, 1 << 10U), 5, 0.001);
  EXPECT_NEAR(score(0, 0, 0), 7, 0.001) << "reads decide between items that were just used";
}

TEST(EvictionScores, ALargeItemGoesBeforeASmallOneOfTheSameAge) {
  runtime::Random random{5};
  EvictionScores times;
  times.set_part(0.25, kNow);
  std::size_t told_small = 0;
  std::size_t told_large = 0;
  for (int i = 0; i < 60'000; ++i) {
    const bool large = i % 2 == 0;
    const EvictionScores::Seen item =
        EvictionScores::seen(10'000'000 + random.below(1'000'000'000), 3, large ? 400 : 100);
    times.note(item, kNow);
    if (i >= 20'000 && times.is_worst(item)) {
      ++(large ? told_large : told_small);
    }
  }
  // The line is at half of the greatest score: half of the large ones, none of the small ones.
  EXPECT_NEAR(static_cast<double>(told_large), 10'000, 1500);
  EXPECT_LT(told_small, 1000U);
}

// What weighs more gets worse faster, while all items wait.
TEST(EvictionScores, ItemsOfAnyWeightGrowWorseAsTimePasses) {
  runtime::Random random{6};
  EvictionScores times;
  times.set_part(0.1, kNow);
  constexpr std::uint64_t kPause = 100'000'000;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> items;
  for (int i = 0; i < 20'000; ++i) {
    items.emplace_back(random.below(1'000'000'000), static_cast<std::uint32_t>(random.below(4)));
    times.note(EvictionScores::seen(items.back().first, items.back().second, 0), kNow);
  }
  for (std::uint64_t passed = 0; passed <= kPause; passed += kPause / 50) {
    times.set_part(0.1, kNow + passed);
  }
  std::size_t told = 0;
  for (const auto& [idle_us, reads] : items) {
    told += times.is_worst(EvictionScores::seen(idle_us + kPause, reads, 0)) ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(told) / static_cast<double>(items.size()), 0.1, 0.03);
}

TEST(EvictionScores, TellsNothingBeforeItWasTold) {
  EvictionScores times;
  times.set_part(0.1, kNow);
  EXPECT_FALSE(times.is_worst(read_often(~std::uint64_t{0})));
  EvictionScores none;
  for (int i = 0; i < 1000; ++i) {
    none.note(read_often(5), kNow);
  }
  EXPECT_FALSE(none.is_worst(read_often(~std::uint64_t{0})));
}

}  // namespace
}  // namespace mxkv::server

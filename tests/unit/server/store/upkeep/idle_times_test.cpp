// The idlest part of the items that are met, for any shape of idle times.
#include "server/store/upkeep/idle_times.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/base/random.hpp"

namespace mxkv::server {
namespace {

constexpr std::uint64_t kNow = 1'000'000'000;

/// The part of `count` idle times, drawn by `draw`, that the class calls idlest.
template <class Draw>
double told_idlest(IdleTimes& times, std::size_t count, Draw draw, std::uint64_t now_us = kNow) {
  std::size_t told = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const IdleTimes::Seen item{draw(), true};
    times.note(item, now_us);
    told += times.is_idlest(item) ? 1 : 0;
  }
  return static_cast<double>(told) / static_cast<double>(count);
}

TEST(IdleTimes, ThePartIsKeptForAnyShapeOfTimes) {
  runtime::Random random{1};
  for (const double part : {0.01, 0.1, 0.5}) {
    for (const int shape : {0, 1, 2, 3}) {
      IdleTimes times;
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
      told_idlest(times, 20'000, draw);
      EXPECT_NEAR(told_idlest(times, 100'000, draw), part, 0.1 * part + 0.002) << "shape " << shape;
    }
  }
}

TEST(IdleTimes, ThoseThatWentAreNotTheIdlestOfThoseThatAreThere) {
  runtime::Random random{3};
  IdleTimes times;
  times.remember(600);
  const auto idle_from = [&](std::uint64_t least) { return least + random.below(least); };
  for (int lap = 0; lap < 10; ++lap) {  // each of them is met more than once
    for (int i = 0; i < 600; ++i) {
      times.note({idle_from(i < 60 ? 1'000'000 : 1000), true}, kNow);
    }
  }
  times.set_part(0.1, kNow);
  EXPECT_FALSE(times.is_idlest({1500, true}));
  for (int i = 0; i < 60; ++i) {
    times.forget({idle_from(1'000'000), true});
  }
  times.set_part(0.1, kNow);
  EXPECT_TRUE(times.is_idlest({2100, true}));
}

TEST(IdleTimes, NoItemTwiceAsIdleAsTheReportedOneIsLeft) {
  runtime::Random random{2};
  IdleTimes times;
  times.set_part(0.1, kNow);
  for (int i = 0; i < 10'000; ++i) {
    times.note({random.below(1'000'000), true}, kNow);
  }
  EXPECT_FALSE(times.is_idlest({700'000, true}));
  EXPECT_TRUE(times.is_idlest({1'400'000, true}));
}

TEST(IdleTimes, WhereAllAreToGoNoneIsLeft) {
  IdleTimes times;
  times.set_part(1, kNow);
  EXPECT_TRUE(times.is_idlest({0, true}));  // also a time unlike any that was noted
}

TEST(IdleTimes, FollowsWhenTimesChange) {
  runtime::Random random{3};
  IdleTimes times;
  times.set_part(0.1, kNow);
  told_idlest(times, 20'000, [&] { return random.below(1000); });
  const auto later = [&] { return 1'000'000 + random.below(1'000'000); };
  told_idlest(times, 60'000, later);
  EXPECT_NEAR(told_idlest(times, 50'000, later), 0.1, 0.02);
}

// A load that pauses must not make all items look idle.
TEST(IdleTimes, NotedTimesGrowOlderWithTheItems) {
  for (const std::uint64_t pause_us : {50'000U, 1'000'000U, 60'000'000U}) {
    runtime::Random random{4};
    IdleTimes times;
    times.set_part(0.1, kNow);
    told_idlest(times, 20'000, [&] { return random.below(1'000'000); });
    // In one go, and in small steps.
    for (std::uint64_t passed = 0; passed <= pause_us; passed += pause_us / 50) {
      times.set_part(0.1, kNow + passed);
    }
    std::size_t told = 0;
    for (int i = 0; i < 10'000; ++i) {
      told += times.is_idlest({pause_us + random.below(1'000'000), true}) ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(told) / 10'000, 0.1, 0.05) << pause_us;
  }
}

TEST(IdleTimes, AnUnreadItemCountsAsIdleForTwiceAsLong) {
  runtime::Random random{5};
  IdleTimes times;
  times.set_part(0.25, kNow);
  std::size_t told_read = 0;
  std::size_t told_unread = 0;
  for (int i = 0; i < 60'000; ++i) {
    const IdleTimes::Seen item{random.below(1'000'000), i % 2 == 0};
    times.note(item, kNow);
    if (i >= 20'000 && times.is_idlest(item)) {
      ++(item.read ? told_read : told_unread);
    }
  }
  // The line is at 1 s: half of the unread, none of the read.
  EXPECT_NEAR(static_cast<double>(told_unread), 10'000, 1500);
  EXPECT_LT(told_read, 1000U);
}

TEST(IdleTimes, TellsNothingBeforeItWasTold) {
  IdleTimes times;
  times.set_part(0.1, kNow);
  EXPECT_FALSE(times.is_idlest({~std::uint64_t{0}, true}));
  IdleTimes none;
  for (int i = 0; i < 1000; ++i) {
    none.note({5, true}, kNow);
  }
  EXPECT_FALSE(none.is_idlest({~std::uint64_t{0}, true}));
}

}  // namespace
}  // namespace mxkv::server

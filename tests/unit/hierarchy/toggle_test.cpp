// Toggle: operations that conflict never overlap, all come to their end whoever steps when, independent ones
// run side by side, others help in inner mode alone, and slots may be drawn anew under way.
#include "runtime/hierarchy/toggle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "tests/unit/hierarchy/yard.hpp"

namespace mxkv::runtime {
namespace {

using testing::Machine;
using testing::random_options;
using testing::ToggleMachine;

SlotInterval random_slots(Random& random, std::uint32_t slots) {
  const auto first = static_cast<std::uint32_t>(random.below(slots));
  switch (random.below(4)) {
    case 0:
      return {first, std::min(slots - 1, first + static_cast<std::uint32_t>(random.below(slots)))};
    case 1:
      return {first, std::min(slots - 1, first + 2)};
    default:
      return {first, first};
  }
}

TEST(Toggle, ConflictingOperationsNeverOverlapAndAllEnd) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random{seed};
    const std::size_t workers = 1 + random.below(4);
    ToggleMachine world{workers, random_options(random)};
    const std::size_t operations = 400;
    std::vector<std::uint64_t> expected(world.toggle.slots(), 0);
    for (std::size_t started = 0; started < operations;) {
      if (random.below(3) == 0) {
        const SlotInterval slots = random_slots(random, world.toggle.slots());
        for (std::uint32_t slot = slots.first; slot <= slots.last; ++slot) {
          ++expected[slot];
        }
        world.start(random.below(workers), slots, static_cast<unsigned>(random.below(4)));
        ++started;
      } else {
        world.machine[random.below(workers)].step();
      }
    }
    world.machine.run_until_idle();
    world.expect_ended(operations);
    EXPECT_EQ(world.yard.touched, expected);
    EXPECT_EQ(world.toggle.stats().operations, operations);
  }
}

TEST(Toggle, OperationsThatWaitArePlacedAnewWhenTheMapChanges) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Random random{seed};
    const std::size_t workers = 1 + random.below(3);
    ToggleMachine world{workers,
                        {.order = seed % 3 == 0 ? interval_order::queue : interval_order::toggle,
                         .buckets = 4,
                         .slots_per_bucket = 4,
                         .hosts = seed % 2 == 0}};
    std::size_t operations = 0;
    for (int i = 0; i < 1500; ++i) {
      switch (random.below(8)) {
        case 0:
        case 1:
          world.start(random.below(workers), random_slots(random, world.toggle.slots()),
                      static_cast<unsigned>(random.below(4)));
          ++operations;
          break;
        case 2:
          if (random.below(10) == 0) {
            world.start_shift(random.below(workers));
          }
          break;
        default:
          world.machine[random.below(workers)].step();
      }
    }
    world.machine.run_until_idle();
    world.expect_ended(operations);
  }
}

TEST(Toggle, OthersHelpWithTheSlotsOfOneBucket) {
  ToggleMachine world{3, {.buckets = 1, .slots_per_bucket = 8}};
  for (std::uint32_t slot = 0; slot < 8; ++slot) {
    world.start(1, {slot, slot}, 50);
    world.start(1, {slot, slot}, 50);
  }
  world.machine.run_until_idle();
  world.expect_ended(16);
  EXPECT_GT(world.yard.most_running, 1U);
  EXPECT_GT(world.yard.by_worker[1] + world.yard.by_worker[2], 0U) << "the host of the bucket is worker 0";
  EXPECT_GT(world.toggle.stats().stolen, 0U);
  EXPECT_GT(world.toggle.stats().phases, 0U);
}

TEST(Toggle, WithoutStealingTheHostRunsAllAndOneAtATime) {
  ToggleMachine world{3, {.buckets = 1, .slots_per_bucket = 8, .stealing = false}};
  for (std::uint32_t slot = 0; slot < 8; ++slot) {
    world.start(slot % 3, {slot, slot}, 20);
  }
  world.machine.run_until_idle();
  world.expect_ended(8);
  EXPECT_EQ(world.yard.by_worker[0], 8U);
  EXPECT_EQ(world.yard.most_running, 1U);
  EXPECT_EQ(world.toggle.stats().stolen, 0U);
}

TEST(Toggle, WithoutInnerModeABucketRunsOneAfterTheOther) {
  ToggleMachine world{2, {.buckets = 1, .slots_per_bucket = 8, .inner = false}};
  for (std::uint32_t slot = 0; slot < 8; ++slot) {
    world.start(1, {slot, slot}, 5);
  }
  world.machine.run_until_idle();
  world.expect_ended(8);
  EXPECT_EQ(world.yard.most_running, 1U);
  EXPECT_EQ(world.toggle.stats().inner, 0U);
}

// Those of several slots come without end.
TEST(Toggle, AnOperationOfOneSlotGetsItsTurn) {
  ToggleMachine world{1, {.buckets = 1, .slots_per_bucket = 4}};
  world.start(0, {.slots = {0, 3}, .steps = 1000, .name = 1});  // meanwhile the others come
  world.start(0, {.slots = {1, 1}, .name = 2});
  for (std::uint32_t i = 0; i < 3 * Toggle::kOuterInRow; ++i) {
    world.start(0, {.slots = {0, 1}, .name = 3});
  }
  world.machine.run_until_idle();
  world.expect_ended(2 + 3 * Toggle::kOuterInRow);
  const auto& begun = world.yard.begun;
  EXPECT_LE(std::find(begun.begin(), begun.end(), 2) - begun.begin(), Toggle::kOuterInRow + 1);
}

TEST(Toggle, BucketsRunSideBySide) {
  ToggleMachine world{2, {.buckets = 4, .slots_per_bucket = 2, .inner = false}};
  for (std::uint32_t bucket = 0; bucket < 4; ++bucket) {
    world.start(0, {2 * bucket, 2 * bucket + 1}, 20);
  }
  world.machine.run_until_idle();
  world.expect_ended(4);
  EXPECT_GT(world.yard.most_running, 1U);
}

// A token that waits for a bucket holds those before it, and lets the others go on.
TEST(Toggle, AnOperationOfManyBucketsHoldsWhatItHasPassed) {
  ToggleMachine world{1, {.buckets = 3, .slots_per_bucket = 1, .inner = false}};
  world.start(0, {2, 2}, 1000);  // keeps the last bucket busy
  world.start(0, {0, 2}, 0);
  world.start(0, {0, 0}, 0);  // behind the token
  for (int i = 0; i < 20; ++i) {
    world.machine[0].step();
  }
  EXPECT_EQ(world.yard.ended, 0U);
  EXPECT_EQ(world.yard.running, 1U);
  world.machine.run_until_idle();
  world.expect_ended(3);
  EXPECT_EQ(world.toggle.stats().of_many, 1U);
}

TEST(Toggle, OperationsOfManyBucketsThatWaitTogetherGoTogether) {
  ToggleMachine world{1, {.buckets = 3, .slots_per_bucket = 1, .inner = false}};
  world.start(0, {0, 1}, 1000);  // meanwhile the others come
  for (int i = 0; i < 4; ++i) {
    world.start(0, {0, i == 2 ? 2U : 1U}, 0);
  }
  world.start(0, {0, 0}, 0);
  world.start(0, {0, 1}, 0);  // behind one that stays here
  world.machine.run_until_idle();
  world.expect_ended(7);
  EXPECT_EQ(world.toggle.stats().operations, 7U);
  EXPECT_EQ(world.toggle.stats().of_many, 6U);
  EXPECT_EQ(world.toggle.stats().followed, 3U);
}

TEST(Toggle, ThoseThatGoTogetherArePlacedAnewBehindOneThatChangesTheMap) {
  ToggleMachine world{2, {.buckets = 4, .slots_per_bucket = 1, .inner = false}};
  world.start(0, {0, 3}, 1000);
  world.start_shift(0);
  for (int i = 0; i < 5; ++i) {
    world.start(0, {0, 1}, 1);
  }
  world.machine.run_until_idle();
  world.expect_ended(6);
  EXPECT_EQ(world.yard.touched, (std::vector<std::uint64_t>{1, 1, 1, 6}));  // moved to the right by three
}

TEST(Toggle, WhatWaitsCanBeDropped) {
  ToggleMachine world{1, {.buckets = 2, .slots_per_bucket = 2}};
  world.start(0, {0, 3}, 1'000'000);
  for (int i = 0; i < 5; ++i) {
    world.start(0, {static_cast<std::uint32_t>(i % 4), 3}, 0);
  }
  world.machine[0].step();
  EXPECT_EQ(world.toggle.discard_waiting(world.machine.runtime), 5U);
  EXPECT_EQ(world.yard.ended, 0U);
}

TEST(Toggle, SlotsOfABucketAreBounded) {
  Machine machine{1};
  EXPECT_THROW((Toggle{machine.runtime, {.slots_per_bucket = 0}}), std::invalid_argument);
  EXPECT_THROW((Toggle{machine.runtime, {.slots_per_bucket = Toggle::kMostInner + 1}}),
               std::invalid_argument);
  EXPECT_EQ((Toggle{machine.runtime, {.slots_per_bucket = Toggle::kMostInner}}).slots(), Toggle::kMostInner);
}

}  // namespace
}  // namespace mxkv::runtime

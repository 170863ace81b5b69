// Toggle: operations that conflict never overlap, all end in whatever order workers are stepped, independent
// operations run side by side, each on the host of its lowest bucket, other workers help in inner mode only,
// and the slots may be drawn anew under way.
#include "runtime/hierarchy/toggle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "runtime/hierarchy/buckets/buckets.hpp"
#include "tests/unit/hierarchy/yard.hpp"

namespace mxkv::runtime {
namespace {

using testing::Machine;
using testing::random_options;
using testing::ToggleMachine;

SlotSet random_slots(Random& random, const Toggle& toggle) {
  const std::uint32_t slots = toggle.slots();
  const auto first = static_cast<std::uint32_t>(random.below(slots));
  switch (random.below(5)) {
    case 4: {
      const std::uint32_t last = std::min(slots - 1, first + static_cast<std::uint32_t>(random.below(slots)));
      return {{first, last}, random() | toggle.parts().bit_of(first) | toggle.parts().bit_of(last)};
    }
    case 0:
      return SlotInterval{first,
                          std::min(slots - 1, first + static_cast<std::uint32_t>(random.below(slots)))};
    case 1:
      return SlotInterval{first, std::min(slots - 1, first + 2)};
    default:
      return SlotInterval{first, first};
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
        const SlotSet slots = random_slots(random, world.toggle);
        for (std::uint32_t slot = slots.span.first; slot <= slots.span.last; ++slot) {
          expected[slot] += (slots.parts & world.toggle.parts().bit_of(slot)) != 0 ? 1 : 0;
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
          world.start(random.below(workers), random_slots(random, world.toggle),
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
  ToggleMachine world{3, {.buckets = 2, .slots_per_bucket = 8, .hosts = true}};
  for (std::uint32_t slot = 8; slot < 16; ++slot) {
    world.start(1, SlotInterval{slot, slot}, 50);
    world.start(1, SlotInterval{slot, slot}, 50);
  }
  world.machine.run_until_idle();
  world.expect_ended(16);
  EXPECT_GT(world.yard.most_running, 1U);
  EXPECT_EQ(world.yard.by_worker[0] + world.yard.by_worker[2], 2 * world.toggle.stats().stolen)
      << "who takes a slot runs its operations, of which each has two";
  EXPECT_GT(world.toggle.stats().stolen, 0U);
  EXPECT_GT(world.toggle.stats().phases, 0U);
}

TEST(Toggle, NobodyHelpsWhileAllAreBusy) {
  ToggleMachine world{3, {.buckets = 2, .slots_per_bucket = 8, .hosts = true}};
  bool stop = false;
  for (const std::size_t other : {0U, 2U}) {
    world.machine[other].spawn(testing::lambda_task(
        world.machine[other], [&stop](MxTask&, Worker&) { return stop ? step::done : step::again; }));
    world.machine[other].step();
  }
  for (std::uint32_t slot = 8; slot < 16; ++slot) {
    world.start(1, SlotInterval{slot, slot}, 5);
  }
  for (int rounds = 0; rounds < 1'000 && world.yard.ended < 8; ++rounds) {
    for (std::size_t worker = 0; worker < 3; ++worker) {
      world.machine[worker].step();
    }
  }
  world.expect_ended(8);
  EXPECT_EQ(world.yard.by_worker[1], 8U);
  EXPECT_EQ(world.toggle.stats().stolen, 0U);
  stop = true;
  world.machine.run_until_idle();
}

TEST(Toggle, ThereAreAtLeastSixteenBuckets) {
  EXPECT_EQ((ToggleMachine{2, {}}.toggle.buckets()), 16U);
  EXPECT_EQ((ToggleMachine{17, {}}.toggle.buckets()), 17U);
}

TEST(Toggle, WithoutStealingTheHostRunsAllAndOneAtATime) {
  ToggleMachine world{3, {.buckets = 2, .slots_per_bucket = 8, .hosts = true, .stealing = false}};
  for (std::uint32_t slot = 8; slot < 16; ++slot) {
    world.start(slot % 3, SlotInterval{slot, slot}, 20);
  }
  world.machine.run_until_idle();
  world.expect_ended(8);
  EXPECT_EQ(world.yard.by_worker[1], 8U);
  EXPECT_EQ(world.yard.most_running, 1U);
  EXPECT_EQ(world.toggle.stats().stolen, 0U);
}

TEST(Toggle, TheHostOfTheLowestBucketRunsAnOperation) {
  for (const bool inner : {true, false}) {
    ToggleMachine world{
        3, {.buckets = 3, .slots_per_bucket = 2, .hosts = true, .inner = inner, .stealing = false}};
    for (int i = 0; i < 10; ++i) {
      world.start(0, SlotInterval{2, 2}, 5);
      world.start(2, SlotInterval{2, 3}, 5);
      world.start(0, SlotInterval{2, 5}, 5);
    }
    world.start(1, world.only({0, 5}), 5);
    world.machine.run_until_idle();
    world.expect_ended(31);
    EXPECT_EQ(world.yard.by_worker[0], 1U);
    EXPECT_EQ(world.yard.by_worker[1], 30U);
    EXPECT_EQ(world.yard.by_worker[2], 0U);
  }
}

TEST(Toggle, WithoutHostsAnOperationBeginsWhereItCame) {
  ToggleMachine world{2, {.buckets = 2, .slots_per_bucket = 2, .stealing = false}};
  for (std::uint32_t slot = 0; slot < 4; ++slot) {
    world.start(1, SlotInterval{slot, slot}, 5);
  }
  world.machine.run_until_idle();
  world.expect_ended(4);
  EXPECT_EQ(world.yard.by_worker[1], 4U);
  EXPECT_EQ(world.toggle.stats().stolen, 0U) << "who opens a slot has not stolen it";
}

// {0, 3} is under way: operations on slots that it leaves out go on, operations on slots that it names wait.
TEST(Toggle, BucketsThatAnOperationLeavesOutAreNotHeld) {
  const std::vector<ToggleOptions> manners{
      {.buckets = 4, .slots_per_bucket = 1},
      {.buckets = 4, .slots_per_bucket = 1, .hosts = true},
      {.buckets = 4, .slots_per_bucket = 1, .inner = false},
      {.order = interval_order::queue, .buckets = 2, .slots_per_bucket = 2}};
  for (const ToggleOptions& options : manners) {
    for (const bool between : {false, true}) {
      ToggleMachine world{2, options};
      world.start(0, between ? SlotSet{SlotInterval{0, 3}} : world.only({0, 3}), 1'000'000);
      const auto step = [&world] {
        for (int i = 0; i < 50; ++i) {
          world.machine[0].step();
          world.machine[1].step();
        }
      };
      step();
      world.start(0, SlotInterval{1, 1}, 0);
      world.start(1, SlotInterval{1, 2}, 0);
      step();
      EXPECT_EQ(world.yard.ended, between ? 0U : 2U);
      world.start(1, SlotInterval{0, 0}, 0);
      world.start(0, SlotInterval{2, 3}, 0);
      step();
      EXPECT_EQ(world.yard.ended, between ? 0U : 2U);
      EXPECT_EQ(world.toggle.discard_waiting(world.machine.runtime), between ? 4U : 2U);
    }
  }
}

TEST(Toggle, MasksOfMoreBucketsThanAWordHasBitsHoldNeighbours) {
  ToggleMachine world{1, {.buckets = 128, .slots_per_bucket = 2, .inner = false}};
  world.start(0, world.only({0, 255}), 1'000'000);
  for (int i = 0; i < 20; ++i) {
    world.machine[0].step();
  }
  for (const std::uint32_t slot : {3U, 4U, 251U, 252U}) {
    world.start(0, SlotInterval{slot, slot}, 0);
  }
  for (int i = 0; i < 20; ++i) {
    world.machine[0].step();
  }
  EXPECT_EQ(world.yard.ended, 2U) << "of buckets 2 and 125; 1 and 126 are neighbours of what is named";
  EXPECT_EQ(world.toggle.discard_waiting(world.machine.runtime), 2U);
}

TEST(Toggle, WithoutInnerModeABucketRunsOneAfterTheOther) {
  ToggleMachine world{2, {.buckets = 1, .slots_per_bucket = 8, .inner = false}};
  for (std::uint32_t slot = 0; slot < 8; ++slot) {
    world.start(1, SlotInterval{slot, slot}, 5);
  }
  world.machine.run_until_idle();
  world.expect_ended(8);
  EXPECT_EQ(world.yard.most_running, 1U);
  EXPECT_EQ(world.toggle.stats().inner, 0U);
}

// Operations of several slots come without end.
TEST(Toggle, AnOperationOfOneSlotGetsItsTurn) {
  ToggleMachine world{1, {.buckets = 1, .slots_per_bucket = 4}};
  world.start(0, {.slots = SlotInterval{0, 3}, .steps = 1000, .name = 1});  // meanwhile the others come
  world.start(0, {.slots = SlotInterval{1, 1}, .name = 2});
  for (std::uint32_t i = 0; i < 3 * ToggleBuckets::kOuterInRow; ++i) {
    world.start(0, {.slots = SlotInterval{0, 1}, .name = 3});
  }
  world.machine.run_until_idle();
  world.expect_ended(2 + 3 * ToggleBuckets::kOuterInRow);
  const auto& begun = world.yard.begun;
  EXPECT_LE(std::find(begun.begin(), begun.end(), 2) - begun.begin(), ToggleBuckets::kOuterInRow + 1);
}

TEST(Toggle, BucketsRunSideBySide) {
  ToggleMachine world{2, {.buckets = 4, .slots_per_bucket = 2, .inner = false}};
  for (std::uint32_t bucket = 0; bucket < 4; ++bucket) {
    world.start(0, SlotInterval{2 * bucket, 2 * bucket + 1}, 20);
  }
  world.machine.run_until_idle();
  world.expect_ended(4);
  EXPECT_GT(world.yard.most_running, 1U);
}

// A token that waits for a bucket holds the buckets before it, and lets the others go on.
TEST(Toggle, AnOperationOfManyBucketsHoldsTheBucketsThatItHasPassed) {
  ToggleMachine world{1, {.buckets = 3, .slots_per_bucket = 1, .inner = false}};
  world.start(0, SlotInterval{2, 2}, 1000);  // keeps the last bucket busy
  world.start(0, SlotInterval{0, 2}, 0);
  world.start(0, SlotInterval{0, 0}, 0);  // behind the token
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
  world.start(0, SlotInterval{0, 1}, 1000);  // meanwhile the others come
  for (int i = 0; i < 4; ++i) {
    world.start(0, SlotInterval{0, i == 2 ? 2U : 1U}, 0);
  }
  world.start(0, SlotInterval{0, 0}, 0);
  world.start(0, SlotInterval{0, 1}, 0);  // behind one that stays here
  world.machine.run_until_idle();
  world.expect_ended(7);
  EXPECT_EQ(world.toggle.stats().operations, 7U);
  EXPECT_EQ(world.toggle.stats().of_many, 6U);
  EXPECT_EQ(world.toggle.stats().followed, 3U);
}

TEST(Toggle, ThoseThatGoTogetherArePlacedAnewBehindOneThatChangesTheMap) {
  ToggleMachine world{2, {.buckets = 4, .slots_per_bucket = 1, .inner = false}};
  world.start(0, SlotInterval{0, 3}, 1000);
  world.start_shift(0);
  for (int i = 0; i < 5; ++i) {
    world.start(0, SlotInterval{0, 1}, 1);
  }
  world.machine.run_until_idle();
  world.expect_ended(6);
  EXPECT_EQ(world.yard.touched, (std::vector<std::uint64_t>{1, 1, 1, 6}));  // moved to the right by three
}

TEST(Toggle, WaitingOperationsCanBeDropped) {
  ToggleMachine world{1, {.buckets = 2, .slots_per_bucket = 2}};
  world.start(0, SlotInterval{0, 3}, 1'000'000);
  for (int i = 0; i < 5; ++i) {
    world.start(0, SlotInterval{static_cast<std::uint32_t>(i % 4), 3}, 0);
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
  EXPECT_EQ((Toggle{machine.runtime, {.buckets = 1, .slots_per_bucket = Toggle::kMostInner}}).slots(),
            Toggle::kMostInner);
}

}  // namespace
}  // namespace mxkv::runtime

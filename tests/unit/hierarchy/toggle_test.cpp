// Toggle: operations that conflict never overlap, all come to their end whoever steps when, independent ones
// run side by side, others help in inner mode alone, and slots may be drawn anew under way.
#include "runtime/hierarchy/toggle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

using testing::Machine;

/// What operations are to do, and what they saw.
struct Yard {
  explicit Yard(std::uint32_t slots) : in_use(slots, 0), touched(slots, 0) {}

  std::vector<int> in_use;             ///< by slot: operations under way
  std::vector<std::uint64_t> touched;  ///< by slot: operations that ended
  std::size_t running = 0;
  std::size_t most_running = 0;
  std::size_t ended = 0;
  std::size_t overlaps = 0;
  std::vector<std::uint64_t> by_worker = std::vector<std::uint64_t>(8, 0);
  std::uint32_t shift = 0;  ///< of the slots, as if the map had changed
};

class YardTask final : public ToggleTask<YardTask> {
 public:
  YardTask(const TaskClass* task_class, Toggle& toggle, Yard& yard, SlotInterval wanted,
           unsigned steps) noexcept
      : ToggleTask(task_class, toggle), yard_(&yard), wanted_(wanted), steps_(steps) {}

  /// With a shift, intervals move to the right, as far as there is room.
  [[nodiscard]] SlotInterval place() const noexcept {
    const auto last = static_cast<std::uint32_t>(yard_->in_use.size()) - 1;
    return {std::min(wanted_.first + yard_->shift, last), std::min(wanted_.last + yard_->shift, last)};
  }
  step run(Worker& worker) {
    if (!begun_) {
      begun_ = true;
      EXPECT_EQ(slots(), place()) << "placed by an old map";
      yard_->most_running = std::max(yard_->most_running, ++yard_->running);
      ++yard_->by_worker[worker.id().value()];
      for (std::uint32_t slot = slots().first; slot <= slots().last; ++slot) {
        yard_->overlaps += yard_->in_use[slot]++ != 0 ? 1 : 0;
      }
    }
    if (steps_-- > 0) {
      return step::again;
    }
    for (std::uint32_t slot = slots().first; slot <= slots().last; ++slot) {
      --yard_->in_use[slot];
      ++yard_->touched[slot];
    }
    --yard_->running;
    ++yard_->ended;
    toggle().finished(*this, worker);
    return step::done;
  }

 private:
  Yard* yard_;
  SlotInterval wanted_;
  unsigned steps_;
  bool begun_ = false;
};

/// Holds all slots, and shifts them.
class ShiftTask final : public ToggleTask<ShiftTask> {
 public:
  ShiftTask(const TaskClass* task_class, Toggle& toggle, Yard& yard) noexcept
      : ToggleTask(task_class, toggle), yard_(&yard) {}
  [[nodiscard]] SlotInterval place() const noexcept {
    return {0, static_cast<std::uint32_t>(yard_->in_use.size()) - 1};
  }
  step run(Worker& worker) {
    EXPECT_EQ(yard_->running, 0U) << "something runs while all slots are held";
    yard_->shift = (yard_->shift + 3) % 7;
    toggle().map_changed();
    toggle().finished(*this, worker);
    return step::done;
  }

 private:
  Yard* yard_;
};

RuntimeOptions helping(std::size_t workers) {
  RuntimeOptions options = testing::unpinned(workers);
  options.stealing = stealing_scope::machine;
  options.prefetch.window = 4;
  options.batch_tasks = 3;
  return options;
}

/// A toggle on workers that the test steps.
struct ToggleMachine {
  ToggleMachine(std::size_t workers, const ToggleOptions& options)
      : machine(helping(workers)), toggle(machine.runtime, options), yard(toggle.slots()) {}

  void start(std::size_t worker, SlotInterval slots, unsigned steps) {
    machine[worker].create<YardTask>(toggle, yard, slots, steps)->start(machine[worker]);
  }
  void start_shift(std::size_t worker) {
    machine[worker].create<ShiftTask>(toggle, yard)->start(machine[worker]);
  }
  void expect_ended(std::size_t operations) const {
    EXPECT_EQ(yard.ended, operations);
    EXPECT_EQ(yard.overlaps, 0U);
    EXPECT_EQ(yard.running, 0U);
  }

  Machine machine;
  Toggle toggle;
  Yard yard;
};

SlotInterval random_interval(Random& random, std::uint32_t slots) {
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
    ToggleMachine world{workers,
                        {.buckets = static_cast<std::uint32_t>(1 + random.below(5)),
                         .slots_per_bucket = static_cast<std::uint32_t>(1 + random.below(6)),
                         .inner = random.below(4) != 0,
                         .stealing = random.below(4) != 0}};
    const std::size_t operations = 400;
    std::vector<std::uint64_t> expected(world.toggle.slots(), 0);
    for (std::size_t started = 0; started < operations;) {
      if (random.below(3) == 0) {
        const SlotInterval slots = random_interval(random, world.toggle.slots());
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
    ToggleMachine world{workers, {.buckets = 4, .slots_per_bucket = 4}};
    std::size_t operations = 0;
    for (int i = 0; i < 1500; ++i) {
      switch (random.below(8)) {
        case 0:
        case 1:
          world.start(random.below(workers), random_interval(random, world.toggle.slots()),
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

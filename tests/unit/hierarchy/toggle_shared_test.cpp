// Toggle's operations that share: they overlap each other and never an exclusive one, and no later operation
// passes an exclusive one; in inner buckets, in outer parts, over many buckets, and when the map changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/hierarchy/yard.hpp"

namespace mxkv::runtime {
namespace {

using testing::random_options;
using testing::ToggleMachine;
using testing::YardOrder;

constexpr unsigned kLong = 100;

/// Ends when as many operations of its kind as wanted are inside at once, or when it has waited for too long.
class MeetingTask final : public ToggleTask<MeetingTask> {
 public:
  struct Place {
    unsigned wanted;
    unsigned inside = 0;
    unsigned met = 0;
    unsigned gave_up = 0;
  };
  MeetingTask(const TaskClass* task_class, Toggle& toggle, Place& place, SlotInterval slots) noexcept
      : ToggleTask(task_class, toggle), place_(&place), slots_(slots) {}

  [[nodiscard]] SlotInterval place() const noexcept { return slots_; }
  [[nodiscard]] bool shared() const noexcept { return true; }
  step run(Worker& worker) {
    if (!inside_) {
      inside_ = true;
      ++place_->inside;
    }
    const bool met = place_->inside >= place_->wanted;
    if (!met && ++waited_ < 1000) {
      return step::again;
    }
    ++(met ? place_->met : place_->gave_up);
    toggle().finished(*this, worker);
    return step::done;
  }

 private:
  Place* place_;
  SlotInterval slots_;
  unsigned waited_ = 0;
  bool inside_ = false;
};

/// Starts operations that must be inside of the same slots at once, behind an operation that lets them
/// gather.
void expect_meeting(ToggleMachine& world, SlotInterval slots, unsigned operations) {
  MeetingTask::Place place{.wanted = operations};
  world.start(0, {.slots = SlotInterval{0, world.toggle.slots() - 1}, .steps = kLong});
  for (unsigned i = 0; i < operations; ++i) {
    world.machine[0].create<MeetingTask>(world.toggle, place, slots)->start(world.machine[0]);
  }
  world.machine.run_until_idle();
  world.expect_ended(1);
  EXPECT_EQ(place.met, operations);
  EXPECT_EQ(place.gave_up, 0U);
  EXPECT_EQ(world.toggle.stats().operations, operations + 1);
  EXPECT_EQ(world.toggle.stats().shared, operations);
}

TEST(ToggleShared, OperationsOnOneSlotAreInsideAtOnce) {
  for (const std::size_t workers : {1U, 3U}) {
    ToggleMachine world{workers, {.buckets = 2, .slots_per_bucket = 4}};
    expect_meeting(world, {5, 5}, 4);
    EXPECT_EQ(world.toggle.stats().inner, 4U);
  }
}

TEST(ToggleShared, OperationsInOneBucketAreInsideAtOnce) {
  for (const std::size_t workers : {1U, 3U}) {
    ToggleMachine world{workers, {.buckets = 2, .slots_per_bucket = 4}};
    expect_meeting(world, {4, 6}, 4);
  }
}

TEST(ToggleShared, OperationsOfManyBucketsAreInsideAtOnce) {
  for (const std::size_t workers : {1U, 3U}) {
    ToggleMachine world{workers, {.buckets = 4, .slots_per_bucket = 4, .inner = false}};
    expect_meeting(world, {2, 14}, 4);
    EXPECT_EQ(world.toggle.stats().of_many, 5U);
  }
}

TEST(ToggleShared, WithoutStealingTheyAreInsideAtOnceOnTheHost) {
  ToggleMachine world{3, {.buckets = 1, .slots_per_bucket = 4, .stealing = false}};
  expect_meeting(world, {1, 2}, 4);
}

TEST(ToggleShared, SeveralWorkersRunThoseThatBeginTogether) {
  for (const SlotInterval slots : {SlotInterval{1, 1}, SlotInterval{0, 1}, SlotInterval{1, 6}}) {
    ToggleMachine world{3, {.buckets = 3, .slots_per_bucket = 3}};
    world.start(0, {.slots = SlotInterval{0, 8}, .steps = kLong});
    for (int i = 0; i < 9; ++i) {
      world.start(0, {.slots = slots, .steps = kLong, .shared = true});
    }
    world.machine.run_until_idle();
    world.expect_ended(10);
    EXPECT_GT(*std::min_element(world.yard.by_worker.begin(), world.yard.by_worker.begin() + 3), 0U);
  }
}

// A group from one bucket and an operation of another, in the buckets that both touch.
TEST(ToggleShared, GroupsOfDifferentBucketsShareTheBucketsThatBothHold) {
  ToggleMachine world{1, {.buckets = 3, .slots_per_bucket = 2, .inner = false}};
  world.start(0, {.slots = SlotInterval{0, 5}, .steps = kLong, .shared = true, .name = 1});
  world.start(0, {.slots = SlotInterval{2, 5}, .steps = kLong, .shared = true, .name = 2});
  world.start(0, {.slots = SlotInterval{4, 5}, .steps = kLong, .shared = true, .name = 3});
  world.machine.run_until_idle();
  world.expect_ended(3);
  EXPECT_EQ(world.yard.most_running, 3U);
}

TEST(ToggleShared, AnExclusiveOperationKeepsItsPlaceBetweenSharedOnes) {
  const std::vector<YardOrder> places{{.slots = SlotInterval{1, 1}},
                                      {.slots = SlotInterval{0, 2}},
                                      {.slots = SlotInterval{0, 5}},
                                      {.slots = SlotInterval{5, 5}},
                                      {.slots = SlotInterval{4, 5}}};
  for (const YardOrder& place : places) {
    ToggleMachine world{2, {.buckets = 2, .slots_per_bucket = 3}};
    world.start(0, {.slots = SlotInterval{0, 5}, .steps = kLong});  // meanwhile the others come
    for (int name = 1; name <= 9; ++name) {
      world.start(0, {.slots = place.slots, .steps = 5, .shared = name % 3 != 0, .name = name});
    }
    world.machine.run_until_idle();
    world.expect_ended(10);
    ASSERT_EQ(world.yard.begun.size(), 10U);
    for (std::size_t at = 1; at < 10; ++at) {  // shared ones that follow each other begin in any order
      EXPECT_EQ((world.yard.begun[at] + 2) / 3, static_cast<int>(at + 2) / 3);
      EXPECT_EQ(world.yard.begun[at] % 3 == 0, at % 3 == 0);
    }
    EXPECT_EQ(world.yard.most_running, 2U);
    EXPECT_EQ(world.toggle.stats().shared, 6U);
  }
}

// Shared operations hold the buckets without end: while they do, others come, always more than end.
TEST(ToggleShared, AnExclusiveOperationIsNotStarvedByOthersThatShare) {
  for (const SlotInterval slots : {SlotInterval{1, 1}, SlotInterval{0, 1}, SlotInterval{0, 3}}) {
    ToggleMachine world{2, {.buckets = 2, .slots_per_bucket = 2}};
    const auto start_shared = [&](int name) {
      world.start(0, {.slots = slots, .steps = 20, .shared = true, .name = name});
    };
    start_shared(1);
    for (int i = 0; i < 5; ++i) {
      world.machine[0].step();
    }
    world.start(0, {.slots = slots, .name = -1});
    for (int name = 2; name < 40; ++name) {
      start_shared(name);
      world.machine[0].step();
      world.machine[1].step();
    }
    world.machine.run_until_idle();
    world.expect_ended(40);
    ASSERT_GE(world.yard.begun.size(), 2U);
    EXPECT_EQ(world.yard.begun[0], 1);
    EXPECT_EQ(world.yard.begun[1], -1);
  }
}

TEST(ToggleShared, NoneMeetsAnExclusiveOneAndAllEnd) {
  std::size_t beside = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    SCOPED_TRACE(seed);
    Random random{seed};
    const std::size_t workers = 1 + random.below(4);
    ToggleMachine world{workers, random_options(random)};
    const std::size_t readers_of_ten = random.below(11);
    std::size_t operations = 0;
    while (operations < 400) {
      if (random.below(3) == 0) {
        const auto slots = world.toggle.slots();
        const auto first = static_cast<std::uint32_t>(random.below(slots));
        const auto more = random.below(3) == 0 ? static_cast<std::uint32_t>(random.below(slots)) : 0;
        world.start(random.below(workers), {.slots = SlotInterval{first, std::min(slots - 1, first + more)},
                                            .steps = static_cast<unsigned>(random.below(4)),
                                            .shared = random.below(10) < readers_of_ten});
        ++operations;
      } else {
        world.machine[random.below(workers)].step();
      }
      if (operations % 100 == 0 && random.below(50) == 0) {
        world.start_shift(random.below(workers));
      }
    }
    world.machine.run_until_idle();
    world.expect_ended(operations);
    beside += world.yard.shared_beside;
  }
  EXPECT_GT(beside, 0U);
}

TEST(ToggleShared, ThoseThatWaitArePlacedAnewWhenTheMapChanges) {
  ToggleMachine world{2, {.buckets = 4, .slots_per_bucket = 2}};
  world.start(0, {.slots = SlotInterval{0, 7}, .steps = kLong});
  world.start_shift(0);
  for (int i = 0; i < 3; ++i) {
    world.start(0, {.slots = SlotInterval{0, 0}, .shared = true});
    world.start(0, {.slots = SlotInterval{0, 1}, .shared = true});
    world.start(0, {.slots = SlotInterval{1, 4}, .shared = true});
  }
  world.machine.run_until_idle();
  world.expect_ended(10);
  EXPECT_EQ(world.yard.touched, (std::vector<std::uint64_t>{1, 1, 1, 7, 7, 4, 4, 4}));  // right by three
}

TEST(ToggleShared, OperationsThatWaitToBeginTogetherCanBeDropped) {
  ToggleMachine world{1, {.buckets = 2, .slots_per_bucket = 2}};
  world.start(0, {.slots = SlotInterval{0, 3}, .steps = 1'000'000});
  for (std::uint32_t i = 0; i < 6; ++i) {
    world.start(0, {.slots = SlotInterval{i % 2, i % 3 == 0 ? i % 2 : 3}, .shared = true});
  }
  world.machine[0].step();
  EXPECT_EQ(world.toggle.discard_waiting(world.machine.runtime), 6U);
  EXPECT_EQ(world.yard.ended, 0U);
}

}  // namespace
}  // namespace mxkv::runtime

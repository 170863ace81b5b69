// Retired objects of workers: freed after their epoch, by time and by bytes, never under a pin, all at the
// end.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>

#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

using testing::lambda_task;
using testing::Machine;
using testing::unpinned;

struct Reclaim : ::testing::Test {
  Reclaim() {
    for (std::size_t i = 0; i < 2; ++i) {
      machine[i].set_local(this);
    }
  }
  static RuntimeOptions quick() {
    RuntimeOptions options = unpinned(2);
    options.epoch.interval_ms = 1;
    options.epoch.advance_bytes = 1000;
    return options;
  }
  void retire_one(std::size_t worker, std::size_t bytes = 1) {
    machine[worker].retire(&objects.emplace_back(0), kind, bytes);
  }
  [[nodiscard]] int freed() const {
    int sum = 0;
    for (const int times : objects) {
      EXPECT_LE(times, 1) << "nothing is freed twice";
      sum += times;
    }
    return sum;
  }
  void epochs_pass() {
    for (int i = 0; i < 4; ++i) {
      machine.clock.advance_us(1000);
      machine[0].step();
      machine[1].step();
    }
  }
  /// Fills worker 0's window, and its list of waiting tasks, with tasks that go on until `stop`. Each retires
  /// `bytes` in every `every`th step.
  void load(std::size_t bytes, int every = 1) {
    for (std::uint32_t i = 0; i < 2 * machine[0].prefetch().window; ++i) {
      machine[0].spawn(lambda_task(machine[0], [this, bytes, every](MxTask&, Worker& worker) {
        if (bytes > 0 && ++turn % every == 0) {
          worker.retire(&one, ignored, bytes);
        }
        return stop ? step::done : step::again;
      }));
    }
  }

  std::deque<int> objects;  ///< how often each was freed; outlives the machine
  Machine machine{quick()};
  ReclaimKind kind =
      machine.runtime.add_reclaim_kind([](Worker&, void* object) { ++*static_cast<int*>(object); });
  ReclaimKind ignored = machine.runtime.add_reclaim_kind([](Worker&, void*) {});
  bool stop = false;
  int turn = 0;
  int one = 0;
};

TEST_F(Reclaim, FreesARetiredObjectWhenItsEpochsHavePassed) {
  machine[0].step();
  retire_one(0);
  machine[0].step();
  EXPECT_EQ(freed(), 0) << "not in its own epoch";
  EXPECT_EQ(machine[0].retired_objects(), 1U);
  epochs_pass();
  EXPECT_EQ(freed(), 1);
  EXPECT_EQ(machine[0].retired_objects(), 0U);
  EXPECT_EQ(machine[0].counters().reclaimed.load(), 1U);
}

TEST(ReclaimModes, WithAnEpochATaskAWorkerIsInNoneBetweenTasksButEachTaskIs) {
  RuntimeOptions options = Reclaim::quick();
  options.epoch.mode = epoch_mode::task;
  Machine machine{options};
  EpochManager& epochs = machine.runtime.epochs();
  int freed = 0;
  const ReclaimKind kind =
      machine.runtime.add_reclaim_kind([](Worker&, void* times) { ++*static_cast<int*>(times); });
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  // The epoch moves on between two tasks of one batch: the second is in the newer one.
  machine[0].spawn(lambda_task(machine[0], [&](MxTask&, Worker& worker) {
    first = epochs.published(worker.id());
    worker.retire(&freed, kind, 1);
    epochs.try_advance();
    return step::done;
  }));
  machine[0].spawn(lambda_task(machine[0], [&](MxTask&, Worker& worker) {
    second = epochs.published(worker.id());
    return step::done;
  }));
  machine[0].step();
  EXPECT_EQ(second, first + 1);
  EXPECT_NE(epochs.published(machine[0].id()), EpochManager::kInfinity) << "pollers run in an epoch, too";
  for (int i = 0; i < 4; ++i) {
    machine.clock.advance_us(1000);
    machine.run_until_idle();
  }
  EXPECT_EQ(freed, 1);
}

TEST(ReclaimModes, OffReclaimsOnlyAtTheEnd) {
  int freed = 0;
  {
    RuntimeOptions options = Reclaim::quick();
    options.epoch.mode = epoch_mode::off;
    Machine machine{options};
    const ReclaimKind kind =
        machine.runtime.add_reclaim_kind([](Worker&, void* times) { ++*static_cast<int*>(times); });
    machine[0].step();
    machine[0].retire(&freed, kind, 1'000'000);
    const std::uint64_t epoch = machine.runtime.epochs().current();
    for (int i = 0; i < 10; ++i) {
      machine.clock.advance_us(1000);
      machine.run_until_idle();
    }
    machine[0].reclaim_now();
    EXPECT_EQ(machine.runtime.epochs().current(), epoch);
    EXPECT_EQ(freed, 0);
  }
  EXPECT_EQ(freed, 1);
}

TEST_F(Reclaim, DoesNotAdvanceTheEpochBeforeItsInterval) {
  machine.clock.advance_us(1000);
  machine[0].step();
  retire_one(0);
  machine[0].step();
  const std::uint64_t epoch = machine.runtime.epochs().current();
  for (int i = 0; i < 100; ++i) {
    machine[0].step();
  }
  EXPECT_EQ(machine.runtime.epochs().current(), epoch);
  machine.clock.advance_us(1000);
  machine[0].step();
  EXPECT_EQ(machine.runtime.epochs().current(), epoch + 1);
  epochs_pass();
}

TEST_F(Reclaim, AdvancesTheEpochEarlyWhenManyBytesWait) {
  machine.clock.advance_us(1000);
  machine[0].step();
  retire_one(0);
  machine[0].step();
  const std::uint64_t epoch = machine.runtime.epochs().current();
  retire_one(0, 1000);
  machine[0].step();
  EXPECT_EQ(machine.runtime.epochs().current(), epoch + 1);
  epochs_pass();
}

TEST_F(Reclaim, WaitsForAnotherWorkerThatIsStillInTheEpoch) {
  machine[1].step();  // enters, and is then preempted for a long time
  machine[0].step();
  retire_one(0);
  for (int i = 0; i < 10; ++i) {
    machine.clock.advance_us(1000);
    machine[0].step();
  }
  EXPECT_EQ(freed(), 0);
  epochs_pass();
  EXPECT_EQ(freed(), 1);
}

TEST_F(Reclaim, DoesNotWaitForAParkedWorker) {
  machine[1].step();
  ASSERT_TRUE(machine[1].prepare_to_park());
  machine[0].step();
  retire_one(0);
  for (int i = 0; i < 4; ++i) {
    machine.clock.advance_us(1000);
    machine[0].step();
  }
  EXPECT_EQ(freed(), 1);
  machine[1].unpark();
}

TEST_F(Reclaim, WaitsForAPinnedTaskOnWhicheverWorkerItEnds) {
  MxTask* parked = nullptr;
  machine[0].spawn(lambda_task(machine[0], [&parked](MxTask& self, Worker& worker) {
    if (parked == nullptr) {
      worker.pin(self);
      worker.pin(self);  // once is enough; one unpin must undo both
      parked = &self;
      return step::parked;
    }
    return step::done;
  }));
  machine[0].step();
  retire_one(0);
  epochs_pass();
  epochs_pass();
  EXPECT_EQ(freed(), 0);
  machine[1].spawn(parked);
  machine[1].step();
  epochs_pass();
  EXPECT_EQ(freed(), 1);
}

TEST_F(Reclaim, ATaskThatUnpinsHoldsKeysOnly) {
  MxTask* parked = nullptr;
  machine[0].spawn(lambda_task(machine[0], [&parked](MxTask& self, Worker& worker) {
    if (parked == nullptr) {
      worker.pin(self);
      worker.unpin(self);
      worker.unpin(self);
      parked = &self;
      return step::parked;
    }
    return step::done;
  }));
  machine[0].step();
  retire_one(0);
  epochs_pass();
  EXPECT_EQ(freed(), 1);
  machine[0].spawn(parked);
  machine[0].step();
}

TEST_F(Reclaim, TheOutOfMemoryPathFreesAtOnceWhatNobodyHolds) {
  machine[0].spawn(lambda_task(machine[0], [this](MxTask&, Worker& worker) {
    retire_one(0);
    worker.reclaim_now();
    return step::done;
  }));
  machine[0].step();
  EXPECT_EQ(freed(), 1);
}

TEST_F(Reclaim, TheOutOfMemoryPathFreesALongListInParts) {
  machine[0].step();
  machine[1].step();
  int first = 0;
  machine[0].spawn(lambda_task(machine[0], [this, &first](MxTask&, Worker& worker) {
    for (int i = 0; i < 10'000; ++i) {
      retire_one(0);
    }
    worker.reclaim_now();
    first = freed();
    return step::done;
  }));
  machine[0].step();
  machine[1].step();
  EXPECT_LT(first, 5000) << "replies of other requests wait meanwhile";
  for (int i = 0; i < 4; ++i) {
    machine[0].reclaim_now();
    machine[1].step();
  }
  EXPECT_EQ(freed(), 10'000);
}

TEST_F(Reclaim, TheOutOfMemoryPathRespectsPins) {
  int freed_under_pin = -1;
  machine[0].spawn(lambda_task(machine[0], [this, &freed_under_pin](MxTask& self, Worker& worker) {
    worker.pin(self);
    retire_one(0);
    for (int i = 0; i < 40; ++i) {
      worker.reclaim_now();
    }
    freed_under_pin = freed();
    return step::done;
  }));
  machine[0].step();
  EXPECT_EQ(freed_under_pin, 0);
  epochs_pass();
  EXPECT_EQ(freed(), 1);
}

TEST_F(Reclaim, FreesALongListInRounds) {
  machine[0].step();
  for (int i = 0; i < 10'000; ++i) {
    retire_one(0);
  }
  epochs_pass();
  EXPECT_GT(freed(), 0);
  EXPECT_LT(freed(), 10'000) << "replies of other requests wait meanwhile";
  for (int i = 0; i < 4; ++i) {
    machine[0].step();
  }
  EXPECT_EQ(freed(), 10'000) << "though no epoch passed since";
}

TEST_F(Reclaim, IsATaskOfLowPriorityThatRunsWhereTheWindowHasRoom) {
  machine[0].step();
  load(0);
  retire_one(0);
  for (int i = 0; i < 100; ++i) {
    machine.clock.advance_us(1000);
    machine[0].step();
    machine[1].step();
  }
  EXPECT_EQ(freed(), 0) << "other tasks fill the window";
  EXPECT_EQ(machine[0].counters().reclaims.load(), 0U);
  EXPECT_EQ(machine[0].counters().retired_bytes.load(), 1U);
  stop = true;
  epochs_pass();
  EXPECT_EQ(freed(), 1);
  EXPECT_GE(machine[0].counters().reclaims.load(), 1U);
  EXPECT_EQ(machine[0].counters().urgent_reclaims.load(), 0U);
  EXPECT_EQ(machine[0].counters().retired_bytes.load(), 0U);
}

TEST_F(Reclaim, WhatIsRetiredStaysBoundedUnderLoadThatNeverLeavesRoom) {
  constexpr std::size_t kBytes = 100;
  load(kBytes, 64);  // batches of 4096 tasks retire 6400 bytes: more than six epochs' worth each
  constexpr std::size_t kSteps = 600;
  std::size_t most = 0;
  for (std::size_t i = 0; i < kSteps; ++i) {
    machine[0].step();
    machine[1].step();
    most = std::max(most, machine[0].retired_bytes());
  }
  EXPECT_GE(machine[0].counters().urgent_reclaims.load(), kSteps / 20);
  EXPECT_LT(most, 5 * 6400U) << "a few epochs' worth, of " << kSteps * 6400;
  EXPECT_EQ(machine[0].counters().retired_bytes.load(), machine[0].retired_bytes());
  stop = true;
  epochs_pass();
  EXPECT_EQ(machine[0].retired_objects(), 0U);
}

TEST_F(Reclaim, AnIdleWorkerFreesWhatIsLeftBeforeItParks) {
  machine[0].step();
  machine[1].step();
  retire_one(0);
  // As run() does: rounds until there is nothing to do, then a sleep of one interval.
  for (int sleeps = 0; sleeps < 4; ++sleeps) {
    while (machine[0].step()) {
    }
    ASSERT_TRUE(machine[1].prepare_to_park());
    ASSERT_TRUE(machine[0].prepare_to_park());
    machine.clock.advance_us(1000);
    machine[0].unpark();
    machine[1].unpark();
  }
  EXPECT_EQ(freed(), 1);
}

TEST(ReclaimThreads, AnIdleRuntimeFreesWhatItRetired) {
  RuntimeOptions options = unpinned(2);
  options.epoch.interval_ms = 1;
  const SystemClock clock;
  std::atomic<int> freed{0};
  Runtime runtime{options, clock};
  const ReclaimKind kind =
      runtime.add_reclaim_kind([](Worker&, void* times) { ++*static_cast<std::atomic<int>*>(times); });
  const auto retire = [&freed, kind](MxTask&, Worker& worker) {
    worker.retire(&freed, kind, 1);
    return step::done;
  };
  runtime.submit(runtime.create_outside<testing::LambdaTask<decltype(retire)>>(retire), WorkerId{1});
  ASSERT_TRUE(runtime.start());
  const std::uint64_t deadline_ns = clock.monotonic_ns() + 60'000'000'000;
  while (freed == 0 && clock.monotonic_ns() < deadline_ns) {
    std::this_thread::yield();
  }
  EXPECT_EQ(freed, 1);
  runtime.stop();
}

TEST_F(Reclaim, ATaskThatNeverRanIsDroppedAtTheEndAndItsWorkDone) {
  machine[0].step();
  machine[1].step();
  for (int i = 0; i < 10; ++i) {
    retire_one(0, 10'000);
    machine.clock.advance_us(1000);
    machine[0].step();  // ends by spawning a task for it
  }
  EXPECT_LT(freed(), 10);
  machine.runtime.drain_stopped();
  EXPECT_EQ(freed(), 10);
  retire_one(0);
  epochs_pass();
  EXPECT_EQ(freed(), 11) << "the next one is spawned";
}

TEST(RuntimeEnd, FreesAllThatIsStillRetiredAndWhatThatRetires) {
  struct Family {
    int freed = 0;
    Family* child = nullptr;
    ReclaimKind kind{};
  };
  Family child;
  Family parent{.child = &child};
  {
    Machine machine{1};
    parent.kind = machine.runtime.add_reclaim_kind([](Worker& worker, void* object) {
      auto& family = *static_cast<Family*>(object);
      ++family.freed;
      if (family.child != nullptr) {
        worker.retire(family.child, family.kind, 1);
      }
    });
    machine[0].retire(&parent, parent.kind, 1);
    EXPECT_EQ(parent.freed, 0);
  }
  EXPECT_EQ(parent.freed, 1);
  EXPECT_EQ(child.freed, 1);
}

}  // namespace
}  // namespace mxkv::runtime

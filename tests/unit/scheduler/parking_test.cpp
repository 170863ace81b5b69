// When a worker may block, and which worker wakes it. The orders of the single steps are in tests/schedule.
#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

using testing::lambda_task;
using testing::Machine;
using testing::Words;

class CountingPoller final : public Poller {
 public:
  bool poll(Worker&) override { return std::exchange(polls_find, false); }
  bool end_turn(Worker&) override {
    ++turns;
    return false;
  }
  void block(Worker&, std::uint64_t) override {}
  void wake() noexcept override { ++wakes; }
  bool polls_find = false;
  int turns = 0;
  int wakes = 0;
};

struct Parking : ::testing::Test {
  Parking() {
    machine[0].set_poller(pollers[0]);
    machine[1].set_poller(pollers[1]);
  }
  MxTask* nothing(std::size_t worker) {
    return lambda_task(machine[worker], [](MxTask&, Worker&) { return step::done; });
  }
  MxTask* for_the_second_worker() {
    MxTask* task = nothing(0);
    task->annotate(WorkerId{1});
    return task;
  }
  CountingPoller pollers[2];  // before the machine: its end wakes the workers
  Machine machine{2};
};

TEST_F(Parking, AnIdleWorkerParksOutsideOfAllEpochs) {
  machine[0].step();
  EXPECT_NE(machine.runtime.epochs().published(WorkerId{0}), EpochManager::kInfinity);
  EXPECT_TRUE(machine[0].prepare_to_park());
  EXPECT_TRUE(machine[0].parked());
  EXPECT_EQ(machine.runtime.epochs().published(WorkerId{0}), EpochManager::kInfinity);
  machine[0].unpark();
  EXPECT_FALSE(machine[0].parked());
}

TEST_F(Parking, AWorkerWithTasksOfItsOwnDoesNotPark) {
  machine[0].spawn(nothing(0));
  EXPECT_FALSE(machine[0].prepare_to_park());
  machine[0].step();
  MxTask* low = nothing(0);
  low->annotate(priority::low);
  machine[0].spawn(low);
  EXPECT_FALSE(machine[0].prepare_to_park());
  EXPECT_FALSE(machine[0].parked());
  machine[0].step();
  EXPECT_TRUE(machine[0].prepare_to_park());
  machine[0].unpark();
}

TEST_F(Parking, AWorkerWithAReadyPoolDoesNotPark) {
  machine[0].spawn(for_the_second_worker());
  EXPECT_FALSE(machine[1].prepare_to_park());
  EXPECT_FALSE(machine[1].parked()) << "and does not pretend to";
  machine[1].step();
  EXPECT_TRUE(machine[1].prepare_to_park());
  machine[1].unpark();
}

TEST_F(Parking, NobodyParksWhenTheRuntimeStops) {
  machine.runtime.stop();
  EXPECT_FALSE(machine[0].prepare_to_park());
}

TEST_F(Parking, ASpawnWakesAParkedWorkerOnce) {
  ASSERT_TRUE(machine[1].prepare_to_park());
  machine[0].spawn(for_the_second_worker());
  EXPECT_EQ(pollers[1].wakes, 1);
  machine[0].spawn(for_the_second_worker());
  EXPECT_EQ(pollers[1].wakes, 1) << "it was told";
  EXPECT_EQ(machine[0].counters().wakes.load(), 1U);
  machine[1].unpark();
  machine.run_until_idle();
}

TEST_F(Parking, ASpawnLeavesARunningWorkerAlone) {
  machine[0].spawn(for_the_second_worker());
  EXPECT_EQ(pollers[1].wakes, 0);
  machine.run_until_idle();
}

TEST_F(Parking, ABoundTaskWakesTheOwnerOfItsObjectsPool) {
  Words<> words{machine.runtime.pool_for_object(WorkerId{1}, 2), primitive::serialized_by_scheduling};
  ASSERT_TRUE(machine[1].prepare_to_park());
  MxTask* bound = nothing(0);
  bound->annotate(words.tagged(), 64);
  machine[0].spawn(bound);
  EXPECT_EQ(pollers[1].wakes, 1);
  EXPECT_EQ(pollers[0].wakes, 0);
  machine[1].unpark();
  machine.run_until_idle();
}

TEST_F(Parking, ASubmittedTaskWakesItsWorker) {
  ASSERT_TRUE(machine[1].prepare_to_park());
  machine.runtime.submit(nothing(0), WorkerId{1});
  EXPECT_EQ(pollers[1].wakes, 1);
  machine[1].unpark();
  machine.run_until_idle();
}

TEST_F(Parking, StoppingWakesEverybody) {
  machine.runtime.stop();
  EXPECT_EQ(pollers[0].wakes, 1);
  EXPECT_EQ(pollers[1].wakes, 1);
}

TEST_F(Parking, EachRoundPollsAndEndsATurnAndIsBusyIfThePollerWas) {
  EXPECT_FALSE(machine[0].step());
  pollers[0].polls_find = true;
  EXPECT_TRUE(machine[0].step());
  EXPECT_EQ(pollers[0].turns, 2);
}

// A parked worker must not hold back memory: blocks of other workers that it freed, and its credit, go home
// before.
TEST_F(Parking, BlocksOfOtherWorkersGoHomeBeforeParking) {
  void* block = machine[1].items().allocate(100);
  machine[0].items().release(block);
  EXPECT_EQ(machine[1].items().bin_bytes(), 0U) << "one block waits for a batch";
  ASSERT_TRUE(machine[0].prepare_to_park());
  EXPECT_GT(machine[1].items().bin_bytes(), 0U);
  machine[0].unpark();
}

TEST_F(Parking, AFullBinWakesItsOwnerWhetherItIsParkedYetOrNot) {
  std::vector<void*> blocks;
  for (int i = 0; i < 400; ++i) {
    blocks.push_back(machine[1].items().allocate(1024));
  }
  for (void* block : blocks) {
    machine[0].items().release(block);
  }
  EXPECT_EQ(pollers[1].wakes, 1) << "it may be on its way into parking: the wake-up is kept for its block()";
  machine[1].step();
  EXPECT_EQ(machine[1].items().bin_bytes(), 0U) << "a round collects";
}

TEST(EventPoller, AWakeUpBeforeTheBlockEndsIt) {
  Machine machine{1};
  EventPoller poller;
  poller.wake();
  poller.wake();
  poller.block(machine[0], Poller::kForever);  // returns
  EXPECT_FALSE(poller.poll(machine[0]));
  EXPECT_FALSE(poller.end_turn(machine[0]));
}

TEST(EventPoller, ABlockEndsByItsTimeout) {
  Machine machine{1};
  EventPoller poller;
  poller.block(machine[0], 1);  // returns, though no thread wakes it
  SUCCEED();
}

TEST(EventPoller, AWakeUpFromAnotherThreadEndsABlock) {
  Machine machine{1};
  EventPoller poller;
  const std::jthread waker([&poller] { poller.wake(); });
  poller.block(machine[0], Poller::kForever);
  SUCCEED();
}

}  // namespace
}  // namespace mxkv::runtime

// The rebalancer at work, on workers driven by hand: pools and objects arrive, and no task that was spawned
// into them meanwhile is lost.
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "runtime/scheduler/rebalancing/moves.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

using testing::Bell;
using testing::lambda_task;
using testing::Machine;
using testing::Words;

RuntimeOptions two_workers(rebalance_strategy strategy = rebalance_strategy::off) {
  RuntimeOptions options = testing::unpinned(2);
  options.rebalance = {.strategy = strategy, .period_ms = 10};
  options.prefetch.window = 4;
  return options;
}

struct RebalancedWorld : testing::PooledObjects {
  using PooledObjects::PooledObjects;
  /// A period of `tasks` tasks on each of these objects.
  void period(const std::vector<std::size_t>& busy, int tasks) {
    for (const std::size_t object : busy) {
      for (int i = 0; i < tasks; ++i) {
        spawn(object, machine[1]);
      }
    }
    machine.run_until_idle();
    machine.clock.advance_us(10'000);
  }
  [[nodiscard]] std::size_t pools_of(std::size_t worker) {
    std::size_t owned = 0;
    for (std::size_t i = 0; i < machine.runtime.pool_count(); ++i) {
      owned += machine.runtime.pool(PoolId{static_cast<std::uint16_t>(i)}).owner() == machine[worker].id()
                   ? 1U
                   : 0U;
    }
    return owned;
  }
  [[nodiscard]] std::uint64_t pools_moved(std::size_t worker) {
    return machine[worker].counters().pools_moved.load();
  }
  [[nodiscard]] std::uint64_t objects_moved() {
    return machine[0].counters().objects_moved.load() + machine[1].counters().objects_moved.load();
  }
};

TEST(RebalancerTest, APoolThatWasHandedOverIsRunByItsNewOwner) {
  RebalancedWorld world{two_workers()};
  send_pool(world.machine[1], world.pool(0), WorkerId{0}, WorkerId{1});
  world.machine.run_until_idle();
  EXPECT_EQ(world.pool(0).owner(), WorkerId{1});
  EXPECT_EQ(world.pools_moved(1), 1U);
  world.spawn(0, world.machine[0]);
  world.machine.run_until_idle();
  EXPECT_EQ(world.ran_on, (std::vector{WorkerId{1}})) << "though nobody steals";
}

TEST(RebalancerTest, TasksThatWaitInAPoolTravelWithIt) {
  RebalancedWorld world{two_workers()};
  for (int i = 0; i < 100; ++i) {
    world.spawn(0, world.machine[1]);
  }
  send_pool(world.machine[1], world.pool(0), WorkerId{0}, WorkerId{1});
  world.machine[0].step();
  const std::size_t before = world.ran_on.size();
  EXPECT_LT(before, 100U);
  world.machine.run_until_idle();
  EXPECT_EQ(world.ran_on.size(), 100U);
  EXPECT_EQ(world.ran_on.back(), WorkerId{1});
}

TEST(RebalancerTest, ATaskSpawnedOnTheWayIsFoundByTheTaker) {
  RebalancedWorld world{two_workers()};
  send_pool(world.machine[0], world.pool(0), WorkerId{0}, WorkerId{1});
  world.machine[0].step();  // gone from here, not yet there
  world.spawn(0, world.machine[0]);
  world.machine[0].step();
  EXPECT_TRUE(world.machine[0].prepare_to_park());
  EXPECT_TRUE(world.ran_on.empty());
  EXPECT_FALSE(world.machine[1].prepare_to_park()) << "its pinned pool has the pool that comes";
  world.machine[1].step();
  EXPECT_EQ(world.ran_on, (std::vector{WorkerId{1}}));
}

TEST(RebalancerTest, TheNewOwnerIsWokenForItsPool) {
  RebalancedWorld world{two_workers()};
  send_pool(world.machine[0], world.pool(0), WorkerId{0}, WorkerId{1});
  world.machine.run_until_idle();
  ASSERT_TRUE(world.machine[1].prepare_to_park());
  const int before = world.bells[1].rung;
  world.spawn(0, world.machine[0]);
  EXPECT_EQ(world.bells[1].rung, before + 1);
  world.machine[1].unpark();
  world.machine.run_until_idle();
}

TEST(RebalancerTest, PoolsGoBackAndForthAndTheirSlotsAreUsedAgain) {
  RebalancedWorld world{two_workers()};
  for (int round = 0; round < 200; ++round) {
    for (std::size_t i = 0; i < 4; ++i) {
      const WorkerId from{static_cast<std::uint16_t>(round % 2)};
      send_pool(world.machine[0], world.pool(i), from, WorkerId{static_cast<std::uint16_t>(1 - round % 2)});
      world.spawn(i, world.machine[0]);
    }
    world.machine.run_until_idle();
  }
  EXPECT_EQ(world.ran_on.size(), 800U);
  EXPECT_EQ(world.pools_of(0), 5U);
  EXPECT_EQ(world.pools_moved(0) + world.pools_moved(1), 800U);
}

TEST(RebalancerTest, AWorkerWithoutRoomGetsNoMore) {
  RuntimeOptions options = two_workers();
  options.workers[0].pools = 10;
  options.workers[1].pools = OwnedPools::kMostSlots - 3;
  RebalancedWorld world{options};
  for (std::size_t i = 0; i < 4; ++i) {
    send_pool(world.machine[0], world.pool(i), WorkerId{0}, WorkerId{1});
    world.spawn(i, world.machine[0]);
  }
  world.machine.run_until_idle();
  EXPECT_EQ(world.pools_moved(1), 2U);
  EXPECT_EQ(world.ran_on.size(), 4U);
}

TEST(RebalancerTest, ThePinnedPoolAndPoolsOfOthersAreNotGivenAway) {
  RebalancedWorld world{two_workers()};
  TaskPool& pinned = world.machine.runtime.pool(world.machine[0].pinned_pool());
  send_pool(world.machine[0], pinned, WorkerId{0}, WorkerId{1});
  send_pool(world.machine[0], world.pool(0), WorkerId{1}, WorkerId{0});  // it is not with worker 1
  world.machine.run_until_idle();
  EXPECT_EQ(pinned.owner(), WorkerId{0});
  EXPECT_EQ(world.pool(0).owner(), WorkerId{0});
  EXPECT_EQ(world.pools_moved(0) + world.pools_moved(1), 0U);
}

TEST(RebalancerTest, TasksOfAPoolOnItsWayAreDroppedAtTheEnd) {
  RebalancedWorld world{two_workers()};
  send_pool(world.machine[0], world.pool(0), WorkerId{0}, WorkerId{1});
  world.machine[0].step();
  world.spawn(0, world.machine[0]);
  world.machine.runtime.drain_stopped();
  EXPECT_TRUE(world.ran_on.empty());
  EXPECT_EQ(world.pool(0).next_task(), nullptr);
}

TEST(RebalancerTest, LoadOnOneWorkerIsSharedAfterSomePeriodsAndThenStays) {
  RebalancedWorld world{two_workers(rebalance_strategy::pools)};
  for (int period = 0; period < 30; ++period) {
    world.period({0, 1, 2, 3}, 400);
  }
  EXPECT_EQ(world.pools_of(0), 3U) << "the pinned one and two";
  EXPECT_EQ(world.pools_of(1), 7U);
  const std::uint64_t moved = world.pools_moved(1);
  for (int period = 0; period < 50; ++period) {
    world.period({0, 1, 2, 3}, 400);
  }
  EXPECT_EQ(world.pools_moved(1), moved);
  EXPECT_EQ(world.pools_moved(0), 0U);
  EXPECT_EQ(world.objects_moved(), 0U);
}

TEST(RebalancerTest, NothingMovesWhereItIsOffOrIdle) {
  RebalancedWorld off{two_workers()};
  RebalancedWorld idle{two_workers(rebalance_strategy::objects)};
  for (int period = 0; period < 20; ++period) {
    off.period({0, 1, 2, 3}, 400);
    idle.period({0, 1, 2, 3}, 5);
  }
  EXPECT_EQ(off.pools_of(0), 5U);
  EXPECT_EQ(idle.pools_of(0), 5U);
}

TEST(RebalancerTest, TheOthersLeaveTheSharedPoolOfAHotObject) {
  RuntimeOptions options = two_workers(rebalance_strategy::objects);
  RebalancedWorld world{options};
  // All objects in one pool, of which two are hot.
  const PoolId crowded = world.objects[0].pool();
  for (Words<>& object : world.objects) {
    object.move_to(crowded);
  }
  for (int period = 0; period < 60; ++period) {
    world.period({0, 0, 0, 1, 1, 2, 3}, 200);
  }
  EXPECT_GT(world.objects_moved(), 0U);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_NE(world.objects[i].pool(), world.objects[0].pool()) << "object " << i;
  }
  EXPECT_EQ(world.ran_on.size(), 60U * 7 * 200);
}

TEST(RebalancerTest, ThievesLeaveTheOnlyHotPoolToItsOwner) {
  RuntimeOptions options = two_workers(rebalance_strategy::objects);
  options.stealing = stealing_scope::machine;
  RebalancedWorld world{options};
  const auto stolen = [&world] { return world.machine[1].counters().pools_stolen.load(); };
  const auto period = [&world] {
    for (int i = 0; i < 400; ++i) {
      world.spawn(0, world.machine[1]);
      world.machine[1].step();  // the thief looks first
      world.machine[0].step();
    }
    world.machine.clock.advance_us(10'000);
  };
  for (int i = 0; i < 30; ++i) {
    period();
  }
  EXPECT_GT(stolen(), 0U) << "while nothing is known of it";
  EXPECT_TRUE(world.pool(0).kept());
  const std::uint64_t before = stolen();
  for (int i = 0; i < 20; ++i) {
    period();
  }
  EXPECT_EQ(stolen(), before);
  world.machine.run_until_idle();
  EXPECT_EQ(world.ran_on.size(), 50U * 400);
  for (int i = 0; i < 40; ++i) {
    world.machine.clock.advance_us(10'000);
    world.machine[0].step();
  }
  EXPECT_FALSE(world.pool(0).kept()) << "it has no work any more";
}

TEST(RebalancerTest, AThiefMayParkThoughAKeptPoolIsReady) {
  RuntimeOptions options = two_workers();
  options.stealing = stealing_scope::machine;
  RebalancedWorld world{options};
  world.machine.run_until_idle();
  world.pool(0).keep(true);
  world.spawn(0, world.machine[0]);
  EXPECT_TRUE(world.machine[1].prepare_to_park());
  world.machine[1].unpark();
  world.pool(0).keep(false);
  EXPECT_FALSE(world.machine[1].prepare_to_park());
  world.machine.run_until_idle();
}

TEST(RebalancerTest, AnObjectMovesUnderTheLeaseOfItsPoolAndTasksFollow) {
  RebalancedWorld world{two_workers()};
  const PoolId there = world.machine.runtime.pool_for_object(WorkerId{1}, 0);
  Words<> object{world.machine.runtime.pool_for_object(WorkerId{0}, 0), primitive::optimistic_scheduling};
  std::vector<WorkerId> wrote;
  const auto spawn = [&](bool moves) {
    MxTask* task = lambda_task(world.machine[0], [&wrote, there, moves](MxTask& self, Worker& on) {
      DataObject& data = *self.object().object();
      wrote.push_back(on.id());
      EXPECT_TRUE(on.leases(data.pool()));
      if (moves) {
        EXPECT_FALSE(move_object(on, data, data.pool(), there)) << "this task holds its latch";
      }
      return step::done;
    });
    task->annotate(object.tagged(), 64);
    task->annotate(access::write);
    world.machine[0].spawn(task);
  };
  spawn(true);
  world.machine.run_until_idle();
  const PoolId here = object.pool();
  MxTask* mover = lambda_task(world.machine[0], [&object, here, there](MxTask&, Worker& on) {
    EXPECT_TRUE(move_object(on, object, here, there));
    EXPECT_FALSE(move_object(on, object, here, there)) << "it is not here any more";
    return step::done;
  });
  spawn(false);  // before the move
  mover->annotate(here);
  world.machine[0].spawn(mover);
  spawn(false);  // tagged with the old pool, executed after the move
  world.machine.run_until_idle();
  EXPECT_EQ(object.pool(), there);
  EXPECT_EQ(wrote, (std::vector{WorkerId{0}, WorkerId{0}, WorkerId{1}}));
  EXPECT_EQ(world.machine[0].counters().forwarded.load(), 1U);
}

TEST(RebalancerTest, TasksThatAreSampledEnterTheBufferOnlyWhereThereIsRoom) {
  RuntimeOptions options = two_workers(rebalance_strategy::objects);
  options.batch_tasks = 1;  // less than there are pools, each of which has a task sampled at each look
  RebalancedWorld world{options};
  constexpr std::size_t kTasks = 400;
  for (std::size_t i = 0; i < kTasks; ++i) {
    for (std::size_t object = 0; object < world.objects.size(); ++object) {
      world.spawn(object, world.machine[1]);
    }
  }
  world.machine.run_until_idle();
  EXPECT_EQ(world.ran_on.size(), kTasks * world.objects.size());
}

}  // namespace
}  // namespace mxkv::runtime

// Which worker runs a task: its target, its object's pool, or where it was spawned.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

using testing::lambda_task;
using testing::Machine;
using testing::Words;

/// A task that leaves the id of the worker that ran it in `ran_on`.
MxTask* locating(Worker& worker, std::optional<WorkerId>& ran_on) {
  return lambda_task(worker, [&ran_on](MxTask&, Worker& on) {
    ran_on = on.id();
    return step::done;
  });
}

struct Placement : ::testing::Test {
  MxTask* task(std::size_t spawner, Words<>& words, access how) {
    MxTask* located = locating(machine[spawner], ran_on);
    located->annotate(words.tagged(), sizeof words);
    located->annotate(how);
    return located;
  }
  [[nodiscard]] PoolId pool_of(std::size_t worker, std::uint64_t spread = 0) {
    return machine.runtime.pool_for_object(WorkerId{static_cast<std::uint16_t>(worker)}, spread);
  }
  Machine machine{3};
  std::optional<WorkerId> ran_on;
};

constexpr WorkerId kHere{0};
constexpr WorkerId kThere{2};

TEST_F(Placement, AFreeTaskRunsWhereItWasSpawned) {
  machine[2].spawn(locating(machine[2], ran_on));
  machine.run_until_idle();
  EXPECT_EQ(ran_on, kThere);
}

TEST_F(Placement, ATargetedTaskRunsOnItsTarget) {
  MxTask* located = locating(machine[0], ran_on);
  located->annotate(kThere);
  machine[0].spawn(located);
  EXPECT_FALSE(machine[0].step()) << "not here";
  machine.run_until_idle();
  EXPECT_EQ(ran_on, kThere);
}

TEST_F(Placement, ATaskTargetedAtItsOwnSpawnerStaysThere) {
  MxTask* located = locating(machine[0], ran_on);
  located->annotate(kHere);
  machine[0].spawn(located);
  machine[0].step();
  EXPECT_EQ(ran_on, kHere);
}

TEST_F(Placement, WritersOfAScheduledObjectRunInItsPoolAndReadersAnywhere) {
  Words<> words{pool_of(2), primitive::optimistic_scheduling};
  machine[0].spawn(task(0, words, access::write));
  machine.run_until_idle();
  EXPECT_EQ(ran_on, kThere);
  machine[0].spawn(task(0, words, access::readonly));
  machine.run_until_idle();
  EXPECT_EQ(ran_on, kHere);
}

TEST_F(Placement, AllAccessToASerializedObjectRunsInItsPool) {
  Words<> words{pool_of(2), primitive::serialized_by_scheduling};
  for (const access how : {access::readonly, access::write}) {
    ran_on.reset();
    machine[0].spawn(task(0, words, how));
    machine.run_until_idle();
    EXPECT_EQ(ran_on, kThere);
  }
}

TEST_F(Placement, WritersOfALatchedObjectStayWhereTheyAre) {
  Words<> words{pool_of(2), primitive::optimistic_latch};
  machine[0].spawn(task(0, words, access::write));
  machine.run_until_idle();
  EXPECT_EQ(ran_on, kHere);
}

TEST_F(Placement, ABoundTaskFollowsItsObjectToAnotherPool) {
  Words<> words{pool_of(1), primitive::serialized_by_scheduling};
  machine[0].spawn(task(0, words, access::write));
  words.meta().store((words.meta().load() & ~std::uint64_t{0xFFFF}) | pool_of(2).value());
  machine.run_until_idle();
  EXPECT_EQ(ran_on, kThere) << "the hint was old, the header decides";
  EXPECT_EQ(machine[1].counters().forwarded.load(), 1U);
  EXPECT_EQ(machine[2].counters().forwarded.load(), 0U);
}

TEST_F(Placement, ATaskThatBecomesAWriterMovesToThePoolOfItsObject) {
  Words<> words{pool_of(2), primitive::optimistic_scheduling};
  std::vector<WorkerId> path;
  machine[0].spawn(lambda_task(machine[0], [&path, &words](MxTask& self, Worker& on) {
    path.push_back(on.id());
    if (path.size() == 1) {
      self.annotate(words.tagged(), sizeof words);
      self.annotate(access::write);
      return step::again;
    }
    return step::done;
  }));
  machine.run_until_idle();
  EXPECT_EQ(path, (std::vector{kHere, kThere}));
}

TEST_F(Placement, AWorkerLeasesItsPoolsWhileItExecutesFromThem) {
  Words<> words{pool_of(0), primitive::serialized_by_scheduling};
  bool leased_inside = false;
  bool other_leased = true;
  MxTask* bound = lambda_task(machine[0], [&](MxTask& self, Worker& on) {
    leased_inside = on.leases(self.object().pool_hint());
    other_leased = on.leases(pool_of(0, 1)) || on.leases(pool_of(1));
    return step::done;
  });
  bound->annotate(words.tagged(), sizeof words);
  machine[1].spawn(bound);
  machine.run_until_idle();
  EXPECT_TRUE(leased_inside);
  EXPECT_FALSE(other_leased);
  EXPECT_FALSE(machine[0].leases(words.pool())) << "given back when the last of them ran";
  EXPECT_EQ(machine.runtime.pool(words.pool()).state(), pool_state::empty);
}

TEST_F(Placement, BoundTasksOfOneSpawnerRunInTheirOrder) {
  Words<> words{pool_of(1), primitive::serialized_by_scheduling};
  std::vector<int> order;
  for (int i = 0; i < 200; ++i) {
    MxTask* bound = lambda_task(machine[0], [&order, i](MxTask&, Worker&) {
      order.push_back(i);
      return step::done;
    });
    bound->annotate(words.tagged(), 64);
    machine[0].spawn(bound);
  }
  machine.run_until_idle();
  ASSERT_EQ(order.size(), 200U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(Placement, ASubmittedTaskRunsOnTheNamedWorkerOrItsTargetOrItsPool) {
  const auto submit = [this](MxTask* submitted) {
    machine.runtime.submit(submitted, WorkerId{1});
    machine.run_until_idle();
    return ran_on;
  };
  EXPECT_EQ(submit(locating(machine[0], ran_on)), WorkerId{1});
  MxTask* targeted = locating(machine[0], ran_on);
  targeted->annotate(kThere);
  EXPECT_EQ(submit(targeted), kThere);
  Words<> words{pool_of(2, 3), primitive::serialized_by_scheduling};
  EXPECT_EQ(submit(task(0, words, access::write)), kThere);
}

TEST_F(Placement, ObjectsAreSpreadOverAWorkersPoolsButNotItsPinnedOne) {
  for (std::size_t worker = 0; worker < 3; ++worker) {
    std::vector<PoolId> pools;
    for (std::uint64_t spread = 0; spread < 8; ++spread) {
      const PoolId pool = pool_of(worker, spread);
      EXPECT_EQ(machine.runtime.pool(pool).owner().index(), worker);
      EXPECT_NE(pool, machine[worker].pinned_pool());
      pools.push_back(pool);
    }
    EXPECT_EQ(std::vector(pools.begin(), pools.begin() + 4), std::vector(pools.begin() + 4, pools.end()));
    std::sort(pools.begin(), pools.end());
    EXPECT_EQ(std::unique(pools.begin(), pools.end()) - pools.begin(), 4) << "all four, in turn";
  }
}

TEST(WorkersOwnOptions, PoolsAreThoseOfTheWorkerAndOfNobodyElse) {
  RuntimeOptions options = testing::unpinned(3);
  options.pools_per_worker = 4;
  options.workers[1].pools = 7;
  options.workers[2].pools = 1;
  Machine machine{options};
  std::vector<std::vector<PoolId>> pools(3);
  for (std::uint16_t worker = 0; worker < 3; ++worker) {
    for (std::uint64_t spread = 0; spread < 50; ++spread) {
      const PoolId pool = machine.runtime.pool_for_object(WorkerId{worker}, spread);
      if (std::ranges::find(pools[worker], pool) == pools[worker].end()) {
        pools[worker].push_back(pool);
      }
      EXPECT_NE(pool, machine[worker].pinned_pool());
      EXPECT_EQ(machine.runtime.pool(pool).owner(), WorkerId{worker});
    }
  }
  EXPECT_EQ(pools[0].size(), 4U);
  EXPECT_EQ(pools[1].size(), 7U);
  EXPECT_EQ(pools[2].size(), 1U);
}

TEST(WorkersOwnOptions, PrefetchingIsTheRuntimesUnlessAWorkerHasItsOwn) {
  RuntimeOptions options = testing::unpinned(2);
  options.prefetch = {.mode = prefetch_mode::at_spawn, .distance = 5, .window = 10};
  options.workers[1].prefetch =
      PrefetchOptions{.mode = prefetch_mode::distance, .distance = 24, .window = 100};
  Machine machine{options};
  EXPECT_EQ(machine[0].prefetch().mode, prefetch_mode::at_spawn);
  EXPECT_EQ(machine[0].prefetch().window, 10U);
  EXPECT_EQ(machine[1].prefetch().mode, prefetch_mode::distance);
  EXPECT_EQ(machine[1].prefetch().distance, 24U);
  EXPECT_EQ(machine[1].prefetch().window, 100U);
}

}  // namespace
}  // namespace mxkv::runtime

// A worker's leases by themselves: terms of own pools, one stolen pool, and pools that leave.
#include "runtime/scheduler/pool_leases.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/unit/scheduler/parts.hpp"

namespace mxkv::runtime {
namespace {

using testing::NamedTasks;

constexpr std::size_t kPools = 3;  // of each worker, the pinned one first

struct Leases : ::testing::Test {
  Leases() {
    for (std::size_t i = 0; i < pools.size(); ++i) {
      pools[i].assign(PoolId{static_cast<std::uint16_t>(i)},
                      WorkerId{static_cast<std::uint16_t>(i / kPools)});
    }
  }
  ~Leases() override {
    for (TaskPool& pool : pools) {
      while (pool.next_task() != nullptr) {
      }
    }
  }
  void spawn(std::size_t pool, char name) { static_cast<void>(pools[pool].spawn(tasks[name])); }
  /// One look at the first worker's pools: each takes all its tasks into the buffer.
  PoolLeases::LeaseOutcome look(bool may_be_stolen = true, bool has_room = true) {
    filled.clear();
    return mine.lease_each(
        may_be_stolen, [has_room] { return has_room; },
        [this](std::size_t slot, TaskPool& pool) {
          EXPECT_EQ(&pool, mine.owned().at(slot));
          filled.push_back(slot);
          take_all(pool);
        });
  }
  static std::uint32_t take_all(TaskPool& pool) {
    std::uint32_t taken = 0;
    for (; pool.next_task() != nullptr; ++taken) {
      pool.entered_buffer();
    }
    return taken;
  }
  static void ran(TaskPool& pool) {
    while (pool.in_buffer() > 0) {
      pool.left_buffer();
    }
  }
  bool steal() {
    return mine.steal_from(other.owned(), [this](TaskPool& pool) {
      if (take_all(pool) == 0) {
        mine.return_stolen();
        return false;
      }
      return true;
    });
  }

  NamedTasks tasks;
  std::array<TaskPool, 2 * kPools> pools;
  PoolLeases mine{std::span{pools}.first(kPools), pools.size()};
  PoolLeases other{std::span{pools}.last(kPools), pools.size()};
  std::vector<std::size_t> filled;
};

TEST_F(Leases, AReadyPoolIsLeasedAndKeptWhileItsTasksAreInTheBuffer) {
  spawn(1, 'a');
  look(false);
  EXPECT_EQ(filled, (std::vector<std::size_t>{1}));
  EXPECT_EQ(mine.state(PoolId{1}), lease_state::own);
  EXPECT_EQ(pools[1].state(), pool_state::leased);
  EXPECT_EQ(mine.tasks_in_buffer(), 1U);
  EXPECT_TRUE(mine.any_to_run());
  ran(pools[1]);
  look(false);
  EXPECT_FALSE(mine.holds(PoolId{1})) << "nothing was left in it";
  EXPECT_EQ(pools[1].state(), pool_state::empty);
  EXPECT_FALSE(mine.any_to_run());
}

TEST_F(Leases, APoolThatMayBeStolenIsGivenBackAfterItsTerm) {
  spawn(1, 'a');
  look();
  spawn(1, 'b');
  look();
  EXPECT_TRUE(filled.empty()) << "what was taken runs first";
  EXPECT_TRUE(mine.holds(PoolId{1}));
  ran(pools[1]);
  look();
  EXPECT_EQ(filled, (std::vector<std::size_t>{1})) << "a new term";
}

TEST_F(Leases, AFullWindowLeasesOnePoolAndLeavesTheRestToThieves) {
  spawn(1, 'a');
  spawn(2, 'b');
  const PoolLeases::LeaseOutcome seen = look(true, false);
  EXPECT_EQ(filled.size(), 1U);
  EXPECT_TRUE(seen.leased_one);
  EXPECT_TRUE(seen.left_one);
  EXPECT_TRUE(PoolLeases::has_ready(mine.owned()));
}

TEST_F(Leases, ThePinnedPoolIsAlwaysLeasedByItsOwner) {
  spawn(0, 'a');
  spawn(1, 'b');
  spawn(2, 'c');
  EXPECT_EQ((look(true, false), filled.size()), 2U);
  EXPECT_TRUE(mine.holds(PoolId{0}));
}

TEST_F(Leases, EachLookBeginsWithAnotherPool) {
  std::vector<std::size_t> first;
  for (int i = 0; i < 3; ++i) {
    spawn(0, 'a');
    spawn(1, 'b');
    spawn(2, 'c');
    look(false);
    first.push_back(filled.front());
    for (std::size_t pool = 0; pool < kPools; ++pool) {
      ran(pools[pool]);
    }
    look(false);
  }
  EXPECT_NE(first[0], first[1]);
}

TEST_F(Leases, AReadyPoolOfAnotherWorkerIsStolenWholeAndGivenBack) {
  spawn(4, 'a');
  EXPECT_TRUE(PoolLeases::has_ready(other.owned()));
  ASSERT_TRUE(steal());
  EXPECT_EQ(mine.stolen(), &pools[4]);
  EXPECT_EQ(mine.state(PoolId{4}), lease_state::stolen);
  EXPECT_EQ(&mine.tagged(PoolLeases::kStolenTag), &pools[4]);
  EXPECT_EQ(mine.tasks_in_buffer(), 1U);
  EXPECT_FALSE(mine.stolen_ran());
  ran(pools[4]);
  EXPECT_TRUE(mine.stolen_ran());
  const PoolLeases::Returned returned = mine.return_stolen();
  EXPECT_EQ(returned.pool, &pools[4]);
  EXPECT_FALSE(returned.ready);
  EXPECT_FALSE(mine.holds(PoolId{4}));
  EXPECT_EQ(mine.stolen(), nullptr);
}

TEST_F(Leases, WhatCameWhileAPoolWasStolenIsToldOfOnReturn) {
  spawn(4, 'a');
  ASSERT_TRUE(steal());
  spawn(4, 'b');
  ran(pools[4]);
  EXPECT_TRUE(mine.return_stolen().ready);
  EXPECT_EQ(pools[4].state(), pool_state::ready);
}

TEST_F(Leases, PinnedAndLeasedPoolsAreNotStolen) {
  spawn(3, 'a');
  EXPECT_FALSE(steal());
  EXPECT_FALSE(PoolLeases::has_ready(other.owned()));
  spawn(5, 'b');
  ASSERT_TRUE(pools[5].take());
  EXPECT_FALSE(steal());
  EXPECT_EQ(mine.stolen(), nullptr);
  take_all(pools[5]);
  ran(pools[5]);
  pools[5].give();
}

TEST_F(Leases, APoolWithoutTasksIsGivenBackAtOnceAndTheNextOneIsTried) {
  spawn(4, 'a');
  ASSERT_NE(pools[4].next_task(), nullptr);  // ready, and empty
  spawn(5, 'b');
  ASSERT_TRUE(steal());
  EXPECT_EQ(mine.stolen(), &pools[5]);
  EXPECT_FALSE(mine.holds(PoolId{4}));
  ran(pools[5]);
  mine.return_stolen();
}

TEST_F(Leases, APoolLeavesWhenNoneOfItsTasksIsInTheBuffer) {
  const auto room = [] { return true; };
  spawn(1, 'a');
  look();
  EXPECT_EQ(mine.depart(pools[1], room), PoolLeases::departure::waits);
  EXPECT_EQ(mine.leaving(), &pools[1]);
  spawn(1, 'b');
  ran(pools[1]);
  look();
  EXPECT_TRUE(filled.empty()) << "no more of its tasks enter";
  EXPECT_EQ(mine.depart(pools[1], room), PoolLeases::departure::left);
  EXPECT_EQ(mine.leaving(), nullptr);
  EXPECT_FALSE(mine.holds(PoolId{1}));
  EXPECT_EQ(pools[1].state(), pool_state::ready) << "what came meanwhile is for the next owner";
  EXPECT_EQ(mine.depart(pools[1], room), PoolLeases::departure::stays) << "it is not here any more";
}

TEST_F(Leases, APoolWithoutASlotThereAndThePinnedOneStay) {
  EXPECT_EQ(mine.depart(pools[1], [] { return false; }), PoolLeases::departure::stays);
  EXPECT_EQ(mine.owned().find(pools[1]), 1U);
  EXPECT_EQ(mine.depart(pools[0], [] { return true; }), PoolLeases::departure::stays);
  EXPECT_EQ(mine.owned().find(pools[0]), 0U);
}

TEST_F(Leases, AStolenPoolThatCameToThisOwnerStaysUntilItIsGivenBack) {
  spawn(4, 'a');
  ASSERT_TRUE(steal());
  ASSERT_TRUE(mine.owned().reserve());
  ASSERT_EQ(other.depart(pools[4], [] { return true; }), PoolLeases::departure::left);
  mine.owned().add(pools[4]);
  look(false);
  EXPECT_TRUE(filled.empty()) << "its tasks are in the buffer as stolen ones";
  EXPECT_EQ(mine.tasks_in_buffer(), 1U) << "which are counted once";
  EXPECT_EQ(mine.depart(pools[4], [] { return true; }), PoolLeases::departure::waits);
  ran(pools[4]);
  mine.return_stolen();
  EXPECT_EQ(mine.depart(pools[4], [] { return true; }), PoolLeases::departure::left);
}

TEST_F(Leases, ALeaseIsGivenBackOnlyByItsHolder) {
  EXPECT_DEATH(mine.return_stolen(), "given back once");
  spawn(4, 'a');
  spawn(5, 'b');
  ASSERT_TRUE(steal());
  EXPECT_DEATH(static_cast<void>(steal()), "one pool is stolen at a time");
  EXPECT_DEATH(mine.return_stolen(), "covers all tasks");
  ran(pools[4]);
  ran(pools[5]);
  mine.return_stolen();
}

}  // namespace
}  // namespace mxkv::runtime

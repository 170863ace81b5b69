// The pool word, transition by transition, and the order in which a holder is given tasks.
#include "runtime/pool/task_pool.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace mxkv::runtime {
namespace {

struct TaskPoolTest : ::testing::Test {
  TaskPoolTest() {
    for (int i = 0; i < 20; ++i) {
      tasks.emplace_back(nullptr);
    }
    pool.assign(PoolId{7}, WorkerId{2});
  }
  ~TaskPoolTest() override {
    while (pool.next_task() != nullptr) {
    }
  }
  TaskPool pool;
  std::deque<MxTask> tasks;
};

TEST_F(TaskPoolTest, KnowsItsNameAndOwner) {
  EXPECT_EQ(pool.id(), PoolId{7});
  EXPECT_EQ(pool.owner(), WorkerId{2});
  EXPECT_EQ(pool.state(), pool_state::empty);
}

TEST_F(TaskPoolTest, TheFirstSpawnMakesItReadyAndSaysSoOnce) {
  EXPECT_TRUE(pool.spawn(&tasks[0]));
  EXPECT_EQ(pool.state(), pool_state::ready);
  EXPECT_FALSE(pool.spawn(&tasks[1])) << "the owner was told";
  EXPECT_EQ(pool.state(), pool_state::ready);
}

TEST_F(TaskPoolTest, OnlyAReadyPoolIsTakenAndOnlyOnce) {
  EXPECT_FALSE(pool.take());
  ASSERT_TRUE(pool.spawn(&tasks[0]));
  EXPECT_TRUE(pool.take());
  EXPECT_EQ(pool.state(), pool_state::leased);
  EXPECT_FALSE(pool.take());
  EXPECT_FALSE(pool.spawn(&tasks[1])) << "whoever holds the lease will look again";
  EXPECT_EQ(pool.state(), pool_state::leased_dirty);
  EXPECT_FALSE(pool.take());
}

TEST_F(TaskPoolTest, AnEmptiedPoolIsGivenBackEmpty) {
  ASSERT_TRUE(pool.spawn(&tasks[0]));
  ASSERT_TRUE(pool.take());
  EXPECT_EQ(pool.next_task(), &tasks[0]);
  EXPECT_EQ(pool.next_task(), nullptr);
  pool.give();
  EXPECT_EQ(pool.state(), pool_state::empty);
  EXPECT_TRUE(pool.spawn(&tasks[1])) << "the owner must be told again";
}

TEST_F(TaskPoolTest, APoolWithTasksLeftIsGivenBackReady) {
  ASSERT_TRUE(pool.spawn(&tasks[0]));
  static_cast<void>(pool.spawn(&tasks[1]));
  ASSERT_TRUE(pool.take());
  EXPECT_NE(pool.next_task(), nullptr);
  pool.give();
  EXPECT_EQ(pool.state(), pool_state::ready) << "nobody spawned since, but its quantum ended";
  EXPECT_TRUE(pool.take());
  EXPECT_EQ(pool.next_task(), &tasks[1]);
}

TEST_F(TaskPoolTest, ADirtyPoolIsGivenBackReadyEvenIfTheTaskWasFound) {
  ASSERT_TRUE(pool.spawn(&tasks[0]));
  ASSERT_TRUE(pool.take());
  static_cast<void>(pool.spawn(&tasks[1]));
  EXPECT_NE(pool.next_task(), nullptr);
  EXPECT_NE(pool.next_task(), nullptr);
  pool.give();
  EXPECT_EQ(pool.state(), pool_state::ready);
  ASSERT_TRUE(pool.take());
  EXPECT_EQ(pool.next_task(), nullptr) << "costs one look";
  pool.give();
  EXPECT_EQ(pool.state(), pool_state::empty);
}

TEST_F(TaskPoolTest, TheLeaseCoversTasksInTheBufferAndOnTheLocalList) {
  ASSERT_TRUE(pool.spawn(&tasks[0]));
  ASSERT_TRUE(pool.take());
  EXPECT_TRUE(pool.idle());
  pool.entered_buffer();
  EXPECT_FALSE(pool.idle());
  pool.entered_buffer();
  pool.left_buffer();
  EXPECT_FALSE(pool.idle());
  pool.left_buffer();
  EXPECT_TRUE(pool.idle());
  pool.spawn_locally(&tasks[1]);
  EXPECT_FALSE(pool.idle());
  EXPECT_EQ(pool.state(), pool_state::leased) << "the holder tells nobody of its own tasks";
}

TEST_F(TaskPoolTest, TheNextHolderFindsWhatTheLastOneSpawnedLocally) {
  ASSERT_TRUE(pool.spawn(&tasks[0]));
  ASSERT_TRUE(pool.take());
  EXPECT_EQ(pool.next_task(), &tasks[0]);
  pool.spawn_locally(&tasks[1]);
  EXPECT_TRUE(pool.give()) << "tasks are left";
  EXPECT_EQ(pool.state(), pool_state::ready);
  ASSERT_TRUE(pool.take());
  MxTask* next = pool.next_task();
  EXPECT_EQ(next != nullptr ? next : pool.next_task(), &tasks[1]);
  EXPECT_FALSE(pool.give());
  EXPECT_EQ(pool.state(), pool_state::empty);
}

TEST_F(TaskPoolTest, TheHolderGetsItsOwnTasksAndThoseFromOutsideInTurn) {
  for (std::size_t i = 0; i < 8; ++i) {
    static_cast<void>(pool.spawn(&tasks[i]));
  }
  ASSERT_TRUE(pool.take());
  for (std::size_t i = 8; i < 16; ++i) {
    pool.spawn_locally(&tasks[i]);
  }
  std::vector<MxTask*> own;
  std::vector<MxTask*> outside;
  for (std::size_t i = 0; i < 16; ++i) {
    MxTask* task = pool.next_task();
    ASSERT_NE(task, nullptr);
    std::size_t index = 0;
    while (&tasks[index] != task) {
      ++index;
    }
    (index < 8 ? outside : own).push_back(task);
    EXPECT_LE(own.size(), outside.size() + 1);
    EXPECT_LE(outside.size(), own.size() + 1);
  }
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(outside[i], &tasks[i]) << "first in, first out on either side";
    EXPECT_EQ(own[i], &tasks[8 + i]);
  }
}

TEST_F(TaskPoolTest, ATaskThatRespawnsItselfLocallyKeepsNobodyOut) {
  ASSERT_TRUE(pool.spawn(&tasks[0]));
  ASSERT_TRUE(pool.take());
  MxTask* selfish = pool.next_task();
  pool.spawn_locally(selfish);
  static_cast<void>(pool.spawn(&tasks[1]));
  bool other_ran = false;
  for (int i = 0; i < 4; ++i) {
    MxTask* task = pool.next_task();
    if (task == selfish) {
      pool.spawn_locally(task);
    } else {
      other_ran = true;
    }
  }
  EXPECT_TRUE(other_ran);
}

using TaskPoolDeathTest = TaskPoolTest;

TEST_F(TaskPoolDeathTest, ALeaseIsNotGivenBackOverTasksThatWereTaken) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ASSERT_TRUE(pool.spawn(&tasks[0]));
  ASSERT_TRUE(pool.take());
  pool.entered_buffer();
  EXPECT_DEATH(pool.give(), "a lease covers all tasks");
  pool.left_buffer();
}

}  // namespace
}  // namespace mxkv::runtime

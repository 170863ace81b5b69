// Queues of deferred and of immediate tasks: from which end a task is taken, and of which request.
#include "runtime/pool/deferred_queue.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "runtime/pool/immediate_queue.hpp"

namespace mxkv::runtime {
namespace {

using pick = DeferredQueue::pick;

struct Deferred : ::testing::Test {
  /// Tasks named by their order, from 0.
  void push(std::uint64_t request) {
    MxTask& task = tasks.emplace_back(nullptr);
    task.annotate(deferred{RequestId{request}});
    queue.push(&task);
  }
  int take(pick how) {
    const MxTask* task = queue.take(how);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (&tasks[i] == task) {
        return static_cast<int>(i);
      }
    }
    return -1;
  }
  std::string drain(pick how) {
    std::string order;
    for (int task = take(how); task >= 0; task = take(how)) {
      order += std::to_string(task);
    }
    return order;
  }
  std::deque<MxTask> tasks;
  DeferredQueue queue;
};

TEST_F(Deferred, AnEmptyQueueGivesNothing) {
  EXPECT_FALSE(queue.waiting());
  for (const pick how : {pick::youngest_of_oldest, pick::oldest_of_second_oldest, pick::oldest_spawned}) {
    EXPECT_EQ(take(how), -1);
  }
}

TEST_F(Deferred, TheGroupTakesTheYoungestOfTheOldestRequest) {
  for (const unsigned request : {7U, 5U, 7U, 5U, 9U}) {
    push(request);
  }
  EXPECT_TRUE(queue.waiting());
  EXPECT_EQ(drain(pick::youngest_of_oldest), "31204");
  EXPECT_FALSE(queue.waiting());
}

TEST_F(Deferred, OthersTakeTheOldestOfTheSecondOldestRequest) {
  for (const unsigned request : {5U, 7U, 7U, 5U, 9U}) {
    push(request);
  }
  EXPECT_EQ(drain(pick::oldest_of_second_oldest), "12403") << "of the last one left its oldest";
}

TEST_F(Deferred, TheBaselineTakesWhatWasSpawnedFirst) {
  for (const unsigned request : {7U, 5U, 7U, 9U, 5U}) {
    push(request);
  }
  EXPECT_EQ(drain(pick::oldest_spawned), "01234");
}

TEST_F(Deferred, ARequestThatGetsTasksWhileItIsServedKeepsItsTurn) {
  push(1);
  push(2);
  EXPECT_EQ(take(pick::youngest_of_oldest), 0);
  push(1);
  EXPECT_EQ(take(pick::youngest_of_oldest), 2);
  EXPECT_EQ(take(pick::youngest_of_oldest), 1);
}

TEST(Immediate, TheOwnerTakesTheYoungestAndThievesTheOldest) {
  std::deque<MxTask> tasks;
  ImmediateQueue queue;
  EXPECT_EQ(queue.take_youngest(), nullptr);
  EXPECT_EQ(queue.take_oldest(), nullptr);
  for (int i = 0; i < 3; ++i) {
    queue.push(&tasks.emplace_back(nullptr));
  }
  EXPECT_TRUE(queue.waiting());
  EXPECT_EQ(queue.take_youngest(), &tasks[2]);
  EXPECT_EQ(queue.take_oldest(), &tasks[0]);
  EXPECT_EQ(queue.take_oldest(), &tasks[1]);
  EXPECT_FALSE(queue.waiting());
}

}  // namespace
}  // namespace mxkv::runtime

// The queue of a pool with one thread, and with producers that really race. All orders of the steps of a few
// pushes and pops are in tests/schedule.
#include "runtime/pool/mpsc_queue.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <thread>
#include <vector>

namespace mxkv::runtime {
namespace {

struct Numbered : MxTask {
  Numbered(std::size_t by, std::size_t at) : MxTask(nullptr), producer(by), number(at) {}
  std::size_t producer;
  std::size_t number;
};

std::deque<Numbered> numbered(std::size_t producer, std::size_t count) {
  std::deque<Numbered> tasks;
  for (std::size_t i = 0; i < count; ++i) {
    tasks.emplace_back(producer, i);
  }
  return tasks;
}

TEST(MpscQueue, IsFirstInFirstOut) {
  std::deque<Numbered> tasks = numbered(0, 10);
  MpscQueue queue;
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.pop().state, pop_state::empty);
    for (Numbered& task : tasks) {
      queue.push(&task);
    }
    EXPECT_FALSE(queue.empty());
    for (Numbered& task : tasks) {
      const PopResult popped = queue.pop();
      EXPECT_EQ(popped.state, pop_state::task);
      EXPECT_EQ(popped.task, &task);
    }
  }
  EXPECT_TRUE(queue.empty());
}

TEST(MpscQueue, GivesATaskOutThatIsPushedAgainAtOnce) {
  std::deque<Numbered> tasks = numbered(0, 2);
  MpscQueue queue;
  queue.push(&tasks[0]);
  queue.push(&tasks[1]);
  for (std::size_t i = 0; i < 100; ++i) {
    const PopResult popped = queue.pop();
    ASSERT_EQ(popped.task, &tasks[i % 2]);
    queue.push(popped.task);
  }
}

TEST(MpscQueue, LosesNothingAndKeepsEachProducersOrderWithRacingProducers) {
  constexpr std::size_t kProducers = 3;
  constexpr std::size_t kTasks = 20'000;
  std::vector<std::deque<Numbered>> tasks;
  for (std::size_t p = 0; p < kProducers; ++p) {
    tasks.push_back(numbered(p, kTasks));
  }
  MpscQueue queue;
  std::vector<std::jthread> producers;
  for (std::deque<Numbered>& own : tasks) {
    producers.emplace_back([&queue, &own] {
      for (Numbered& task : own) {
        queue.push(&task);
      }
    });
  }
  std::vector<std::size_t> next(kProducers, 0);
  std::size_t out_of_order = 0;
  for (std::size_t taken = 0; taken < kProducers * kTasks;) {
    const PopResult popped = queue.pop();
    if (popped.state != pop_state::task) {
      std::this_thread::yield();
      continue;
    }
    const auto& task = static_cast<const Numbered&>(*popped.task);
    out_of_order += task.number != next[task.producer] ? 1 : 0;
    next[task.producer] = task.number + 1;
    ++taken;
  }
  EXPECT_EQ(out_of_order, 0U);
  EXPECT_EQ(queue.pop().state, pop_state::empty);
}

}  // namespace
}  // namespace mxkv::runtime

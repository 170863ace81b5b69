// The window by itself: when tasks enter the buffer, which tasks wait, and the quanta of pools and free
// tasks.
#include "runtime/scheduler/task_window.hpp"

#include <gtest/gtest.h>

#include "tests/unit/scheduler/parts.hpp"

namespace mxkv::runtime {
namespace {

using testing::NamedTasks;
using testing::nothing_else;

struct TaskWindowTest : ::testing::Test {
  TaskWindowTest() { set_window(2); }
  void set_window(std::uint32_t size) { window.buffer().configure(PrefetchOptions{.window = size}); }
  /// Runs the tasks of the buffer, one after the other, each followed by a refill.
  std::string run() {
    std::string names;
    window.refill(nothing_else);
    while (!window.buffer().empty()) {
      names += tasks.name(window.buffer().pop().task);
      window.refill(nothing_else);
    }
    return names;
  }
  /// A pool with tasks from `first` on, leased.
  void fill_pool(std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) {
      static_cast<void>(pool.spawn(many.at(i)));
    }
    ASSERT_TRUE(pool.take());
  }
  /// Puts `count` free tasks that go on for ever into the buffer.
  void crowd(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      window.keep_place(many.at(i));
    }
  }
  void empty_all() {
    while (!window.buffer().empty()) {
      if (window.buffer().pop().pool != 0) {
        pool.left_buffer();
      }
    }
    while (window.take_waiting() != nullptr || pool.next_task() != nullptr) {
    }
  }
  ~TaskWindowTest() override { empty_all(); }

  NamedTasks tasks;
  NamedTasks many{800};
  TaskPool pool;
  TaskWindow window{0};
};

TEST_F(TaskWindowTest, ReadyTasksEnterInTheirOrderAsTheWindowHasRoom) {
  for (const char name : {'a', 'b', 'c', 'd'}) {
    window.add_ready(tasks[name]);
  }
  window.refill(nothing_else);
  EXPECT_EQ(window.buffer().size(), 2U);
  EXPECT_EQ(run(), "abcd");
  EXPECT_TRUE(window.idle());
}

TEST_F(TaskWindowTest, LowPriorityEntersOnlyWhenNothingElseFillsTheWindow) {
  window.add_low(tasks['l']);
  window.add_ready(tasks['a']);
  window.refill([] { return true; });
  EXPECT_EQ(window.buffer().size(), 1U) << "tasks outside go before it";
  EXPECT_TRUE(window.any_waits());
  EXPECT_FALSE(window.any_ready());
  for (const char name : {'b', 'c'}) {
    window.add_ready(tasks[name]);
  }
  EXPECT_EQ(run(), "abcl");
}

TEST_F(TaskWindowTest, UrgentTasksDoNotWaitForTheWindowUntilTheirPlacesAreUsedUp) {
  crowd(2);
  window.add_ready(tasks['r']);
  window.add_urgent(tasks['u']);
  EXPECT_EQ(window.buffer().size(), 3U) << "beyond the window";
  EXPECT_TRUE(window.any_ready());
  const std::uint32_t places = TaskWindow::kBufferedAtMost - 2 * TaskWindow::kQuantum;
  for (std::uint32_t i = 3; i < places; ++i) {
    window.add_urgent(many.at(i));
  }
  EXPECT_EQ(window.buffer().size(), places);
  window.add_urgent(tasks['v']);
  EXPECT_EQ(window.buffer().size(), places) << "it waits as others do";
}

TEST_F(TaskWindowTest, AnEndedTasksPlaceGoesToTheNextThatWaits) {
  crowd(3);
  PrefetchBuffer& buffer = window.buffer();
  window.add_ready(tasks['a']);
  window.add_ready(tasks['b']);
  EXPECT_EQ(window.pass_place(buffer.begin()), nullptr)
      << "there are more tasks than the window has room for";
  buffer.take_out(buffer.begin());
  EXPECT_EQ(buffer.size(), 2U);
  EXPECT_EQ(window.pass_place(buffer.begin() + 1), tasks['a']);
  EXPECT_EQ(buffer.size(), 2U);
  EXPECT_EQ(buffer.at(buffer.begin()).task, many.at(1)) << "it stays where it is";
  EXPECT_EQ(buffer.at(buffer.begin() + 1).task, tasks['a']);
  EXPECT_EQ(window.pass_place(buffer.begin()), tasks['b']);
  EXPECT_EQ(window.pass_place(buffer.begin()), nullptr) << "nobody waits";
  EXPECT_EQ(buffer.size(), 2U) << "its place is left to the caller";
}

TEST_F(TaskWindowTest, ReadyTasksAloneFillTheWindowDuringAStretch) {
  window.add_low(tasks['l']);
  window.add_ready(tasks['a']);
  window.refill_ready();
  EXPECT_EQ(window.buffer().size(), 1U);
  EXPECT_TRUE(window.any_waits());
  EXPECT_EQ(run(), "al");
}

TEST_F(TaskWindowTest, LaterTasksWaitForTheNextRoundAndAgainForTheOneAfterIt) {
  window.add_later(tasks['a']);
  window.add_later(tasks['b']);
  EXPECT_TRUE(window.any_later());
  EXPECT_TRUE(window.idle()) << "they are not to be run now";
  EXPECT_EQ(run(), "");
  std::string spawned;
  window.begin_round([&](MxTask* task) {
    spawned += tasks.name(task);
    window.add_later(task);
  });
  EXPECT_EQ(spawned, "ab") << "each once a round";
  EXPECT_TRUE(window.any_later());
}

TEST_F(TaskWindowTest, APoolFillsTheWindowOrAQuantumBeyondIt) {
  set_window(64);
  fill_pool(100, 200);
  EXPECT_EQ(window.fill_from(pool, 1, window.share_of_a_pool()), 64U);
  EXPECT_EQ(pool.in_buffer(), 64U);
  EXPECT_EQ(window.fill_from(pool, 1, window.share_of_a_pool()), TaskWindow::kQuantum);
  EXPECT_EQ(window.buffer().front().pool, 1U) << "the task is tagged with its pool";
}

TEST_F(TaskWindowTest, PoolsLeaveAQuantumToFreeTasksThatWait) {
  fill_pool(0, 600);
  while (window.fill_from(pool, 1, window.share_of_a_pool()) != 0) {
  }
  EXPECT_FALSE(window.pools_may_enter());
  EXPECT_EQ(window.buffer().size(), TaskWindow::kBufferedAtMost - TaskWindow::kQuantum);
  for (std::size_t i = 0; i < 20; ++i) {
    window.add_ready(many.at(700 + i));
  }
  const std::uint32_t before = window.buffer().size();
  window.admit_quantum(true, [this] { return pool.in_buffer(); });
  EXPECT_EQ(window.buffer().size(), before + TaskWindow::kQuantum);
}

TEST_F(TaskWindowTest, FreeTasksThatNeverEndLetAQuantumInNowAndThen) {
  crowd(2);
  window.add_ready(tasks['a']);
  const auto none = [] { return 0U; };
  for (std::uint32_t refill = 1; refill < TaskWindow::kFullRefills; ++refill) {
    window.admit_quantum(false, none);
    ASSERT_TRUE(window.any_ready()) << "after " << refill;
  }
  window.admit_quantum(false, none);
  EXPECT_FALSE(window.any_ready());
}

TEST_F(TaskWindowTest, FreeTasksLeaveTheirLastPlacesToPools) {
  crowd(TaskWindow::kBufferedAtMost - 2 * TaskWindow::kQuantum);
  window.add_ready(tasks['a']);
  window.admit_quantum(true, [] { return 0U; });
  EXPECT_TRUE(window.any_ready());
  fill_pool(600, 40);
  EXPECT_EQ(window.fill_from(pool, 1, window.share_of_a_pool()), TaskWindow::kQuantum);
}

TEST_F(TaskWindowTest, LooksThroughAllThatWaitsAndChangesNothing) {
  window.add_ready(tasks['a']);
  window.add_ready(tasks['b']);
  window.refill(nothing_else);
  window.add_ready(tasks['c']);
  window.add_low(tasks['l']);
  for (int time = 0; time < 2; ++time) {
    std::string seen;
    window.for_each([&](const MxTask& task) { seen += tasks.name(&task); });
    EXPECT_EQ(seen, "abcl");
  }
  EXPECT_EQ(run(), "abcl");
}

TEST_F(TaskWindowTest, GivesUpAllThatWaitsAtTheEnd) {
  window.add_later(tasks['t']);
  window.add_low(tasks['l']);
  window.add_ready(tasks['a']);
  std::string dropped;
  while (const MxTask* task = window.take_waiting()) {
    dropped += tasks.name(task);
  }
  EXPECT_EQ(dropped, "alt");
  EXPECT_FALSE(window.any_waits());
  EXPECT_FALSE(window.any_later());
}

TEST(TaskWindowDeath, APoolsTaskWithoutATagIsAnError) {
  NamedTasks tasks;
  TaskPool pool;
  TaskWindow window{0};
#ifndef NDEBUG
  EXPECT_DEATH(window.add_from(pool, 0, tasks['a']), "has a tag");
#endif
}

}  // namespace
}  // namespace mxkv::runtime

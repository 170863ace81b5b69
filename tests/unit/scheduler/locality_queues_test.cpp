// The refill rules by themselves: which tasks a worker takes, from whose queue, and which it leaves.
#include "runtime/scheduler/locality_queues.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "tests/unit/scheduler/parts.hpp"

namespace mxkv::runtime {
namespace {

using testing::NamedTasks;

constexpr std::uint32_t kSpillAbove = 2;

/// Two groups of two workers on one node: 0 1 | 2 3, and a worker of another node: 4. The first one refills.
struct LocalityQueuesTest : ::testing::Test {
  LocalityQueuesTest() {
    connect(task_order::las);
    window.buffer().configure(PrefetchOptions{.window = 8});
  }
  ~LocalityQueuesTest() override { drop_all(); }
  void connect(task_order order) {
    drop_all();
    workers.clear();
    for (std::size_t i = 0; i < 5; ++i) {
      workers.emplace_back(order, kSpillAbove, taken);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      LocalityPeers peers;
      peers.own_group = &groups[i / 2];
      peers.group_mates = {&workers[i ^ 1U].immediate()};
      peers.far_groups = {&groups[1 - i / 2]};
      peers.node_mates = {&workers[(i + 2) % 4].immediate(), &workers[(i ^ 1U) ^ 2U].immediate()};
      peers.far_mates = {&workers[4].immediate()};
      workers[i].connect(std::move(peers));
    }
    LocalityPeers alone;
    alone.own_group = &groups[2];
    workers[4].connect(std::move(alone));
  }
  void immediate(std::size_t worker, const char* names) {
    for (; *names != '\0'; ++names) {
      tasks[*names]->annotate(locality::immediate);
      workers[worker].add_immediate(tasks[*names]);
    }
  }
  void deferred_of(std::size_t worker, std::uint64_t request, const char* names) {
    for (; *names != '\0'; ++names) {
      tasks[*names]->annotate(deferred{RequestId{request}});
      workers[worker].add_deferred(tasks[*names]);
    }
  }
  /// The tasks that one refill of the first worker's window lets in, in order.
  std::string refill() {
    workers[0].refill(window);
    std::string names;
    while (!window.buffer().empty()) {
      const MxTask* task = window.buffer().pop().task;
      EXPECT_EQ(task->annotations().locality, locality::here);
      names += tasks.name(task);
    }
    return names;
  }
  std::string refills(int times) {
    std::string names;
    for (; times > 0; --times) {
      names += refill();
    }
    return names;
  }
  void drop_all() {
    while (!window.buffer().empty()) {
      static_cast<void>(window.buffer().pop());
    }
    for (LocalityQueues& worker : workers) {
      while (worker.take_waiting() != nullptr) {
      }
    }
  }
  [[nodiscard]] std::vector<std::uint64_t> by_rule() const { return {taken.begin(), taken.end()}; }

  NamedTasks tasks;
  LocalityQueues::Counters taken{};
  std::deque<DeferredQueue> groups = std::deque<DeferredQueue>(3);
  std::deque<LocalityQueues> workers;
  TaskWindow window{0};
};

TEST_F(LocalityQueuesTest, OwnImmediateTasksFillTheWindowYoungestFirst) {
  immediate(0, "abc");
  EXPECT_TRUE(workers[0].own_wait());
  EXPECT_EQ(refill(), "cba");
  EXPECT_FALSE(workers[0].any_wait());
  EXPECT_EQ(by_rule(), (std::vector<std::uint64_t>{3, 0, 0, 0, 0, 0}));
}

TEST_F(LocalityQueuesTest, EachSixteenthOwnOneIsTheOldest) {
  window.buffer().configure(PrefetchOptions{.window = 32});
  immediate(0, "abcdefghijklmnopqrst");
  EXPECT_EQ(refills(4).at(15), 'a');
}

TEST_F(LocalityQueuesTest, AGroupMatesOldestOneEntersAnEmptyWindow) {
  immediate(1, "ab");
  EXPECT_FALSE(workers[0].own_wait());
  EXPECT_TRUE(workers[0].any_wait());
  EXPECT_EQ(refill(), "a");
  EXPECT_EQ(by_rule(), (std::vector<std::uint64_t>{0, 1, 0, 0, 0, 0}));
}

TEST_F(LocalityQueuesTest, ADeferredTaskOfTheOldestRequestEntersYoungestFirst) {
  deferred_of(0, 2, "xy");
  deferred_of(1, 1, "ab");
  EXPECT_EQ(refills(3), "bay") << "one a refill, the group's";
}

TEST_F(LocalityQueuesTest, FarGroupsGiveTheOldestOfTheirSecondOldestRequest) {
  deferred_of(2, 1, "ab");
  deferred_of(3, 2, "xy");
  EXPECT_EQ(refill(), "x");
  EXPECT_EQ(by_rule(), (std::vector<std::uint64_t>{0, 0, 0, 1, 0, 0}));
}

TEST_F(LocalityQueuesTest, WorkersOfOtherGroupsComeLastAndInTurn) {
  immediate(2, "ab");
  immediate(3, "xy");
  EXPECT_EQ(refill(), "a");
  EXPECT_EQ(by_rule(), (std::vector<std::uint64_t>{0, 0, 0, 0, 1, 0}));
}

TEST_F(LocalityQueuesTest, OwnImmediateTasksWaitWhileFourAreInTheWindow) {
  immediate(0, "abcdef");
  workers[0].refill(window);
  workers[0].refill(window);
  EXPECT_EQ(window.buffer().size(), 4U);
  EXPECT_EQ(workers[0].immediate().size(), 2U) << "there for others, though the window has room for eight";
  EXPECT_EQ(refill(), "fedc");
  EXPECT_EQ(refill(), "ba");
}

TEST_F(LocalityQueuesTest, AnotherNodesWorkerGivesWhatItHasBeyondItsBacklog) {
  immediate(4, "ab");
  EXPECT_FALSE(workers[0].any_wait());
  EXPECT_EQ(refill(), "");
  immediate(4, "c");
  EXPECT_TRUE(workers[0].any_wait());
  EXPECT_EQ(refills(2), "a") << "the oldest, and no more than that";
  EXPECT_EQ(by_rule(), (std::vector<std::uint64_t>{0, 0, 0, 0, 0, 1}));
}

TEST_F(LocalityQueuesTest, AFullWindowTakesOneOfEachKindNowAndThen) {
  window.buffer().configure(PrefetchOptions{.window = 1});
  immediate(0, "a");
  deferred_of(0, 1, "d");
  window.keep_place(tasks['z']);
  for (std::uint32_t i = 1; i < TaskWindow::kFullRefills; ++i) {
    workers[0].refill(window);
    ASSERT_EQ(window.buffer().size(), 1U);
  }
  EXPECT_EQ(refill(), "zad");
}

TEST_F(LocalityQueuesTest, TheBaselineTakesDeferredTasksAsTheyWereSpawned) {
  connect(task_order::nls);
  deferred_of(0, 2, "a");
  deferred_of(0, 1, "b");
  EXPECT_EQ(refills(2), "ab");
}

TEST_F(LocalityQueuesTest, GivesUpWhatWaitsAtTheEnd) {
  immediate(0, "a");
  deferred_of(0, 1, "b");
  EXPECT_EQ(tasks.name(workers[0].take_waiting()), 'a');
  EXPECT_EQ(tasks.name(workers[0].take_waiting()), 'b');
  EXPECT_EQ(workers[0].take_waiting(), nullptr);
}

TEST_F(LocalityQueuesTest, AWorkerIsConnectedOnceAndWaitingTasksAreNotForHereOnly) {
  LocalityPeers peers;
  peers.own_group = &groups[0];
  EXPECT_DEATH(workers[0].connect(peers), "in one group");
  workers[0].add_immediate(tasks['a']);
  EXPECT_DEATH(workers[0].refill(window), "only immediate and deferred");
}

}  // namespace
}  // namespace mxkv::runtime

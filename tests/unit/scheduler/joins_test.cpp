// Tasks with dependencies: they start when the joins that they name are complete, errors come at spawn,
// nothing is lost.
#include "runtime/scheduler/joins.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "runtime/scheduler/tasking.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

using testing::lambda_task;
using testing::Machine;
using testing::unpinned;

/// Notes that it ran, after it came back a given number of times.
class NotingTask final : public DependentTask {
 public:
  static constexpr const char* kName = "noting";
  NotingTask(const TaskClass* task_class, std::vector<int>& notes, int number, int rounds = 0) noexcept
      : DependentTask(task_class), notes_(&notes), number_(number), rounds_(rounds) {}
  step execute(Worker& /*worker*/) {
    if (rounds_-- > 0) {
      return step::again;
    }
    notes_->push_back(number_);
    return step::done;
  }
  void discard(Worker& /*worker*/) { notes_->push_back(-number_); }

 private:
  std::vector<int>* notes_;
  int number_;
  int rounds_;
};

struct Dependencies : ::testing::Test {
  template <class Body>
  void in_a_task(const Body& body) {
    machine[0].spawn(lambda_task(machine[0], [&body](MxTask&, Worker&) {
      body();
      return step::done;
    }));
    machine[0].step();
  }
  NotingTask* noting(int number, int rounds = 0) {
    return machine[0].create<NotingTask>(notes, number, rounds);
  }

  std::vector<int> notes;  // outlives the machine
  Machine machine{1};
};

TEST_F(Dependencies, ATaskStartsWhenAllThatItsJoinCountsAreDone) {
  in_a_task([this] {
    Join& built = *tasking::create_join("built").value();
    for (const int number : {10, 11}) {  // spawned first, all the same
      NotingTask* probe = noting(number);
      probe->annotate(tasking::after(built));
      EXPECT_TRUE(tasking::spawn(probe));
    }
    for (const int number : {1, 2, 3}) {
      NotingTask* build = noting(number, 3 - number);  // only the last execution counts
      build->annotate(tasking::before(built));
      EXPECT_TRUE(tasking::spawn(build));
    }
    tasking::close(built);
    tasking::release(built);
  });
  machine.run_until_idle();
  EXPECT_EQ(notes, (std::vector<int>{3, 2, 1, 10, 11})) << "who waits starts in the order of spawning";
  EXPECT_EQ(machine.runtime.joins().alive(), 0U);
}

TEST_F(Dependencies, AJoinIsNotCompleteBeforeItsCreatorClosedIt) {
  Join* join = nullptr;
  in_a_task([&] {
    join = tasking::create_join("open").value();
    NotingTask* first = noting(1);
    first->annotate(tasking::before(*join));
    EXPECT_TRUE(tasking::spawn(first));
    NotingTask* second = noting(2);
    second->annotate(tasking::after(*join));
    EXPECT_TRUE(tasking::spawn(second));
  });
  machine.run_until_idle();
  EXPECT_EQ(notes, (std::vector<int>{1}));
  in_a_task([&] {
    tasking::close(*join);
    tasking::release(*join);
  });
  machine.run_until_idle();
  EXPECT_EQ(notes, (std::vector<int>{1, 2}));
}

TEST_F(Dependencies, ATaskThatComesAfterACompleteJoinStartsAtOnce) {
  in_a_task([this] {
    Join& join = *tasking::create_join("empty").value();
    tasking::close(join);
    NotingTask* late = noting(1);
    late->annotate(tasking::after(join));
    EXPECT_TRUE(tasking::spawn(late));
    tasking::release(join);
  });
  machine.run_until_idle();
  EXPECT_EQ(notes, (std::vector<int>{1}));
}

TEST_F(Dependencies, JoinsFollowEachOther) {
  in_a_task([this] {
    std::array<Join*, 3> joins{};
    for (Join*& join : joins) {
      join = tasking::create_join("link").value();
    }
    for (int i = 2; i >= 0; --i) {
      NotingTask* link = noting(i);
      link->annotate(tasking::before(*joins[static_cast<std::size_t>(i)]));
      if (i > 0) {
        link->annotate(tasking::after(*joins[static_cast<std::size_t>(i) - 1]));
      }
      EXPECT_TRUE(tasking::spawn(link));
    }
    for (Join* join : joins) {
      tasking::close(*join);
      tasking::release(*join);
    }
  });
  machine.run_until_idle();
  EXPECT_EQ(notes, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(machine.runtime.joins().alive(), 0U);
}

TEST_F(Dependencies, AWaitingTaskStartsWhereItsPlacementSays) {
  Machine two{2};
  std::vector<int> ran;
  NotingTask* waiting = two[0].create<NotingTask>(ran, 1);
  waiting->annotate(WorkerId{1});
  Join& join = *two.runtime.joins().create("placed").value();
  waiting->annotate(after(join));
  ASSERT_TRUE(spawn_dependent(two[0], *waiting, std::source_location::current()));
  end_predecessor(two[0], join);
  release_join(two[0], join);
  two[0].step();
  EXPECT_TRUE(ran.empty());
  two[1].step();
  EXPECT_EQ(ran, (std::vector<int>{1}));
}

TEST_F(Dependencies, ACycleIsAnErrorAtSpawnThatSaysWhatAndWhere) {
  in_a_task([this] {
    Join& first = *tasking::create_join("first").value();
    Join& second = *tasking::create_join("second").value();
    NotingTask* task = noting(1);
    task->annotate(tasking::after(second));
    for (Join* counts : {&first, &second}) {  // a longer way round, and itself
      task->annotate(tasking::before(*counts));
      const auto spawned = tasking::spawn(task);
      const std::string line = std::to_string(__LINE__ - 1);
      ASSERT_FALSE(spawned);
      const std::string& message = spawned.error().message;
      EXPECT_NE(message.find("joins_test.cpp:" + line +
                             ": task \"noting\" waits for join \"second\" and is counted by \"" +
                             std::string{counts->name()} + "\": a dependency cycle"),
                std::string::npos)
          << message;
    }
    // The task still belongs to the caller, which may spawn it otherwise.
    task->annotate(tasking::after(first));
    EXPECT_TRUE(tasking::spawn(task));
    for (Join* join : {&first, &second}) {
      tasking::close(*join);
      tasking::release(*join);
    }
  });
  machine.run_until_idle();
  EXPECT_EQ(notes, (std::vector<int>{1}));
}

TEST_F(Dependencies, ATaskThatIsTooLateToBeCountedOrHoldsAPinIsAnError) {
  in_a_task([this] {
    Join& join = *tasking::create_join("over").value();
    NotingTask* task = noting(1);
    machine[0].pin(*task);
    task->annotate(tasking::after(join));
    EXPECT_NE(tasking::spawn(task).error().message.find("waits for join \"over\" with a pin"),
              std::string::npos);
    machine[0].unpin(*task);
    EXPECT_TRUE(tasking::spawn(task));
    tasking::close(join);
    NotingTask* late = noting(2);
    late->annotate(tasking::before(join));
    EXPECT_NE(tasking::spawn(late).error().message.find("is too late for join \"over\""), std::string::npos);
    tasking::release(join);
    machine[0].finish(*late);
  });
  machine.run_until_idle();
  EXPECT_EQ(notes, (std::vector<int>{1}));
}

TEST_F(Dependencies, TooManyJoinsAreAnErrorThatNamesTheLimit) {
  Joins& joins = machine.runtime.joins();
  std::vector<Join*> all;
  for (std::size_t i = 0; i < Joins::kMost; ++i) {
    all.push_back(joins.create("one of many").value());
  }
  const auto refused = joins.create("too many");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "join \"too many\": 65536 joins are alive (allowed: no more; release those that are done with)");
  end_predecessor(machine[0], *all.front());
  release_join(machine[0], *all.front());
  EXPECT_TRUE(joins.create("in its place"));
}

TEST_F(Dependencies, WhatWaitsAtTheEndIsDiscardedOnce) {
  {
    Machine ends{1};
    Join& open = *ends.runtime.joins().create("never closed").value();
    Join& next = *ends.runtime.joins().create("next").value();
    const auto spawn = [&](int number, Join* waits, Join* counts) {
      auto* task = ends[0].create<NotingTask>(notes, number);
      if (waits != nullptr) {
        task->annotate(after(*waits));
      }
      if (counts != nullptr) {
        task->annotate(before(*counts));
      }
      EXPECT_TRUE(spawn_dependent(ends[0], *task, std::source_location::current()));
    };
    spawn(1, nullptr, &open);
    spawn(2, &open, &next);
    spawn(3, &next, nullptr);
    end_predecessor(ends[0], next);  // closed: it waits for task 2
  }
  std::sort(notes.begin(), notes.end());
  EXPECT_EQ(notes, (std::vector<int>{-3, -2, -1}));
}

/// A hash join's shape on real threads: many build tasks, then many probe tasks that read the results of all
/// builds.
class BuildTask final : public DependentTask {
 public:
  BuildTask(const TaskClass* task_class, std::uint64_t& cell) noexcept
      : DependentTask(task_class), cell_(&cell) {}
  step execute(Worker& /*worker*/) {
    *cell_ = 1;  // no atomic: the join orders it before the probes
    return step::done;
  }

 private:
  std::uint64_t* cell_;
};

class ProbeTask final : public DependentTask {
 public:
  ProbeTask(const TaskClass* task_class, const std::vector<std::uint64_t>& cells,
            std::atomic<std::uint64_t>& sum) noexcept
      : DependentTask(task_class), cells_(&cells), sum_(&sum) {}
  step execute(Worker& /*worker*/) {
    std::uint64_t found = 0;
    for (const std::uint64_t cell : *cells_) {
      found += cell;
    }
    sum_->fetch_add(found);
    return step::done;
  }

 private:
  const std::vector<std::uint64_t>* cells_;
  std::atomic<std::uint64_t>* sum_;
};

TEST(DependenciesOnThreads, EveryProbeSeesAllThatWasBuilt) {
  constexpr std::size_t kBuilds = 60;
  constexpr std::size_t kProbes = 30;
  constexpr std::size_t kRounds = 20;
  const SystemClock clock;
  std::vector<std::vector<std::uint64_t>> cells(kRounds, std::vector<std::uint64_t>(kBuilds));
  std::atomic<std::uint64_t> sum{0};
  Runtime runtime{unpinned(3), clock};
  ASSERT_TRUE(runtime.start());
  for (std::size_t round = 0; round < kRounds; ++round) {
    const auto body = [&runtime, &cells, &sum, round](MxTask&, Worker& worker) {
      Join& built = *tasking::create_join("built").value();
      for (std::size_t i = 0; i < kBuilds + kProbes; ++i) {
        const WorkerId where{static_cast<std::uint16_t>((i + round) % runtime.worker_count())};
        if (i % 3 == 0) {
          auto* probe = worker.create<ProbeTask>(cells[round], sum);
          probe->annotate(where);
          probe->annotate(tasking::after(built));
          EXPECT_TRUE(tasking::spawn(probe));
        } else {
          auto* build = worker.create<BuildTask>(cells[round][i - i / 3 - 1]);
          build->annotate(where);
          build->annotate(tasking::before(built));
          EXPECT_TRUE(tasking::spawn(build));
        }
      }
      tasking::close(built);
      tasking::release(built);
      return step::done;
    };
    runtime.submit(runtime.create_outside<testing::LambdaTask<decltype(body)>>(body),
                   WorkerId{static_cast<std::uint16_t>(round % runtime.worker_count())});
  }
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  while (sum.load() < kRounds * kProbes * kBuilds && std::chrono::steady_clock::now() < patience) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  runtime.stop();
  EXPECT_EQ(sum.load(), kRounds * kProbes * kBuilds);
  EXPECT_EQ(runtime.joins().alive(), 0U);
}

}  // namespace
}  // namespace mxkv::runtime

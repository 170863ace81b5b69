// No task that waits for a join is lost or starts twice, in every order of the steps of its parking, of the
// predecessors' ends and of the creator's close and release. The last of them frees the join, once.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <vector>

#include "runtime/pool/join.hpp"
#include "tests/schedule/interleaving.hpp"

namespace mxkv::testing {
namespace {

using runtime::MxTask;

struct JoinRun {
  void started(const MxTask* task) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      starts[i] += &tasks[i] == task ? 1 : 0;
    }
  }

  void end_one() {
    EXPECT_EQ(freed, 0);
    if (join.end_one()) {
      ++completions;
      runtime::TaskList waiting = join.take_waiting();
      while (MxTask* task = waiting.pop_front()) {
        started(task);
        ++unparked;
      }
      freed += join.drop() ? 1 : 0;
    }
  }
  /// The creator counts `predecessors`, closes, and spawns `successors` beside them.
  JoinRun(std::size_t predecessors, std::size_t successors) {
    for (std::size_t i = 0; i < successors; ++i) {
      tasks.emplace_back(nullptr);
    }
    for (std::size_t i = 0; i < predecessors; ++i) {
      EXPECT_TRUE(join.add());
      bodies.emplace_back([this] { end_one(); });
    }
    bodies.emplace_back([this] {
      end_one();  // close
      for (MxTask& task : tasks) {
        ends_before_all_parked += completions;
        if (!join.park(&task)) {
          started(&task);
        }
      }
      freed += join.drop() ? 1 : 0;
    });
  }
  void run(Interleaving& interleaving) {
    interleaving.run(bodies);
    EXPECT_EQ(completions, 1);
    EXPECT_EQ(freed, 1);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      EXPECT_EQ(starts[i], 1) << "task " << i;
    }
  }

  runtime::BasicJoin<Interleaved> join{"join", 0};
  std::deque<MxTask> tasks;
  std::vector<std::function<void()>> bodies;
  int starts[8] = {};
  int completions = 0;
  int unparked = 0;
  int ends_before_all_parked = 0;
  int freed = 0;
};

TEST(JoinSchedule, TheLastPredecessorEndsWhileASuccessorIsBeingParked) {
  int parked = 0;
  int late = 0;
  const std::size_t runs = in_all_orders(100, [&](Interleaving& interleaving) {
    JoinRun run{1, 2};
    run.run(interleaving);
    parked += run.unparked;
    late += run.ends_before_all_parked;
  });
  EXPECT_GT(runs, 20U);
  EXPECT_GT(parked, 0) << "some waited";
  EXPECT_GT(late, 0) << "some came when the join was complete";
}

TEST(JoinSchedule, ManyPredecessorsInRandomOrders) {
  in_random_orders(500, [](Interleaving& interleaving) {
    JoinRun run{5, 6};
    run.run(interleaving);
  });
}

}  // namespace
}  // namespace mxkv::testing

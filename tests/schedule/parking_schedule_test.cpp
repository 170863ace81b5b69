// No wake-up is lost: a worker that blocks has either nothing to do or a wake-up on its way, in every order
// of the steps of its parking and of the spawners' pushes.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <vector>

#include "runtime/pool/task_pool.hpp"
#include "runtime/scheduler/parking.hpp"
#include "tests/schedule/interleaving.hpp"

namespace mxkv::testing {
namespace {

using runtime::MxTask;
using runtime::pool_state;

/// One worker with one pool, and spawners that do as Worker::spawn_to() and Runtime::submit() do.
struct ParkingRun {
  explicit ParkingRun(std::size_t spawners) {
    for (std::size_t i = 0; i < spawners; ++i) {
      MxTask& task = tasks.emplace_back(nullptr);
      bodies.emplace_back([this, &task] {
        const bool ready = pool.spawn(&task);
        Interleaving::point();
        if (ready && flag.parked() && flag.claim()) {
          Interleaving::point();
          wake_up_waits = true;
        }
      });
    }
  }
  void add_worker(int rounds) {
    bodies.emplace_back([this, rounds] {
      for (int round = 0; round < rounds && !blocked; ++round) {
        execute();
        Interleaving::point();
        blocked = flag.try_park([this] { return pool.state() != pool_state::empty; });
        Interleaving::point();
      }
    });
  }
  /// One look: a task that is being linked is met again in the next round.
  void execute() {
    if (pool.take()) {
      while (pool.next_task() != nullptr) {
        ++executed;
        Interleaving::point();
      }
      pool.give();
    }
  }
  /// Returns whether the worker had blocked and was woken.
  bool run(Interleaving& interleaving) {
    interleaving.run(bodies);
    if (blocked && executed < tasks.size()) {
      EXPECT_TRUE(wake_up_waits) << "blocked for ever over " << tasks.size() - executed << " tasks";
    }
    flag.unpark();
    while (pool.state() != pool_state::empty) {
      execute();
    }
    EXPECT_EQ(executed, tasks.size());
    EXPECT_EQ(parked_workers.load(), 0U);
    return blocked && wake_up_waits;
  }

  runtime::BasicTaskPool<Interleaved> pool;
  std::atomic<std::uint32_t> parked_workers{0};
  runtime::BasicParkingFlag<Interleaved> flag{parked_workers};
  std::deque<MxTask> tasks;
  std::vector<std::function<void()>> bodies;
  std::size_t executed = 0;
  bool blocked = false;
  bool wake_up_waits = false;
};

TEST(ParkingSchedule, OneSpawnerInEveryOrder) {
  int woken = 0;
  const std::size_t runs = in_all_orders(100, [&woken](Interleaving& interleaving) {
    ParkingRun run{1};
    run.add_worker(1);
    woken += run.run(interleaving) ? 1 : 0;
  });
  EXPECT_GT(runs, 20U);
  EXPECT_GT(woken, 0) << "the rare order was met";
}

TEST(ParkingSchedule, TwoSpawnersWithThreePreemptions) {
  int woken = 0;
  const std::size_t runs = in_all_orders(3, [&woken](Interleaving& interleaving) {
    ParkingRun run{2};
    run.add_worker(2);
    woken += run.run(interleaving) ? 1 : 0;
  });
  EXPECT_GT(runs, 100U);
  EXPECT_GT(woken, 0);
}

TEST(ParkingSchedule, ManySpawnersInRandomOrders) {
  int woken = 0;
  in_random_orders(500, [&woken](Interleaving& interleaving) {
    ParkingRun run{5};
    run.add_worker(4);
    woken += run.run(interleaving) ? 1 : 0;
  });
  EXPECT_GT(woken, 0);
}

}  // namespace
}  // namespace mxkv::testing

// Owner, thief and spawners of one pool in every order: no worker blocks over a task unless a wake-up is on
// its way, and a thief is woken for a pool whose owner is busy.
#include <gtest/gtest.h>

#include <array>
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

/// The owner of a pool, a worker that may steal it, and spawners that do as Runtime::announce() does.
struct StealingRun {
  /// As in Worker: a flag, and a poller that keeps a wake-up until the next block.
  struct Sleeper {
    explicit Sleeper(std::atomic<std::uint32_t>& parked_workers) : flag(parked_workers) {}
    bool wake_if_parked() {
      if (!flag.parked() || !flag.claim()) {
        return false;
      }
      Interleaving::point();
      wake_up_waits = true;
      return true;
    }
    runtime::BasicParkingFlag<Interleaved> flag;
    bool wake_up_waits = false;
    bool blocked = false;
  };

  void add_spawners(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      MxTask& task = tasks.emplace_back(nullptr);
      bodies.emplace_back([this, &task] {
        const bool ready = pool.spawn(&task);
        Interleaving::point();
        if (ready && !owner.wake_if_parked() && parked_workers.load() != 0) {
          Interleaving::point();
          thief.wake_if_parked();
        }
      });
    }
  }
  /// Executes and parks, until it blocks; a worker that blocks and was woken meanwhile goes on.
  void add_worker(Sleeper& self, int rounds) {
    bodies.emplace_back([this, &self, rounds] {
      for (int round = 0; round < rounds && !self.blocked; ++round) {
        hold_once(self);
        Interleaving::point();
        self.blocked = self.flag.try_park([this] { return pool.state() == pool_state::ready; });
        Interleaving::point();
        if (self.blocked && std::exchange(self.wake_up_waits, false)) {
          self.flag.unpark();
          self.blocked = false;
        }
        Interleaving::point();
      }
    });
  }
  void hold_once(const Sleeper& self) {
    if (!pool.take()) {
      return;
    }
    EXPECT_EQ(holders++, 0);
    if (pool.next_task() != nullptr) {
      pool.entered_buffer();
      Interleaving::point();
      ++executed;
      pool.left_buffer();
    }
    --holders;
    if (pool.give() && &self != &owner) {
      owner.wake_if_parked();
    }
  }
  [[nodiscard]] bool sleeps_over_tasks(const Sleeper& sleeper) const {
    return sleeper.blocked && !sleeper.wake_up_waits && executed < tasks.size();
  }
  void drain() {
    for (int looks = 0; pool.state() != pool_state::empty && looks < 100; ++looks) {
      hold_once(owner);
    }
    EXPECT_EQ(executed, tasks.size()) << "a task waits in a pool that says it is empty, or in a held one";
    owner.flag.unpark();
    thief.flag.unpark();
    EXPECT_EQ(parked_workers.load(), 0U) << "as many flags went down as up";
  }

  runtime::BasicTaskPool<Interleaved> pool;
  std::atomic<std::uint32_t> parked_workers{0};
  Sleeper owner{parked_workers};
  Sleeper thief{parked_workers};
  std::deque<MxTask> tasks;
  std::vector<std::function<void()>> bodies;
  std::size_t executed = 0;
  int holders = 0;
};

/// The owner is in a long task: its flag is down and it never looks.
bool thief_of_a_busy_owner(Interleaving& interleaving, std::size_t spawners, int rounds) {
  StealingRun run;
  run.add_spawners(spawners);
  run.add_worker(run.thief, rounds);
  interleaving.run(run.bodies);
  EXPECT_FALSE(run.sleeps_over_tasks(run.thief)) << "a busy owner's pool waits, and the thief was not woken";
  const bool woken = run.thief.wake_up_waits;
  run.drain();
  return woken;
}

void owner_and_thief(Interleaving& interleaving, std::size_t spawners, int rounds) {
  StealingRun run;
  run.add_spawners(spawners);
  run.add_worker(run.owner, rounds);
  run.add_worker(run.thief, rounds);
  interleaving.run(run.bodies);
  EXPECT_FALSE(run.sleeps_over_tasks(run.owner) && run.sleeps_over_tasks(run.thief))
      << "both block for ever over a task";
  run.drain();
}

TEST(StealingSchedule, AThiefIsWokenForTheTaskOfABusyOwnerInEveryOrder) {
  int woken = 0;
  const std::size_t runs =
      in_all_orders(100, [&](Interleaving& order) { woken += thief_of_a_busy_owner(order, 1, 1) ? 1 : 0; });
  EXPECT_GT(runs, 20U);
  EXPECT_GT(woken, 0) << "the rare order was met";
}

TEST(StealingSchedule, AThiefAndTwoSpawnersWithThreePreemptions) {
  int woken = 0;
  const std::size_t runs =
      in_all_orders(3, [&](Interleaving& order) { woken += thief_of_a_busy_owner(order, 2, 3) ? 1 : 0; });
  EXPECT_GT(runs, 100U);
  EXPECT_GT(woken, 0);
}

TEST(StealingSchedule, OwnerAndThiefNeverBothSleepOverATask) {
  const std::size_t runs = in_all_orders(3, [](Interleaving& order) { owner_and_thief(order, 1, 2); });
  EXPECT_GT(runs, 100U);
}

TEST(StealingSchedule, OwnerThiefAndManySpawnersInRandomOrders) {
  in_random_orders(1000, [](Interleaving& order) { owner_and_thief(order, 5, 6); });
}

}  // namespace
}  // namespace mxkv::testing

// A worker that hangs in a task is found; parked and busy ones are not.
#include "server/admin/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "runtime/base/clock.hpp"

namespace mxkv::server {
namespace {

using Pulses = std::vector<WorkerPulse>;

TEST(WorkerRounds, ParkedOrMovingIsNotHanging) {
  WorkerRounds rounds;
  EXPECT_FALSE(rounds.hanging(Pulses{{.parked = true, .rounds = 5}, {.parked = false, .rounds = 1}}));
  EXPECT_FALSE(rounds.hanging(Pulses{{.parked = true, .rounds = 5}, {.parked = false, .rounds = 2}}));
  EXPECT_FALSE(rounds.hanging(Pulses{{.parked = true, .rounds = 5}, {.parked = true, .rounds = 2}}));
}

TEST(WorkerRounds, OneThatWasJustWokenIsNotHanging) {
  WorkerRounds rounds;
  EXPECT_FALSE(rounds.hanging(Pulses{{.parked = true, .rounds = 5}}));
  EXPECT_FALSE(rounds.hanging(Pulses{{.parked = false, .rounds = 5}}));
  EXPECT_EQ(rounds.hanging(Pulses{{.parked = false, .rounds = 5}}), (HangingWorker{0, hang::in_a_task}));
}

TEST(WorkerRounds, TheOneThatStandsStillIsNamed) {
  WorkerRounds rounds;
  EXPECT_FALSE(rounds.hanging(Pulses{{.parked = false, .rounds = 5}, {.parked = false, .rounds = 9}}));
  EXPECT_EQ(rounds.hanging(Pulses{{.parked = false, .rounds = 6}, {.parked = false, .rounds = 9}}),
            (HangingWorker{1, hang::in_a_task}));
  EXPECT_FALSE(rounds.hanging(Pulses{{.parked = false, .rounds = 7}, {.parked = false, .rounds = 10}}));
}

TEST(WorkerRounds, OneThatOnlyRetriesIsHanging) {
  constexpr std::uint64_t kMany = WorkerRounds::kManyRetries;
  WorkerRounds rounds;
  EXPECT_FALSE(rounds.hanging(Pulses{{.rounds = 5, .ended = 7, .retries = 3}}));
  EXPECT_FALSE(rounds.hanging(Pulses{{.rounds = 6, .ended = 8, .retries = 3 + 2 * kMany}})) << "a task ended";
  EXPECT_FALSE(rounds.hanging(Pulses{{.rounds = 7, .ended = 8, .retries = 2 + 3 * kMany}})) << "not often";
  EXPECT_EQ(rounds.hanging(Pulses{{.rounds = 8, .ended = 8, .retries = 2 + 4 * kMany}}),
            (HangingWorker{0, hang::only_retries}));
  EXPECT_FALSE(rounds.hanging(Pulses{{.parked = true, .rounds = 9, .ended = 8, .retries = 2 + 5 * kMany}}));
}

class HangingTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "hangs";
  HangingTask(const runtime::TaskClass* task_class, std::atomic<bool>& begun, std::atomic<bool>& end) noexcept
      : MxTask(task_class), begun_(begun), end_(end) {}
  runtime::step execute(runtime::Worker& /*worker*/) {
    begun_.store(true);
    while (!end_.load()) {
      std::this_thread::yield();
    }
    return runtime::step::done;
  }

 private:
  std::atomic<bool>& begun_;
  std::atomic<bool>& end_;
};

TEST(WorkerRounds, ARealWorkerThatHangsIsFoundUntilItGoesOn) {
  const runtime::SystemClock clock;
  runtime::RuntimeOptions options;
  options.workers.resize(2);
  for (runtime::WorkerPlacement& worker : options.workers) {
    worker.pinned = false;
  }
  runtime::Runtime runtime{options, clock};
  ASSERT_TRUE(runtime.start().ok());
  std::atomic<bool> begun{false};
  std::atomic<bool> end{false};
  const runtime::WorkerId second{1};
  runtime.submit(runtime.create_outside<HangingTask>(begun, end), second);
  // The other worker sleeps: in the middle of a round it would look stuck, too.
  while (!begun.load() || !runtime.worker(runtime::WorkerId{0}).parked()) {
    std::this_thread::yield();
  }
  WorkerRounds rounds;
  EXPECT_FALSE(rounds.hanging(pulses(runtime)));
  EXPECT_EQ(rounds.hanging(pulses(runtime)), (HangingWorker{1, hang::in_a_task}));
  end.store(true);
  while (!runtime.worker(second).parked()) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(rounds.hanging(pulses(runtime)));
  runtime.stop();
}

}  // namespace
}  // namespace mxkv::server

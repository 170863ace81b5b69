// Tasks that are put back again and again are found and reported; others are not.
#include "runtime/scheduler/retry_watch.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/scheduler/alarm.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

using testing::Machine;

class Waiting final : public MxTask {
 public:
  static constexpr const char* kName = "waits";
  Waiting(const TaskClass* task_class, const bool& come) noexcept : MxTask(task_class), come_(come) {}
  step execute(Worker& /*worker*/) { return come_ ? step::done : step::retry; }
  std::size_t describe(char* out, std::size_t size) const noexcept {
    return std::string{"the door"}.copy(out, size);
  }

 private:
  const bool& come_;
};

class Told final : public Alarm {
 public:
  void stuck(const StuckTask& task) noexcept override {
    lines.push_back(std::to_string(task.worker.value()) + " " + std::string{task.task_class} + " " +
                    std::to_string(task.retries) + " " + std::string{task.state});
  }
  std::vector<std::string> lines;
};

struct Door {
  Door() : machine(1) { machine.runtime.set_alarm(told); }
  void run_until_put_back(std::uint64_t times, std::uint64_t us_a_round = 100'000) {
    while (machine[0].counters().retries.load() < times) {
      machine.clock.advance_us(us_a_round);
      machine[0].step();
    }
  }
  Told told;
  Machine machine;
  bool open = false;
};

TEST(RetryWatch, ATaskThatWaitsForVeryLongIsToldOfAtEachDoubling) {
  Door door;
  door.machine[0].spawn(door.machine[0].create<Waiting>(door.open));
  door.run_until_put_back(45'000);
  const std::vector<std::string> expected{"0 waits 10000 the door", "0 waits 20000 the door",
                                          "0 waits 40000 the door"};
  EXPECT_EQ(door.told.lines, expected);
  EXPECT_EQ(door.machine[0].counters().stuck.load(), 1U);
  door.open = true;
  door.machine.run_until_idle();
}

TEST(RetryWatch, OneThatWaitsShortlyIsCountedButNotToldOf) {
  Door door;
  door.machine[0].spawn(door.machine[0].create<Waiting>(door.open));
  door.run_until_put_back(25'000, 10);
  EXPECT_TRUE(door.told.lines.empty());
  EXPECT_EQ(door.machine[0].counters().stuck.load(), 1U);
  door.open = true;
  door.machine.run_until_idle();
}

TEST(RetryWatch, ManyTasksThatWaitShortlyAreNothing) {
  Door door;
  for (int round = 0; round < 20; ++round) {
    door.open = false;
    for (int i = 0; i < 100; ++i) {
      door.machine[0].spawn(door.machine[0].create<Waiting>(door.open));
    }
    door.run_until_put_back(door.machine[0].counters().retries.load() + 20'000);
    door.open = true;
    door.machine.run_until_idle();
  }
  EXPECT_TRUE(door.told.lines.empty()) << door.told.lines.front();
}

TEST(RetryWatch, OfMoreTasksThanAreCountedSomeAreTold) {
  Door door;
  constexpr std::uint64_t kTasks = 150;  // more than twice as many as are counted at a time
  for (std::uint64_t i = 0; i < kTasks; ++i) {
    door.machine[0].spawn(door.machine[0].create<Waiting>(door.open));
  }
  door.run_until_put_back(kTasks * RetryWatch::kMany + kTasks);
  EXPECT_GT(door.told.lines.size(), 0U);
  EXPECT_EQ(door.told.lines.size(), door.machine[0].counters().stuck.load());
  door.open = true;
  door.machine.run_until_idle();
}

TEST(RetryWatch, AForgottenTaskBeginsAnew) {
  RetryWatch watch;
  const TaskClass none{};
  const MxTask task{&none};
  for (std::uint32_t i = 1; i < RetryWatch::kMany; ++i) {
    ASSERT_EQ(watch.note(task, i), 0U);
  }
  EXPECT_TRUE(watch.any());
  EXPECT_EQ(watch.since_ns(task), 1U);
  watch.forget(task);
  EXPECT_FALSE(watch.any());
  EXPECT_EQ(watch.note(task, 0), 0U);
}

}  // namespace
}  // namespace mxkv::runtime

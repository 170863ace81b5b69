// Turns in place: which task follows which when the tasks of a window go on, end, leave or come back, on a
// fast path and off it, in all ways of asking for lines.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "runtime/scheduler/worker.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

using testing::Machine;
using testing::unpinned;

/// Follows a script, a letter a turn, and notes its name each time; after the last one it is done.
///   o  on, as on a fast path      a  again      r  retry      g  guarded execution takes this turn
template <int Class>
class ScriptedTask final : public MxTask {
 public:
  static constexpr const char* kName = "scripted";
  template <bool kAsksT>
  struct Way {
    static constexpr bool kAsks = kAsksT;
  };

  ScriptedTask(const TaskClass* task_class, std::string& log, char name, const char* script) noexcept
      : MxTask(task_class), log_(&log), script_(script), name_(name) {}

  step execute(Worker& /*worker*/) {
    *log_ += name_;
    *log_ += '!';
    return take() == 0 ? step::done : step::again;
  }

  template <bool kAsks = true, class F>
  static auto in_best_way(const F& f) {
    return f(Way<kAsks>{});
  }
  [[nodiscard]] bool run_fast(Worker& worker, step& next) {
    return run_fast<Way<false>>(worker, next) != went::astray;
  }
  template <class W>
  [[nodiscard]] went run_fast(Worker& /*worker*/, step& next) {
    if (*script_ == 'g') {
      return went::astray;
    }
    *log_ += name_;
    const char now = take();
    next = now == 0 ? step::done : (now == 'r' ? step::retry : step::again);
    return now == 'o' ? went::on : went::told;
  }

 private:
  char take() noexcept { return *script_ == 0 ? '\0' : *script_++; }

  std::string* log_;
  const char* script_;
  char name_;
};

class Turns : public ::testing::TestWithParam<prefetch_mode> {
 public:
  Machine& machine(std::uint32_t window, std::uint32_t batch = 4096) {
    RuntimeOptions options = unpinned(1);
    options.prefetch = {.mode = GetParam(), .distance = 2, .window = window};
    options.batch_tasks = batch;
    return machine_.emplace(options);
  }
  template <int Class = 0>
  ScriptedTask<Class>& spawn(char name, const char* script, std::size_t lines = 0) {
    Worker& worker = (*machine_)[0];
    auto* const task = worker.create<ScriptedTask<Class>>(log, name, script);
    task->annotate_lines(TaggedPointer{}, 0, lines);
    worker.spawn(task);
    return *task;
  }

  std::string log;

 private:
  std::optional<Machine> machine_;
};

TEST_P(Turns, GoFromOneTaskToTheNextWhateverTheirClass) {
  Machine& one = machine(8);
  spawn<0>('a', "oaa");
  spawn<1>('b', "aoo");
  spawn<0>('c', "oao");
  one.run_until_idle();
  EXPECT_EQ(log, "abcabcabcabc");
}

TEST_P(Turns, AreTakenByGuardedExecutionOffTheFastPath) {
  Machine& one = machine(8);
  spawn<0>('a', "ogo");
  spawn<1>('b', "gg");
  one.run_until_idle();
  EXPECT_EQ(log, "ab!a!b!aba");
}

TEST_P(Turns, AreAsManyAsABatchHasAndGoOnWhereTheyEnded) {
  Machine& one = machine(8, 3);
  spawn('a', "oooo");
  spawn('b', "oooo");
  one[0].step();
  EXPECT_EQ(log, "aba");
  EXPECT_EQ(one[0].counters().tasks.load(), 3U);
  one[0].step();
  EXPECT_EQ(log, "ababab");
  one.run_until_idle();
  EXPECT_EQ(log, "ababababab");
}

TEST_P(Turns, OfOneThatRetriesComeBehindTheOthers) {
  Machine& one = machine(8);
  spawn('a', "r");
  spawn('b', "o");
  one.run_until_idle();
  EXPECT_EQ(log, "abab");
  EXPECT_EQ(one[0].counters().retries.load(), 1U);
}

TEST_P(Turns, BeginAtOnceForOneThatTakesAPlaceAndWaitsForNoLines) {
  Machine& one = machine(2);
  spawn('a', "");
  spawn('b', "o");
  spawn('c', "o");
  one.run_until_idle();
  EXPECT_EQ(log, "acbcb");
}

TEST_P(Turns, OfOneThatTakesAPlaceAndWaitsForLinesComeInTheNextRound) {
  Machine& one = machine(2);
  spawn('a', "");
  spawn('b', "o");
  spawn('c', "o", 1);
  one.run_until_idle();
  EXPECT_EQ(log, "abcbc");
}

INSTANTIATE_TEST_SUITE_P(AllModes, Turns,
                         ::testing::Values(prefetch_mode::at_spawn, prefetch_mode::distance,
                                           prefetch_mode::off),
                         [](const auto& mode) { return std::string{prefetch_mode_name(mode.param)}; });

}  // namespace
}  // namespace mxkv::runtime

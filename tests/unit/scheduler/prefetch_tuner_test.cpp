// The prefetch tuner against invented costs of a task: the setting that it finds, under which disturbances,
// and that it finds a new one when the costs change.
#include "runtime/scheduler/prefetch_tuner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "runtime/base/random.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

/// Nanoseconds of a task by the distance; at spawn is kAtSpawn.
using Curve = std::function<double(std::uint32_t distance)>;
constexpr std::uint32_t kAtSpawn = 0;
constexpr std::uint32_t kWindow = 64;
constexpr std::uint64_t kLook = 64;

std::uint32_t chosen(const PrefetchTuner& tuner) {
  const PrefetchOptions setting = tuner.setting();
  EXPECT_EQ(setting.window, kWindow);
  EXPECT_TRUE(setting.mode == prefetch_mode::at_spawn || setting.mode == prefetch_mode::distance);
  return setting.mode == prefetch_mode::at_spawn ? kAtSpawn : setting.distance;
}

/// A valley with its bottom of 40 ns at `best`, at spawn off by itself.
Curve valley(std::uint32_t best, double at_spawn) {
  return [best, at_spawn](std::uint32_t distance) {
    return distance == kAtSpawn ? at_spawn : 40 + 15 * std::abs(std::log2(double(distance) / best));
  };
}

/// Reports costs to the tuner as a worker would. `cost` may depend on anything.
struct Driven {
  explicit Driven(Curve curve) : cost(std::move(curve)) {}

  void look() {
    const std::uint32_t now = chosen(tuner);
    seen.insert(now);
    executed += kLook;
    spent_on[tuner.surveying() ? 1 : 0] += kLook;
    if (!tuner.wants_time()) {
      tuner.add_untimed(kLook);
      return;
    }
    ++timed;
    const bool changed = tuner.add(kLook, static_cast<std::uint64_t>(cost(now) * kLook));
    EXPECT_EQ(changed, chosen(tuner) != now);
  }
  void run(std::uint64_t tasks) {
    for (const std::uint64_t end = executed + tasks; executed < end;) {
      look();
    }
  }
  /// Through the survey that goes on, or the next one.
  void run_a_survey() {
    for (const std::uint64_t surveys = tuner.surveys(); tuner.surveys() == surveys;) {
      look();
    }
  }

  Curve cost;
  PrefetchTuner tuner{kWindow};
  std::set<std::uint32_t> seen;
  std::uint64_t executed = 0;
  std::uint64_t spent_on[2] = {0, 0};
  std::uint64_t timed = 0;
};

TEST(PrefetchTuner, ComesWithinFivePercentOfTheBestDistanceWhereverItLies) {
  for (std::uint32_t best = 1; best <= 64; ++best) {
    const Curve curve = valley(best, 200);
    Driven driven{curve};
    driven.run_a_survey();
    EXPECT_LE(curve(chosen(driven.tuner)), 1.05 * curve(best)) << best;
  }
}

TEST(PrefetchTuner, TakesAtSpawnWhereThatIsBest) {
  Driven driven{valley(24, 38)};
  driven.run_a_survey();
  EXPECT_EQ(chosen(driven.tuner), kAtSpawn);
  EXPECT_EQ(driven.seen.count(1), 1U) << "but not before it tried others";
  EXPECT_EQ(driven.seen.count(64), 1U);
}

TEST(PrefetchTuner, IsNotMisledByNoiseOutliersAndDrift) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random{seed};
    const auto best = static_cast<std::uint32_t>(1 + random.below(64));
    const Curve curve = valley(best, 90);
    std::uint64_t looks = 0;
    Driven driven{[&](std::uint32_t distance) {
      const double noise = 0.8 + 0.4 * static_cast<double>(random.below(1000)) / 1000;
      const double outlier = random.below(200) == 0 ? 50 : 1;  // the machine was elsewhere
      const double drift = 1 + 0.5 * std::sin(static_cast<double>(++looks) / 3000);
      return curve(distance) * noise * outlier * drift;
    }};
    driven.run_a_survey();
    EXPECT_LE(curve(chosen(driven.tuner)), 1.1 * curve(best)) << "best " << best << ", seed " << seed;
  }
}

TEST(PrefetchTuner, StaysOnAPlateauInPlaceOfWandering) {
  Random random{3};
  Driven driven{[&random](std::uint32_t) { return 50 + static_cast<double>(random.below(100)) / 100; }};
  driven.run_a_survey();
  EXPECT_EQ(chosen(driven.tuner), kAtSpawn) << "what was in force at the start";
  driven.run_a_survey();
  driven.run_a_survey();
  EXPECT_EQ(chosen(driven.tuner), kAtSpawn);
}

TEST(PrefetchTuner, StaysWhereItIsBetweenSurveysAndSurveysSeldom) {
  Driven driven{valley(16, 100)};
  driven.run_a_survey();
  const std::uint32_t found = chosen(driven.tuner);
  driven.seen.clear();
  driven.run(PrefetchTuner::kTasksBetweenSurveys - kLook);
  EXPECT_EQ(driven.seen, std::set<std::uint32_t>{found});
  driven.run(10 * PrefetchTuner::kTasksBetweenSurveys);
  EXPECT_GE(driven.tuner.surveys(), 9U);
  EXPECT_LT(driven.spent_on[1], driven.executed / 50);
  EXPECT_LT(driven.timed, driven.executed / kLook / 6) << "settled, it seldom asks for the time";
}

TEST(PrefetchTuner, TunesAnewSoonAfterTheCostOfATaskChanged) {
  Driven driven{valley(4, 100)};
  driven.run_a_survey();
  EXPECT_EQ(chosen(driven.tuner), 4U);
  driven.cost = valley(48, 130);  // larger tasks: four slots are far too near
  driven.run(2 * PrefetchTuner::kTasksBeforeEarlySurvey);
  EXPECT_EQ(driven.tuner.surveys(), 2U);
  EXPECT_NEAR(chosen(driven.tuner), 48, 6);
  driven.cost = valley(48, 30);  // the setting in force costs the same: only the next survey can tell
  driven.run(PrefetchTuner::kTasksBetweenSurveys * 5 / 4);
  EXPECT_EQ(chosen(driven.tuner), kAtSpawn);
}

TEST(PrefetchTuner, TriesNoDistanceBeyondTheWindow) {
  for (const std::uint32_t window : {1U, 5U, 20U}) {
    PrefetchTuner tuner{window};
    for (int looks = 0; looks < 100'000; ++looks) {
      EXPECT_LE(tuner.setting().distance, window);
      tuner.add(kLook, 1000);
    }
    EXPECT_GE(tuner.surveys(), 1U);
  }
}

TEST(PrefetchTuner, CountsNotWhatTheSettingBeforePrefetched) {
  // The first tasks after each change are dear, the more so the nearer the new setting is to the best one.
  std::uint32_t last = kAtSpawn;
  std::uint64_t since_change = 0;
  const Curve curve = valley(8, 100);
  Driven driven{[&](std::uint32_t distance) {
    since_change = distance == last ? since_change + kLook : 0;
    last = distance;
    return since_change < PrefetchTuner::kUncountedTasks ? 10'000 / curve(distance) : curve(distance);
  }};
  driven.run_a_survey();
  EXPECT_EQ(chosen(driven.tuner), 8U);
}

/// A worker whose tasks take time as the setting in force says.
struct TunedWorker : ::testing::Test {
  static RuntimeOptions tuned() {
    RuntimeOptions options = testing::unpinned(1);
    options.prefetch.mode = prefetch_mode::tuned;
    return options;
  }
  /// Tasks that respawn for ever.
  void busy(const Curve& curve) {
    for (std::uint32_t i = 0; i < kWindow; ++i) {
      machine[0].spawn(testing::lambda_task(machine[0], [this, &curve](MxTask&, Worker& worker) {
        const PrefetchOptions now = worker.prefetch();
        const double ns = curve(now.mode == prefetch_mode::at_spawn ? kAtSpawn : now.distance);
        machine.clock.advance_us(static_cast<std::uint64_t>(ns));  // the test's clock knows no less
        return step::again;
      }));
    }
  }
  void work(std::uint64_t tasks) {
    while (machine[0].counters().tasks.load() < tasks) {
      machine[0].step();
    }
  }
  testing::Machine machine{tuned()};
};

TEST_F(TunedWorker, FindsTheDistanceByTheTimeThatItsTasksTake) {
  const Curve curve = valley(24, 120);
  busy(curve);
  work(1'000'000);
  EXPECT_EQ(machine[0].prefetch().mode, prefetch_mode::distance);
  EXPECT_LE(curve(machine[0].prefetch().distance), 1.05 * curve(24));
  const PrefetchInForce told = machine[0].prefetch_in_force();
  EXPECT_TRUE(told.tuned);
  EXPECT_EQ(told.distance, machine[0].prefetch().distance);
}

TEST_F(TunedWorker, TunesNoMoreWhenItIsSetByHand) {
  const Curve curve = valley(24, 120);
  busy(curve);
  work(1000);
  EXPECT_TRUE(machine[0].prefetch_in_force().tuned);
  machine[0].set_prefetch({.mode = prefetch_mode::distance, .distance = 3, .window = kWindow});
  work(1'000'000);
  EXPECT_EQ(machine[0].prefetch().distance, 3U);
  EXPECT_FALSE(machine[0].prefetch_in_force().tuned);
}

}  // namespace
}  // namespace mxkv::runtime

// The setting in force in a worker's buffer: as set, or as the tuner chose.
#include "runtime/scheduler/prefetch_control.hpp"

#include <gtest/gtest.h>

namespace mxkv::runtime {
namespace {

struct PrefetchControlTest : ::testing::Test {
  /// Runs `tasks` tasks, each of which takes a nanosecond.
  void observe(std::uint64_t tasks) {
    control.observe(buffer, clock, [&] {
      ++looks;
      clock.advance_us(1);
      return tasks;
    });
  }
  PrefetchBuffer buffer{PrefetchOptions{}};
  ManualClock clock;
  PrefetchControl control;
  int looks = 0;
};

TEST_F(PrefetchControlTest, WhatIsSetIsInForceAtOnce) {
  control.set(PrefetchOptions{.mode = prefetch_mode::distance, .distance = 5, .window = 9}, buffer);
  EXPECT_FALSE(control.tunes());
  EXPECT_EQ(control.in_force().mode, prefetch_mode::distance);
  EXPECT_EQ(control.in_force().distance, 5U);
  EXPECT_FALSE(control.in_force().tuned);
  EXPECT_EQ(buffer.options().window, 9U);
}

TEST_F(PrefetchControlTest, ATunersSettingIsInForceAndChangesWithItsSurvey) {
  control.set(PrefetchOptions{.mode = prefetch_mode::tuned, .window = 64}, buffer);
  EXPECT_TRUE(control.tunes());
  EXPECT_TRUE(control.in_force().tuned);
  const PrefetchInForce first = control.in_force();
  bool changed = false;
  for (int i = 0; i < 1000 && !changed; ++i) {
    observe(64);
    changed = control.in_force().mode != first.mode || control.in_force().distance != first.distance;
  }
  EXPECT_TRUE(changed) << "the survey tries others";
  EXPECT_EQ(buffer.options().mode, control.in_force().mode);
  EXPECT_GT(looks, 0);
}

TEST_F(PrefetchControlTest, SettingItAgainEndsTheTuning) {
  control.set(PrefetchOptions{.mode = prefetch_mode::tuned}, buffer);
  control.set(PrefetchOptions{.mode = prefetch_mode::off}, buffer);
  EXPECT_FALSE(control.tunes());
  EXPECT_EQ(control.in_force().mode, prefetch_mode::off);
#ifndef NDEBUG
  EXPECT_DEATH(observe(1), "only a tuner");
#endif
}

}  // namespace
}  // namespace mxkv::runtime

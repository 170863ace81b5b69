// When a worker counts as idle, by the rounds that start and stop its clock.
#include "runtime/scheduler/idle_clock.hpp"

#include <gtest/gtest.h>

namespace mxkv::runtime {
namespace {

TEST(IdleClock, CountsFromTheFirstEmptyRoundToTheNextBusyOne) {
  IdleClock clock;
  EXPECT_EQ(clock.sum_ns(1000), 0U);
  clock.start(1000);
  clock.start(1200);  // still idle
  EXPECT_TRUE(clock.runs());
  clock.stop(1500);
  EXPECT_FALSE(clock.runs());
  EXPECT_EQ(clock.sum_ns(9000), 500U);
}

TEST(IdleClock, TellsOfTheTimeThatGoesOn) {
  IdleClock clock;
  clock.start(1000);
  clock.stop(1500);
  clock.start(2000);
  EXPECT_EQ(clock.sum_ns(2000), 500U);
  EXPECT_EQ(clock.sum_ns(2300), 800U);
  EXPECT_EQ(clock.sum_ns(1900), 500U) << "a look with an older time";
}

}  // namespace
}  // namespace mxkv::runtime

// The worker's action after a round: going on, a pause, or blocking; and for how long.
#include "runtime/scheduler/idling.hpp"

#include <gtest/gtest.h>

namespace mxkv::runtime {
namespace {

using after_round = Idling::action;

constexpr RoundOutcome kBusy{.busy = true, .any_ended = true};
constexpr RoundOutcome kEmpty{};

TEST(Idling, AWorkerBlocksAfterItsEmptyRoundsAndBeginsAnew) {
  Idling idling{3};
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(idling.after(kEmpty), after_round::pause);
    EXPECT_EQ(idling.after(kEmpty), after_round::pause);
    EXPECT_EQ(idling.after(kEmpty), after_round::block);
  }
}

TEST(Idling, ABusyRoundBeginsTheCountAnew) {
  Idling idling{2};
  EXPECT_EQ(idling.after(kEmpty), after_round::pause);
  EXPECT_EQ(idling.after(kBusy), after_round::go_on);
  EXPECT_EQ(idling.after(kEmpty), after_round::pause);
  EXPECT_EQ(idling.after(kEmpty), after_round::block);
}

TEST(Idling, WithoutSpinningItBlocksAtOnce) {
  for (const std::uint32_t spin_rounds : {0U, 1U}) {
    Idling idling{spin_rounds};
    EXPECT_EQ(idling.after(kEmpty), after_round::block);
    EXPECT_EQ(idling.after(kEmpty), after_round::block);
  }
}

TEST(Idling, ARoundInWhichTasksOnlyWaitedForLaterIsAnEmptyOne) {
  Idling idling{1};
  EXPECT_EQ(idling.after({.busy = true, .any_later = true}), after_round::block);
  EXPECT_EQ(idling.after({.busy = true, .any_ended = true, .any_later = true}), after_round::go_on);
}

TEST(Idling, OthersRunFirstWhereTasksRetriedAndNoneEnded) {
  EXPECT_TRUE(Idling::yields({.busy = true, .any_retried = true}));
  EXPECT_FALSE(Idling::yields({.busy = true, .any_ended = true, .any_retried = true}));
  EXPECT_FALSE(Idling::yields(kEmpty));
}

TEST(Idling, TasksForLaterAndRetiredObjectsEndTheBlocking) {
  EXPECT_EQ(Idling::block_ns(false, false, 7), Poller::kForever);
  EXPECT_EQ(Idling::block_ns(false, true, 7), 7U);
  EXPECT_EQ(Idling::block_ns(true, true, 1'000'000'000), Idling::kLaterAfterNs);
}

}  // namespace
}  // namespace mxkv::runtime

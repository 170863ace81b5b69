// The worker's action after a round: going on, a pause, or blocking; and for how long.
#include "runtime/scheduler/idling.hpp"

#include <gtest/gtest.h>

namespace mxkv::runtime {
namespace {

using after_round = Idling::action;

constexpr RoundOutcome kBusy{.busy = true, .any_ended = true};
constexpr RoundOutcome kEmpty{};

/// A worker's rounds, with a clock that moves as the test says.
class Rounds {
 public:
  explicit Rounds(std::uint32_t spin_rounds) : spin_rounds_(spin_rounds) {}

  after_round round(const RoundOutcome& outcome, std::uint64_t later_ns = 100) {
    now_ns_ += later_ns;
    return idling_.after(outcome, now_ns_, spin_rounds_);
  }
  /// Work that comes so long after the worker blocked.
  after_round work_after(std::uint64_t gap_ns) {
    idling_.begin_gap(now_ns_);
    return round(kBusy, gap_ns);
  }
  void learn(std::uint64_t gap_ns, int times = 50) {
    for (int time = 0; time < times; ++time) {
      work_after(gap_ns);
    }
  }

 private:
  Idling idling_;
  std::uint32_t spin_rounds_;
  std::uint64_t now_ns_ = 1'000'000;
};

TEST(Idling, AtFirstAWorkerBlocksBehindItsWork) {
  Rounds rounds{64};
  EXPECT_EQ(rounds.round(kEmpty), after_round::block);
  EXPECT_EQ(rounds.round(kBusy), after_round::block);
}

TEST(Idling, WhereWorkComesSoonItLooksAgainBeforeItBlocks) {
  Rounds rounds{3};
  rounds.learn(Idling::kShortGapNs);
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(rounds.round(kBusy), after_round::go_on);
    EXPECT_EQ(rounds.round(kEmpty), after_round::pause);
    EXPECT_EQ(rounds.round(kEmpty), after_round::pause);
    EXPECT_EQ(rounds.round(kEmpty), after_round::block);
  }
}

TEST(Idling, ItLooksNoLongerThanAShortGapLasts) {
  Rounds rounds{1'000'000};
  rounds.learn(1);
  EXPECT_EQ(rounds.round(kEmpty), after_round::pause);
  EXPECT_EQ(rounds.round(kEmpty, Idling::kShortGapNs), after_round::pause);
  EXPECT_EQ(rounds.round(kEmpty, 1), after_round::block);
}

TEST(Idling, ALongGapCountsMoreThanAShortOne) {
  Rounds rounds{64};
  rounds.learn(1);
  EXPECT_EQ(rounds.work_after(Idling::kShortGapNs + 1), after_round::go_on);
  EXPECT_EQ(rounds.work_after(Idling::kShortGapNs + 1), after_round::block);
  for (int time = 0; time < 100; ++time) {  // of three gaps one is long: on the whole spinning does not pay
    EXPECT_EQ(rounds.work_after(1'000'000), after_round::block);
    EXPECT_EQ(rounds.work_after(1), after_round::block);
    EXPECT_EQ(rounds.work_after(1), after_round::block);
  }
  rounds.learn(1);
  EXPECT_EQ(rounds.round(kBusy), after_round::go_on);
}

TEST(Idling, WithoutSpinningItBlocksAtOnce) {
  for (const std::uint32_t spin_rounds : {0U, 1U}) {
    Rounds rounds{spin_rounds};
    rounds.learn(1);
    EXPECT_EQ(rounds.round(kBusy), after_round::block);
    EXPECT_EQ(rounds.round(kEmpty), after_round::block);
  }
}

TEST(Idling, ARoundInWhichTasksOnlyWaitedForLaterIsAnEmptyOne) {
  Rounds rounds{2};
  rounds.learn(1);
  EXPECT_EQ(rounds.round({.busy = true, .any_later = true}), after_round::pause);
  EXPECT_EQ(rounds.round({.busy = true, .any_later = true}), after_round::block);
  EXPECT_EQ(rounds.round({.busy = true, .any_ended = true, .any_later = true}), after_round::go_on);
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

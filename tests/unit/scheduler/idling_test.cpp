// The worker's action after a round: going on, a pause, or blocking; and for how long.
#include "runtime/scheduler/idling.hpp"

#include <gtest/gtest.h>

#include <cstdint>

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
  /// One task that comes in a gap, and takes so much CPU time by the way that the worker waited for it. Returns
  /// whether it spun.
  bool task(std::uint64_t blocking_ns, std::uint64_t spinning_ns) {
    const bool spins = round(kEmpty) == after_round::pause;
    round(kBusy);
    ++tasks_;
    cpu_ns_ += spins ? spinning_ns : blocking_ns;
    if (idling_.phase_is_over()) {
      idling_.next_phase(cpu_ns_, tasks_);
    }
    return spins;
  }
  /// How many of so many tasks it spun for.
  int spun(int tasks, std::uint64_t blocking_ns, std::uint64_t spinning_ns) {
    int count = 0;
    for (int number = 0; number < tasks; ++number) {
      count += task(blocking_ns, spinning_ns) ? 1 : 0;
    }
    return count;
  }
  /// Work until it has gone its way since a comparison that this way won.
  void learn_to_spin() { spun(kWon, 20'000, 10'000); }
  [[nodiscard]] bool compares_next() const { return idling_.phase_is_over(); }

  /// Tasks of a comparison at most, half of them in each way.
  static constexpr int kComparison = int{2 * Idling::kPairs * Idling::kPhaseRounds};
  /// Tasks of a comparison that the other way lost, or won, as soon as it could.
  static constexpr int kLost = int{2 * (Idling::kPairs - Idling::kWins + 1) * Idling::kPhaseRounds};
  static constexpr int kWon = int{2 * Idling::kWins * Idling::kPhaseRounds};

 private:
  Idling idling_;
  std::uint32_t spin_rounds_;
  std::uint64_t now_ns_ = 1'000'000;
  std::uint64_t cpu_ns_ = 0;
  std::uint64_t tasks_ = 0;
};

TEST(Idling, AtFirstAWorkerBlocksBehindItsWork) {
  Rounds rounds{64};
  EXPECT_EQ(rounds.round(kEmpty), after_round::block);
  EXPECT_EQ(rounds.round(kBusy), after_round::block);
}

TEST(Idling, WhereSpinningIsCheaperItLooksAgainBeforeItBlocks) {
  Rounds rounds{3};
  rounds.learn_to_spin();
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(rounds.round(kBusy), after_round::go_on);
    EXPECT_EQ(rounds.round(kEmpty), after_round::pause);
    EXPECT_EQ(rounds.round(kEmpty), after_round::pause);
    EXPECT_EQ(rounds.round(kEmpty), after_round::block);
  }
}

TEST(Idling, AComparisonTriesBothWaysEquallyOftenUntilItIsDecided) {
  Rounds rounds{64};
  EXPECT_EQ(rounds.spun(Rounds::kLost, 10'000, 10'000), Rounds::kLost / 2);
  EXPECT_EQ(rounds.spun(2 * int{Idling::kLeastStay}, 10'000, 10'000), 0);
  EXPECT_EQ(rounds.spun(Rounds::kWon, 20'000, 10'000), Rounds::kWon / 2);
  EXPECT_EQ(rounds.spun(int{Idling::kLeastStay}, 20'000, 10'000), int{Idling::kLeastStay});
}

TEST(Idling, ItGoesTheCheaperWayAndComparesMoreRarely) {
  Rounds rounds{64};
  for (int time = 0; time < 2; ++time) {
    constexpr int kMany = 30 * int{Idling::kMostStay};
    EXPECT_LT(rounds.spun(kMany, 10'000, 10'001), kMany / 10);
    EXPECT_GT(rounds.spun(kMany, 10'000, 9'999), kMany - kMany / 10);
  }
}

TEST(Idling, OnePreemptionDoesNotDecide) {
  Rounds rounds{64};
  rounds.spun(Rounds::kWon + int{Idling::kLeastStay}, 20'000, 10'000);
  EXPECT_TRUE(rounds.task(20'000, 10'000'000));  // of the first phase of the next comparison
  rounds.spun(Rounds::kComparison, 20'000, 10'000);
  EXPECT_EQ(rounds.round(kBusy), after_round::go_on);
}

TEST(Idling, VainSpinsInARowBringTheNextComparison) {
  Rounds rounds{3};
  rounds.learn_to_spin();
  for (std::uint32_t vain = 1; vain < Idling::kVain; ++vain) {
    rounds.round(kEmpty);
    rounds.round(kEmpty);
    EXPECT_EQ(rounds.round(kEmpty), after_round::block);
    EXPECT_EQ(rounds.round(kEmpty), after_round::block);  // woken for nothing: the same gap
    EXPECT_FALSE(rounds.compares_next());
    rounds.round(kBusy);
  }
  rounds.round(kEmpty);
  rounds.round(kBusy);  // not in vain: they begin again
  for (std::uint32_t vain = 1; vain <= Idling::kVain; ++vain) {
    EXPECT_FALSE(rounds.compares_next());
    rounds.round(kEmpty, 2 * Idling::kMostSpinNs);
    rounds.round(kEmpty, 2 * Idling::kMostSpinNs);
    rounds.round(kBusy);
  }
  EXPECT_TRUE(rounds.compares_next());
}

TEST(Idling, WithoutATaskNothingIsLearned) {
  Idling idling;
  for (std::uint64_t phases = 0; phases < 1000; ++phases) {
    idling.next_phase(std::uint64_t{1'000'000} * phases, 0);
  }
  EXPECT_EQ(idling.after(kBusy, 1'000'000, 64), after_round::block);
}

TEST(Idling, ItLooksNoLongerThanItMay) {
  Rounds rounds{1'000'000};
  rounds.learn_to_spin();
  EXPECT_EQ(rounds.round(kEmpty), after_round::pause);
  EXPECT_EQ(rounds.round(kEmpty, Idling::kMostSpinNs), after_round::pause);
  EXPECT_EQ(rounds.round(kEmpty, 1), after_round::block);
}

TEST(Idling, WithoutSpinningItBlocksAtOnce) {
  for (const std::uint32_t spin_rounds : {0U, 1U}) {
    Rounds rounds{spin_rounds};
    EXPECT_EQ(rounds.spun(10 * Rounds::kComparison, 20'000, 10'000), 0);
    EXPECT_EQ(rounds.round(kBusy), after_round::block);
  }
}

TEST(Idling, ARoundInWhichTasksOnlyWaitedForLaterIsAnEmptyOne) {
  Rounds rounds{2};
  rounds.learn_to_spin();
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

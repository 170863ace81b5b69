// A worker's reclamation by itself: when the epoch advances, which run is due, and the account's figures.
#include "runtime/scheduler/reclaimer.hpp"

#include <gtest/gtest.h>

#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

constexpr std::uint64_t kIntervalNs = 1'000'000;

struct ReclaimerTest : ::testing::Test {
  using run = Reclaimer::run;
  ReclaimerTest() { epochs.enter(kWorker); }
  ~ReclaimerTest() override { reclaimer.drain_stopped(kFunctions, worker()); }
  Worker& worker() { return machine[0]; }  // for the functions alone
  void retire(std::size_t bytes = 1) { reclaimer.retire(&freed, ReclaimKind{0}, bytes); }
  /// A round `ns` after the one before.
  bool tick(std::uint64_t ns) {
    epochs.enter(kWorker);
    return reclaimer.tick(now_ns += ns);
  }
  void begin(run kind) {
    reclaimer.announce(kind);
    reclaimer.begin(kind, kFunctions, worker());
  }
  [[nodiscard]] std::size_t shown() const { return budget.category_bytes(memory_category::retired); }

  static constexpr WorkerId kWorker{0};
  static constexpr EpochOptions kOptions{.interval_ms = 1, .advance_bytes = 1000};
  static constexpr ReclaimFunction kFunctions[] = {[](Worker&, void* times) { ++*static_cast<int*>(times); }};

  testing::Machine machine{1};
  EpochManager epochs{1};
  MemoryBudget budget{MemoryBudget::kUnlimited, 1};
  WorkerCounters counters;
  TaskBlocks blocks{machine[0].task_heap()};
  Reclaimer reclaimer{epochs, kWorker, kOptions, blocks, budget.account(kWorker), counters};
  std::uint64_t now_ns = 0;
  int freed = 0;
};

TEST_F(ReclaimerTest, TheEpochAdvancesAfterAnIntervalOnlyWhileObjectsWait) {
  const std::uint64_t before = epochs.current();
  EXPECT_FALSE(tick(2 * kIntervalNs));
  EXPECT_EQ(epochs.current(), before);
  retire();
  EXPECT_TRUE(tick(0)) << "the last advance was long ago";
  EXPECT_EQ(epochs.current(), before + 1);
  static_cast<void>(tick(kIntervalNs / 2));
  EXPECT_EQ(epochs.current(), before + 1);
  static_cast<void>(tick(kIntervalNs / 2));
  EXPECT_EQ(epochs.current(), before + 2);
}

TEST_F(ReclaimerTest, ManyBytesAdvanceTheEpochBeforeTheInterval) {
  retire();
  static_cast<void>(tick(kIntervalNs));
  const std::uint64_t before = epochs.current();
  retire(kOptions.advance_bytes);
  static_cast<void>(tick(1));
  EXPECT_EQ(epochs.current(), before + 1);
  static_cast<void>(tick(1));
  EXPECT_EQ(epochs.current(), before + 1) << "what was counted does not count again";
}

TEST_F(ReclaimerTest, ARunFreesWhatIsOldEnoughOnce) {
  retire();
  for (int i = 0; i < 3 && freed == 0; ++i) {
    ASSERT_TRUE(tick(kIntervalNs));
    begin(run::usual);
  }
  EXPECT_EQ(freed, 1);
  EXPECT_TRUE(reclaimer.empty());
  EXPECT_EQ(counters.reclaimed.load(), 1U);
  EXPECT_EQ(counters.urgent_reclaims.load(), 0U);
}

TEST_F(ReclaimerTest, ARunThatFoundNothingWaitsForTheNextEpoch) {
  retire();
  ASSERT_TRUE(tick(kIntervalNs));
  begin(run::usual);
  EXPECT_EQ(freed, 0);
  EXPECT_FALSE(tick(1));
  EXPECT_TRUE(tick(kIntervalNs));
}

TEST_F(ReclaimerTest, ALargeListIsFreedInRunsOfBoundedLength) {
  for (std::size_t i = 0; i < 2 * Reclaimer::kMostPerRun.objects; ++i) {
    retire();
  }
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(tick(kIntervalNs));
  }
  epochs.enter(kWorker);
  begin(run::usual);
  EXPECT_GE(freed, static_cast<int>(Reclaimer::kMostPerRun.objects));
  EXPECT_LT(freed, static_cast<int>(2 * Reclaimer::kMostPerRun.objects));
  EXPECT_TRUE(tick(1)) << "the next run goes on in the same epoch";
}

TEST_F(ReclaimerTest, ARunIsUrgentWhenSeveralEpochsWorthOfBytesWait) {
  retire(Reclaimer::kUrgentAdvances * kOptions.advance_bytes - 1);
  EXPECT_EQ(reclaimer.due(), run::usual);
  retire(1);
  EXPECT_EQ(reclaimer.due(), run::urgent);
  begin(run::urgent);
  EXPECT_EQ(counters.urgent_reclaims.load(), 1U);
}

TEST_F(ReclaimerTest, OneRunOfAKindIsAnnouncedAtATimeAndNoneBeginsUnannounced) {
  reclaimer.announce(run::usual);
  EXPECT_TRUE(reclaimer.announced(run::usual));
  EXPECT_FALSE(reclaimer.announced(run::urgent));
  EXPECT_DEATH(reclaimer.announce(run::usual), "one run of a kind");
  reclaimer.withdraw(run::usual);
  EXPECT_FALSE(reclaimer.announced(run::usual));
  EXPECT_DEATH(reclaimer.begin(run::usual, kFunctions, worker()), "was announced");
}

TEST_F(ReclaimerTest, WithoutMemoryAllIsFreedAtOnce) {
  for (int i = 0; i < 10; ++i) {
    retire();
  }
  reclaimer.run_now(kFunctions, worker());
  EXPECT_EQ(freed, 10);
}

TEST_F(ReclaimerTest, APinKeepsWhatItMayHaveFound) {
  const std::uint8_t pin = epochs.pin(kWorker);
  retire();
  reclaimer.run_now(kFunctions, worker());
  EXPECT_EQ(freed, 0);
  epochs.unpin(kWorker, pin);
  reclaimer.run_now(kFunctions, worker());
  EXPECT_EQ(freed, 1);
}

TEST_F(ReclaimerTest, TheAccountShowsTheBytesThatWaitAfterEachRound) {
  retire(100);
  retire(20);
  EXPECT_EQ(shown(), 0U) << "a round is not over";
  static_cast<void>(tick(1));
  EXPECT_EQ(shown(), 120U);
  EXPECT_EQ(counters.retired_bytes.load(), 120U);
  EXPECT_EQ(budget.used_bytes(), 0U) << "they are charged as what they were";
  reclaimer.run_now(kFunctions, worker());
  EXPECT_EQ(shown(), 0U);
}

TEST_F(ReclaimerTest, NothingIsShownOfAListThatWasDrained) {
  retire(100);
  static_cast<void>(tick(1));
  reclaimer.drain_stopped(kFunctions, worker());
  EXPECT_EQ(freed, 1);
  EXPECT_EQ(shown(), 0U);
}

}  // namespace
}  // namespace mxkv::runtime

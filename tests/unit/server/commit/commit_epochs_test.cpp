// The rules of commit epochs, one thread. tests/stress has them with threads.
#include "server/commit/commit_epochs.hpp"

#include <gtest/gtest.h>

namespace mxkv::server {
namespace {

constexpr runtime::WorkerId kFirst{0};
constexpr runtime::WorkerId kSecond{1};

/// Epoch 7 is the first; orders up to 100 are old.
struct EpochsTest : ::testing::Test {
  CommitEpochs epochs{2, 7, 100};

  std::uint64_t begin(runtime::WorkerId worker, std::uint64_t now_us) {
    return epochs.begin_round(worker, now_us);
  }
  bool end(runtime::WorkerId worker, bool recorded = false) {
    return epochs.end_round(worker, epochs.current(), recorded);
  }
};

TEST_F(EpochsTest, BeginsBehindTheLastDurableEpoch) {
  EXPECT_EQ(epochs.current(), 7U);
  EXPECT_EQ(epochs.durable(), 6U);
  EXPECT_EQ(epochs.last_recorded(), 6U);
  EXPECT_EQ(epochs.horizon_us(0), 100U);
}

TEST_F(EpochsTest, ParkedWorkersAreNotWaitedFor) {
  EXPECT_EQ(epochs.close(200), 7U);
  EXPECT_EQ(epochs.current(), 8U);
  EXPECT_TRUE(epochs.await_passed(7));
}

TEST_F(EpochsTest, AWorkerPassesAtTheEndOfItsRoundAndTellsTheCloserIfItIsTheLast) {
  epochs.unpark(kFirst);
  epochs.unpark(kSecond);
  EXPECT_FALSE(end(kFirst)) << "nobody waits";
  EXPECT_FALSE(end(kSecond));
  epochs.close(200);
  EXPECT_FALSE(epochs.await_passed(7));
  EXPECT_FALSE(end(kFirst)) << "the other one is not past it";
  EXPECT_FALSE(epochs.await_passed(7));
  EXPECT_TRUE(end(kSecond));
  EXPECT_FALSE(end(kSecond)) << "it has passed";
  EXPECT_TRUE(epochs.await_passed(7));
}

TEST_F(EpochsTest, AWorkerThatParksLastTellsTheCloser) {
  epochs.unpark(kFirst);
  end(kFirst);
  epochs.close(200);
  EXPECT_FALSE(epochs.await_passed(7));
  EXPECT_TRUE(epochs.park(kFirst));
  EXPECT_TRUE(epochs.await_passed(7));
}

TEST_F(EpochsTest, AWorkerThatHandedOverBeforeTheEpochEndedHasNotPassedIt) {
  epochs.unpark(kFirst);
  const std::uint64_t seen = epochs.current();  // it seals the epochs below 7
  epochs.close(200);
  static_cast<void>(epochs.end_round(kFirst, seen, true));
  EXPECT_FALSE(epochs.await_passed(7));
}

TEST_F(EpochsTest, AWorkerThatWakesUpIsWaitedForUntilItsRoundEnds) {
  epochs.unpark(kFirst);
  epochs.close(200);
  EXPECT_FALSE(epochs.await_passed(7));
}

TEST_F(EpochsTest, MintClocksNeverGoBackAndAreAboveTheLastClose) {
  epochs.unpark(kFirst);
  EXPECT_EQ(begin(kFirst, 50), 100U) << "the first horizon";
  EXPECT_EQ(begin(kFirst, 150), 150U);
  EXPECT_EQ(begin(kFirst, 120), 150U);
  epochs.close(400);
  EXPECT_EQ(begin(kFirst, 160), 400U);
  EXPECT_EQ(begin(kFirst, 100), 400U);
}

TEST_F(EpochsTest, ACloseThatComesWithAnEarlierClockCountsAsTheLastOne) {
  epochs.close(400);
  epochs.close(300);
  EXPECT_EQ(epochs.horizon_of(8), 400U);
}

TEST_F(EpochsTest, TheHorizonIsTheCloseIfNoRoundWentOnBehindIt) {
  epochs.unpark(kFirst);
  begin(kFirst, 150);
  end(kFirst);
  static_cast<void>(epochs.park(kFirst));
  epochs.close(200);
  ASSERT_TRUE(epochs.await_passed(7));
  EXPECT_EQ(epochs.horizon_of(7), 200U);
}

TEST_F(EpochsTest, ARoundThatRecordedBehindTheCloseLimitsTheHorizonToItsMintClock) {
  epochs.unpark(kFirst);
  epochs.unpark(kSecond);
  begin(kFirst, 150);
  begin(kSecond, 140);
  epochs.close(200);
  end(kFirst, true);
  end(kSecond, false);
  ASSERT_TRUE(epochs.await_passed(7));
  EXPECT_EQ(epochs.horizon_of(7), 150U) << "the second one recorded nothing with the new label";
}

TEST_F(EpochsTest, AWorkerThatPassedAndParkedLimitsTheHorizonAsWell) {
  epochs.unpark(kFirst);
  begin(kFirst, 150);
  epochs.close(200);
  end(kFirst, true);
  static_cast<void>(epochs.park(kFirst));
  EXPECT_EQ(epochs.horizon_of(7), 150U);
  epochs.close(300);
  EXPECT_EQ(epochs.horizon_of(8), 300U) << "that was the epoch before";
}

TEST_F(EpochsTest, TheHorizonNeverGoesBack) {
  epochs.close(200);
  epochs.publish_durable(7, 200);
  EXPECT_EQ(epochs.durable(), 7U);
  epochs.close(300);
  epochs.publish_durable(8, 150);
  EXPECT_EQ(epochs.durable(), 8U);
  EXPECT_EQ(epochs.horizon_us(0), 200U);
}

TEST_F(EpochsTest, ReadersThatDoNotHaveToWaitAreAboveTheHorizon) {
  epochs.free_readers(500);
  EXPECT_EQ(epochs.horizon_us(499), CommitEpochs::kNobodyWaits);
  EXPECT_EQ(epochs.horizon_us(500), 100U);
  epochs.free_readers(0);
  EXPECT_EQ(epochs.horizon_us(499), 100U);
}

TEST_F(EpochsTest, TheLastRecordedIsTheGreatestOfAll) {
  epochs.note_recorded(9);
  epochs.note_recorded(8);
  EXPECT_EQ(epochs.last_recorded(), 9U);
}

}  // namespace
}  // namespace mxkv::server

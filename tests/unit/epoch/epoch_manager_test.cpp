// Epochs and pins, one rule at a time. Random orders of all of them are in tests/schedule.
#include "runtime/epoch/epoch_manager.hpp"

#include <gtest/gtest.h>

namespace mxkv::runtime {
namespace {

constexpr WorkerId kFirstWorker{0};
constexpr WorkerId kSecondWorker{1};

void advance(EpochManager& epochs, std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    ASSERT_TRUE(epochs.try_advance());
  }
}

TEST(EpochManager, StampsARetiredObjectWithTheNextEpoch) {
  EpochManager epochs(1);
  EXPECT_EQ(epochs.current(), EpochManager::kFirst);
  EXPECT_EQ(epochs.retire_stamp(), EpochManager::kFirst + 1);
  advance(epochs, 3);
  EXPECT_EQ(epochs.current(), EpochManager::kFirst + 3);
  EXPECT_EQ(epochs.retire_stamp(), EpochManager::kFirst + 4);
}

TEST(EpochManager, WithNobodyInsideAnObjectGoesAfterTwoAdvances) {
  EpochManager epochs(2);
  const std::uint64_t stamp = epochs.retire_stamp();
  EXPECT_GE(stamp, epochs.horizon());
  advance(epochs, 1);
  EXPECT_GE(stamp, epochs.horizon()) << "a reader of the stamp's epoch may have found it";
  advance(epochs, 1);
  EXPECT_LT(stamp, epochs.horizon());
}

TEST(EpochManager, AWorkerHoldsTheHorizonAtTheEpochItPublished) {
  EpochManager epochs(2);
  epochs.enter(kFirstWorker);
  const std::uint64_t entered = epochs.published(kFirstWorker);
  advance(epochs, 5);
  epochs.enter(kSecondWorker);
  EXPECT_EQ(epochs.horizon(), entered);
  epochs.enter(kFirstWorker);
  EXPECT_EQ(epochs.published(kFirstWorker), epochs.current());
  EXPECT_EQ(epochs.horizon(), epochs.current());
}

TEST(EpochManager, AWorkerThatLeftHoldsNothing) {
  EpochManager epochs(2);
  epochs.enter(kFirstWorker);
  epochs.enter(kSecondWorker);
  advance(epochs, 2);
  epochs.enter(kSecondWorker);
  epochs.leave(kFirstWorker);
  EXPECT_EQ(epochs.published(kFirstWorker), EpochManager::kInfinity);
  EXPECT_EQ(epochs.horizon(), epochs.current());
}

TEST(EpochManager, APinOutlivesItsWorkersEpoch) {
  EpochManager epochs(1);
  epochs.enter(kFirstWorker);
  const std::uint64_t pinned_at = epochs.current();
  const std::uint8_t slot = epochs.pin(kFirstWorker);
  advance(epochs, 4);
  epochs.enter(kFirstWorker);
  EXPECT_EQ(epochs.horizon(), pinned_at);
  epochs.leave(kFirstWorker);
  EXPECT_EQ(epochs.horizon(), pinned_at) << "a pin needs no worker in an epoch";
  epochs.unpin(kFirstWorker, slot);
  EXPECT_EQ(epochs.horizon(), epochs.current());
}

TEST(EpochManager, APinMayEndOnAnotherWorker) {
  EpochManager epochs(2);
  epochs.enter(kFirstWorker);
  const std::uint64_t pinned_at = epochs.current();
  const std::uint8_t slot = epochs.pin(kFirstWorker);
  epochs.leave(kFirstWorker);
  advance(epochs, 2);
  epochs.enter(kSecondWorker);
  EXPECT_EQ(epochs.horizon(), pinned_at);
  epochs.unpin(kSecondWorker, slot);
  EXPECT_EQ(epochs.horizon(), epochs.current());
}

TEST(EpochManager, ManyPinsOfOneEpochHoldItUntilTheLastIsGone) {
  EpochManager epochs(1);
  epochs.enter(kFirstWorker);
  const std::uint64_t pinned_at = epochs.current();
  const std::uint8_t slot = epochs.pin(kFirstWorker);
  for (int i = 0; i < 99; ++i) {
    EXPECT_EQ(epochs.pin(kFirstWorker), slot);
  }
  epochs.leave(kFirstWorker);
  advance(epochs, 1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(epochs.horizon(), pinned_at);
    epochs.unpin(kFirstWorker, slot);
  }
  EXPECT_EQ(epochs.horizon(), epochs.current());
}

TEST(EpochManager, TheOldestPinnedEpochIsTheHorizon) {
  EpochManager epochs(1);
  epochs.enter(kFirstWorker);
  const std::uint8_t old_slot = epochs.pin(kFirstWorker);
  advance(epochs, 3);
  epochs.enter(kFirstWorker);
  const std::uint64_t younger = epochs.current();
  const std::uint8_t young_slot = epochs.pin(kFirstWorker);
  advance(epochs, 3);
  epochs.leave(kFirstWorker);
  EXPECT_EQ(epochs.horizon(), EpochManager::kFirst);
  epochs.unpin(kFirstWorker, old_slot);
  EXPECT_EQ(epochs.horizon(), younger);
  epochs.unpin(kFirstWorker, young_slot);
  EXPECT_EQ(epochs.horizon(), epochs.current());
}

TEST(EpochManager, DoesNotAdvanceIntoASlotThatAPinStillUses) {
  EpochManager epochs(1);
  epochs.enter(kFirstWorker);
  const std::uint8_t slot = epochs.pin(kFirstWorker);
  epochs.leave(kFirstWorker);
  advance(epochs, EpochManager::kSlots - 1);
  EXPECT_FALSE(epochs.try_advance());
  EXPECT_EQ(epochs.horizon(), EpochManager::kFirst);
  epochs.unpin(kFirstWorker, slot);
  EXPECT_TRUE(epochs.try_advance());
}

TEST(EpochManager, DoesNotAdvanceIntoASlotThatAWorkerMayStillPinIn) {
  EpochManager epochs(1);
  epochs.enter(kFirstWorker);
  advance(epochs, EpochManager::kSlots - 1);
  EXPECT_FALSE(epochs.try_advance());
  epochs.enter(kFirstWorker);
  EXPECT_TRUE(epochs.try_advance());
}

TEST(EpochManager, SlotsAreReusedForEverWithoutMixingEpochs) {
  EpochManager epochs(1);
  for (std::uint64_t round = 0; round < 5 * EpochManager::kSlots; ++round) {
    epochs.enter(kFirstWorker);
    const std::uint64_t pinned_at = epochs.current();
    const std::uint8_t slot = epochs.pin(kFirstWorker);
    epochs.leave(kFirstWorker);
    advance(epochs, 2);
    ASSERT_EQ(epochs.horizon(), pinned_at);
    epochs.unpin(kFirstWorker, slot);
    ASSERT_EQ(epochs.horizon(), epochs.current());
  }
}

#ifndef NDEBUG
TEST(EpochManagerDeathTest, AWorkerOutsideOfAllEpochsCannotPin) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EpochManager epochs(1);
  EXPECT_DEATH(static_cast<void>(epochs.pin(kFirstWorker)), "in no epoch cannot pin");
}
#endif

}  // namespace
}  // namespace mxkv::runtime

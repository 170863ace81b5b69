// Tests of the judge: histories that can be explained pass, others do not.
#include "tests/unit/index/linearizability.hpp"

#include <gtest/gtest.h>

namespace mxkv::index::testing {
namespace {

constexpr std::uint64_t kNever = HistoryEntry::kNever;

HistoryEntry upsert(std::uint64_t operand, std::optional<std::uint64_t> before, std::uint64_t invoked,
                    std::uint64_t responded) {
  return {verb::upsert, operand, 0, before.has_value(), before.value_or(0), invoked, responded};
}
HistoryEntry find(std::optional<std::uint64_t> seen, std::uint64_t invoked, std::uint64_t responded) {
  return {verb::find, 0, 0, seen.has_value(), seen.value_or(0), invoked, responded};
}
HistoryEntry remove(std::optional<std::uint64_t> before, std::uint64_t invoked, std::uint64_t responded) {
  return {verb::remove, 0, 0, before.has_value(), before.value_or(0), invoked, responded};
}

bool explained(std::initializer_list<HistoryEntry> entries) {
  KeyHistory history;
  for (const HistoryEntry& entry : entries) {
    history.add(entry);
  }
  return !history.contradiction().has_value();
}

TEST(KeyHistory, ExplainsWhatHappenedOneAfterTheOther) {
  EXPECT_TRUE(
      explained({find({}, 1, 2), upsert(5, {}, 3, 4), find(5, 5, 6), remove(5, 7, 8), find({}, 9, 10)}));
}

TEST(KeyHistory, ExplainsOverlapsInEitherOrder) {
  EXPECT_TRUE(explained({upsert(5, {}, 1, 10), find({}, 2, 3), find(5, 4, 5)}));
  EXPECT_TRUE(explained({upsert(5, 6, 1, 10), upsert(6, {}, 2, 9), find(6, 3, 4), find(5, 5, 6)}));
}

TEST(KeyHistory, RefusesAReadOfTheOldStateAfterTheWriteResponded) {
  EXPECT_FALSE(explained({upsert(5, {}, 1, 2), find({}, 3, 4)}));
}

TEST(KeyHistory, RefusesReadsThatGoBackInTime) {
  EXPECT_FALSE(explained({upsert(5, {}, 1, 10), find(5, 2, 3), find({}, 4, 5)}));
}

TEST(KeyHistory, RefusesALostUpdate) {
  EXPECT_FALSE(explained({upsert(5, {}, 1, 4), upsert(6, {}, 2, 3)}));
  EXPECT_FALSE(
      explained({upsert(1, {}, 1, 2), {verb::add, 2, 0, true, 1, 3, 10}, {verb::add, 4, 0, true, 1, 4, 9}}));
}

TEST(KeyHistory, RefusesANumberThatNobodyWrote) {
  EXPECT_FALSE(explained({upsert(5, {}, 1, 2), find(7, 3, 4)}));
}

TEST(KeyHistory, RefusesTwoSwapsFromTheSameNumber) {
  EXPECT_FALSE(explained({upsert(1, {}, 1, 2),
                          {verb::compare_swap, 2, 1, true, 1, 3, 10},
                          {verb::compare_swap, 3, 1, true, 1, 4, 9}}));
}

TEST(KeyHistory, OperationsThatWereCutOffMayHaveTakenEffectOrNot) {
  EXPECT_TRUE(explained({upsert(5, {}, 1, kNever), find({}, 2, 3), find(5, 4, 5)}));
  EXPECT_TRUE(explained({upsert(5, {}, 1, kNever), find({}, 2, 3), find({}, 4, 5)}));
  EXPECT_FALSE(explained({upsert(5, {}, 1, kNever), find(5, 2, 3), find({}, 4, 5)}));
}

TEST(KeyHistory, AClearRemovesWhateverThereIs) {
  const HistoryEntry clear{verb::clear, 0, 0, false, 0, 3, 6};
  EXPECT_TRUE(explained({upsert(5, {}, 1, 2), clear, find(5, 4, 5), find({}, 7, 8)}));
  EXPECT_FALSE(explained({upsert(5, {}, 1, 2), clear, find(5, 7, 8)}));
}

}  // namespace
}  // namespace mxkv::index::testing

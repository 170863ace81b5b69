// When a checkpoint is due, and how large the journal may become.
#include "server/durability/checkpoint_keeper.hpp"

#include <gtest/gtest.h>

namespace mxkv::server {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

TEST(CheckpointDue, WhenTheJournalHasGrownByAsMuchAsTheLastOneButAGibibyteAtLeast) {
  EXPECT_FALSE(checkpoint_due({}, {.written_bytes = kGiB - 1}));
  EXPECT_TRUE(checkpoint_due({}, {.written_bytes = kGiB}));
  EXPECT_FALSE(checkpoint_due({}, {.written_bytes = 3 * kGiB - 1, .last_bytes = 3 * kGiB}));
  EXPECT_TRUE(checkpoint_due({}, {.written_bytes = 3 * kGiB, .last_bytes = 3 * kGiB}));
}

TEST(CheckpointDue, WhenItHasGrownByTheBytesOfTheOption) {
  EXPECT_FALSE(checkpoint_due({.journal_bytes = 100}, {.written_bytes = 99, .last_bytes = 5}));
  EXPECT_TRUE(checkpoint_due({.journal_bytes = 100}, {.written_bytes = 100, .last_bytes = kGiB}));
}

TEST(CheckpointDue, AfterSomeTimeOnlyIfAnythingWasWritten) {
  EXPECT_FALSE(checkpoint_due({.every_ms = 50}, {.written_bytes = 0, .age_ms = 1000}));
  EXPECT_FALSE(checkpoint_due({.every_ms = 50}, {.written_bytes = 1, .age_ms = 49}));
  EXPECT_TRUE(checkpoint_due({.every_ms = 50}, {.written_bytes = 1, .age_ms = 50}));
  EXPECT_FALSE(checkpoint_due({}, {.written_bytes = 1, .age_ms = 1'000'000'000}));
}

TEST(CheckpointDue, WhenTheJournalBroke) {
  EXPECT_TRUE(checkpoint_due({}, {.broken = true}));
}

TEST(MostJournalBytes, AreFourCheckpointsAndFourGibibytesUnlessTheOptionSaysOtherwise) {
  EXPECT_EQ(most_journal_bytes(0, 0), 4 * kGiB);
  EXPECT_EQ(most_journal_bytes(0, kGiB), 8 * kGiB);
  EXPECT_EQ(most_journal_bytes(123, kGiB), 123U);
}

}  // namespace
}  // namespace mxkv::server

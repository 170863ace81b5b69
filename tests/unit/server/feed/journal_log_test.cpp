// The journal as the herald's log: when it is on, what a mark waits for, and when the writer wakes the herald.
#include "server/feed/journal_log.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace mxkv::server::test {
namespace {

struct JournalLogTest : ::testing::Test {
  CommitEpochs epochs{1, 5, 0};
  bool kept = false;
  unsigned woken = 0;
  std::vector<std::uint64_t> needed;
  JournalLog log{epochs,
                 {.need = [this](std::uint64_t epoch) { needed.push_back(epoch); },
                  .tag_is_kept = [this] { return kept; },
                  .wake = [this] { ++woken; }}};
};

TEST_F(JournalLogTest, IsOnWhileItIsWantedOnceTheTagIsOnDisk) {
  log.want(true);
  EXPECT_FALSE(log.step(0));
  EXPECT_FALSE(log.is_on()) << "the next process would not know a position";
  kept = true;
  EXPECT_FALSE(log.step(0));
  EXPECT_TRUE(log.is_on());
  log.want(false);
  EXPECT_FALSE(log.is_on());
  log.want(true);
  EXPECT_TRUE(log.is_on());
}

TEST_F(JournalLogTest, TheWriterWakesTheHeraldOnlyWhileSomebodyWatches) {
  log.changed();
  EXPECT_EQ(woken, 0U);
  log.want(true);
  log.changed();
  EXPECT_EQ(woken, 1U) << "also before the tag is on disk: that is what it waits for";
  log.want(false);
  log.changed();
  EXPECT_EQ(woken, 1U);
}

TEST_F(JournalLogTest, AMarkAsksForAllThatIsRecordedAndNotDurable) {
  EXPECT_EQ(log.need_recorded(), 4U);
  EXPECT_TRUE(needed.empty());
  epochs.note_recorded(5);
  EXPECT_EQ(log.need_recorded(), 5U);
  EXPECT_EQ(needed, std::vector<std::uint64_t>{5});
  static_cast<void>(epochs.close(1));
  epochs.publish_durable(5, 1);
  EXPECT_EQ(log.need_recorded(), 5U);
  EXPECT_EQ(needed.size(), 1U);
}

}  // namespace
}  // namespace mxkv::server::test

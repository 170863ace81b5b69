// When a follower knows how fresh it is: a log and a memory that answer by hand.
#include "server/cluster/freshness.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

namespace mxkv::server {
namespace {

class AskedLog final : public OrderedLog {
 public:
  void append(std::string /*bytes*/, AppendDone /*done*/) override {}
  void read(LogPosition /*from*/, LogSink& /*sink*/) override {}
  void stop() override {}
  void end(EndDone done) override { asked.push_back(std::move(done)); }
  void trim(LogPosition /*before*/) override {}

  std::vector<EndDone> asked;
};

class FreshnessTest : public ::testing::Test {
 protected:
  /// Settles at `ns`, with the log read up to `position` and the owner heard at `heard_ns` (by default at `ns`).
  std::uint64_t at(std::uint64_t ns, LogPosition position, std::optional<std::uint64_t> heard_ns = {}) {
    fresh.settle({.ns = ns,
                  .heard_ns = heard_ns.value_or(ns),
                  .position = position,
                  .begun = begun,
                  .finished = finished},
                 log);
    return fresh.from_ns();
  }

  AskedLog log;
  std::uint64_t begun = 0;  ///< calls of memory
  std::uint64_t finished = 0;
  Freshness fresh{100, 1000, {}};
};

TEST_F(FreshnessTest, CountsFromWhenItAskedOnceAllBeforeTheAnswerIsInMemory) {
  EXPECT_EQ(at(5000, 7), 0U);
  ASSERT_EQ(log.asked.size(), 1U);
  EXPECT_EQ(at(5200, 9), 0U) << "there is no answer";
  EXPECT_EQ(log.asked.size(), 1U) << "one question at a time";
  log.asked[0](10);
  begun = 3;
  EXPECT_EQ(at(5300, 9), 0U) << "something is not read";
  EXPECT_EQ(at(5400, 10), 0U) << "what was read is not in memory";
  begun = 4;  // later records do not matter
  finished = 2;
  EXPECT_EQ(at(5500, 11), 0U);
  finished = 3;
  EXPECT_EQ(at(5600, 12), 5000U);
  ASSERT_EQ(log.asked.size(), 2U);
  EXPECT_EQ(at(5650, 12), 5000U) << "as long as nothing newer is known";
  log.asked[1](12);
  finished = 4;
  EXPECT_EQ(at(5660, 12), 5600U);
  EXPECT_EQ(log.asked.size(), 2U) << "not more often than it is told to";
  EXPECT_EQ(at(5700, 12), 5600U);
  EXPECT_EQ(log.asked.size(), 3U);
}

TEST_F(FreshnessTest, AsksAgainWhereTheEngineDidNotSay) {
  at(5000, 7);
  log.asked[0](std::nullopt);
  EXPECT_EQ(at(5050, 7), 0U);
  EXPECT_EQ(at(5100, 7), 0U);
  ASSERT_EQ(log.asked.size(), 2U);
  log.asked[1](7);
  EXPECT_EQ(at(5110, 8), 5100U);
}

TEST_F(FreshnessTest, AWithdrawnStateIsNotFreshAndOldAnswersDoNotCount) {
  at(5000, 7);
  log.asked[0](7);
  EXPECT_EQ(at(5010, 8), 5000U);
  at(5100, 8);
  ASSERT_EQ(log.asked.size(), 2U);
  fresh.withdraw();
  EXPECT_EQ(fresh.from_ns(), 0U);
  log.asked[1](8);
  EXPECT_EQ(at(5150, 9), 0U);
  EXPECT_EQ(at(5200, 9), 0U);
  ASSERT_EQ(log.asked.size(), 3U);
  log.asked[2](9);
  EXPECT_EQ(at(5210, 10), 5200U);
}

TEST_F(FreshnessTest, AShardWithoutASignOfItsOwnerIsNotFresh) {
  at(5000, 7);
  log.asked[0](7);
  EXPECT_EQ(at(5001, 8), 5000U);
  EXPECT_EQ(at(5999, 8, 5001), 5000U);
  ASSERT_EQ(log.asked.size(), 2U);
  log.asked[1](8);
  EXPECT_EQ(at(6001, 8, 5001), 0U) << "the answer may be of a leader that was replaced";
  EXPECT_EQ(at(6100, 9, 6090), 0U);
  ASSERT_EQ(log.asked.size(), 3U);
  log.asked[2](9);
  EXPECT_EQ(at(6110, 10, 6105), 6100U);
}

TEST_F(FreshnessTest, OldMessagesInTheLogAreNoSignOfLife) {
  EXPECT_EQ(at(5000, 3), 0U);
  log.asked[0](7);
  EXPECT_EQ(at(5010, 5), 0U);
  EXPECT_EQ(at(5020, 7), 0U) << "all that a leader has that was replaced long ago";
  EXPECT_EQ(at(5120, 7), 0U);
  ASSERT_EQ(log.asked.size(), 2U);
  log.asked[1](7);
  EXPECT_EQ(at(5130, 7), 0U);
  EXPECT_EQ(at(5140, 8), 5120U);
}

TEST_F(FreshnessTest, AMessageThatIsReadLateIsNoLaterSignOfLife) {
  at(5000, 7);
  log.asked[0](7);
  EXPECT_EQ(at(5010, 8), 5000U);
  EXPECT_EQ(at(5100, 8), 5000U);
  log.asked[1](20);
  // Reading up to the leader's position takes longer than a lease; no later record arrives.
  for (LogPosition position = 9; position < 20; ++position) {
    at(5000 + 100 * position, position);
  }
  EXPECT_EQ(at(7100, 20), 0U);
  ASSERT_EQ(log.asked.size(), 3U);
  log.asked[2](20);
  EXPECT_EQ(at(7210, 20), 0U);
  EXPECT_EQ(at(7220, 21), 7100U);
}

}  // namespace
}  // namespace mxkv::server

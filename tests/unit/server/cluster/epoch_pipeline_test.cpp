// The pipeline by hand: two workers whose rounds the test ends, and logs that acknowledge when the test says so.
#include "server/cluster/epoch_pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/clock.hpp"
#include "server/cluster/record_body.hpp"

namespace mxkv::test {
namespace {

using namespace server;

class EpochPipelineTest : public testing::Test {
 protected:
  static constexpr std::size_t kWorkers = 2;

  EpochPipelineTest() {
    round(0);
    round(1);
  }
  ~EpochPipelineTest() override {
    pipeline.park(id(0));
    pipeline.park(id(1));
  }

  static runtime::WorkerId id(std::size_t worker) {
    return runtime::WorkerId{static_cast<std::uint16_t>(worker)};
  }
  /// A round of a worker that changes keys.
  std::uint64_t round(std::size_t worker, const std::vector<std::string>& keys = {}) {
    orders = std::max(orders, pipeline.begin_round(id(worker), clock.unix_us()).mint_us);
    for (const std::string& key : keys) {
      pipeline.buffer(id(worker)).append(GoneRecord{.order = ++orders, .key = key});
    }
    pipeline.end_round(id(worker));
    return pipeline.epochs().last_recorded();
  }
  /// Runs until nothing moves, with rounds of both workers in between.
  void turn() {
    for (int i = 0; i < 4; ++i) {
      while (pipeline.step()) {
      }
      round(0);
      round(1);
    }
  }
  [[nodiscard]] std::string keys_of(const std::string& body) const {
    std::string keys;
    RecordBodyReader reader{body};
    while (const std::optional<BodyEntry> entry = reader.next()) {
      if (const auto* gone = std::get_if<GoneRecord>(&entry->record)) {
        keys += std::string{gone->key} + ' ';
      } else if (const auto* range = std::get_if<RangeGoneRecord>(&entry->record)) {
        keys += '[' + std::string{range->bounds.from} + ".." + std::string{range->bounds.to} + "] ";
      }
    }
    EXPECT_EQ(reader.wrong(), nullptr);
    return keys;
  }

  runtime::ManualClock clock;
  Routes routes{{"h", "p"}};
  std::vector<std::pair<std::uint32_t, std::uint64_t>> submitted;
  std::map<std::uint32_t, std::string> seen;
  std::vector<std::uint32_t> strayed;
  std::map<std::uint32_t, bool> foreign;
  int news = 0;
  std::uint64_t orders = 1;
  EpochPipeline pipeline{kWorkers,
                         routes,
                         clock,
                         nullptr,
                         {.wake = [] {},
                          .submit =
                              [this](std::uint32_t shard, std::uint64_t epoch, const std::string& body) {
                                if (foreign[shard]) {
                                  return false;
                                }
                                submitted.emplace_back(shard, epoch);
                                seen[shard] += keys_of(body);
                                return true;
                              },
                          .strayed = [this](std::uint32_t shard) { strayed.push_back(shard); },
                          .changed = [this] { ++news; }}};
};

TEST_F(EpochPipelineTest, RecordsGoToTheShardsOfTheirKeys) {
  round(0, {"a", "z"});
  round(1, {"h", "b", "ozone"});
  turn();
  EXPECT_EQ(seen[0], "a b ");
  EXPECT_EQ(seen[1], "h ozone ");
  EXPECT_EQ(seen[2], "z ");
}

TEST_F(EpochPipelineTest, ARangeGoesToEachShardAsFarAsItIsThere) {
  static_cast<void>(pipeline.begin_round(id(0), clock.unix_us()));
  pipeline.buffer(id(0)).append(
      RangeGoneRecord{.order = 77, .bounds = {.from = "c", .to = "k", .to_is_open = true}, .items = 3});
  pipeline.buffer(id(0)).append(FlushRecord{.order = 78});
  pipeline.end_round(id(0));
  turn();
  EXPECT_EQ(seen[0], "[c..h] [..h] ");
  EXPECT_EQ(seen[1], "[h..k] [h..p] ");
  EXPECT_EQ(seen[2], "[p..] ");
}

TEST_F(EpochPipelineTest, ARangeThatEndsWhereAShardBeginsIsNoneOfThatShard) {
  foreign[0] = true;
  foreign[2] = true;
  static_cast<void>(pipeline.begin_round(id(0), clock.unix_us()));
  pipeline.buffer(id(0)).append(
      RangeGoneRecord{.order = 77, .bounds = {.from = "h", .to = "p", .to_is_open = true}, .items = 3});
  pipeline.buffer(id(0)).append(RangeTouchRecord{
      .order = 78, .bounds = {.from = "i", .to = "p", .to_is_open = true}, .items = 3, .expiry = 9});
  pipeline.end_round(id(0));
  turn();
  EXPECT_EQ(submitted.size(), 1U);
  EXPECT_EQ(seen[1], "[h..p] ");
  EXPECT_TRUE(strayed.empty()) << "nothing of it was recorded, and another node has it";
  EXPECT_EQ(pipeline.counts().voided.load(), 0U);
}

TEST_F(EpochPipelineTest, AnEpochIsDurableWhenAllItsLogsHaveIt) {
  const std::uint64_t first = round(0, {"a", "z"});
  turn();
  const std::uint64_t second = round(1, {"a"});
  turn();
  ASSERT_LT(first, second);
  pipeline.acknowledged(0, second);  // acknowledges all earlier groups, too
  EXPECT_LT(pipeline.epochs().durable(), first) << "the other log has not answered";
  EXPECT_GT(pipeline.waiting_bytes(), 0U);
  pipeline.acknowledged(2, first);
  EXPECT_GE(pipeline.epochs().durable(), second);
  EXPECT_TRUE(pipeline.idle());
  EXPECT_GT(news, 0);
  EXPECT_EQ(pipeline.failures(), 0U);
}

TEST_F(EpochPipelineTest, OnlySoManyEpochsAreUnderWay) {
  for (std::size_t i = 0; i < 3 * EpochPipeline::kMostUnderWay; ++i) {
    round(0, {"a"});
    turn();
  }
  EXPECT_EQ(submitted.size(), EpochPipeline::kMostUnderWay);
  pipeline.acknowledged(0, submitted.back().second);
  turn();
  EXPECT_EQ(submitted.size(), EpochPipeline::kMostUnderWay + 1) << "what waited goes as one";
}

TEST_F(EpochPipelineTest, NothingIsDurableUntilALostShardIsCleanAndRepliesAreGivenUp) {
  const std::uint64_t lost_epoch = round(0, {"a", "z"});
  turn();
  foreign[0] = true;
  pipeline.lost(0);
  pipeline.acknowledged(2, lost_epoch);
  EXPECT_LT(pipeline.epochs().durable(), lost_epoch) << "memory may be read that holds what is void";
  round(1, {"y"});
  turn();
  EXPECT_LT(pipeline.epochs().durable(), lost_epoch);
  EXPECT_EQ(pipeline.failures(), 0U);
  pipeline.found_clean();
  // Both workers must end a round before replies are given up, and another one before anything is durable.
  while (pipeline.step()) {
  }
  EXPECT_EQ(pipeline.failures(), 0U);
  round(0);
  round(1);
  while (pipeline.step()) {
  }
  EXPECT_EQ(pipeline.failures(), 1U);
  EXPECT_LT(pipeline.epochs().durable(), lost_epoch);
  turn();
  EXPECT_GE(pipeline.epochs().durable(), lost_epoch);
  pipeline.acknowledged(2, submitted.back().second);
  EXPECT_TRUE(pipeline.idle());
  EXPECT_TRUE(strayed.empty()) << "what was recorded before the loss was known is no news";
}

TEST_F(EpochPipelineTest, ChangesAfterALossAreReported) {
  foreign[1] = true;
  pipeline.lost(1);
  pipeline.found_clean();
  turn();
  EXPECT_TRUE(pipeline.idle());
  round(0, {"k"});
  turn();
  EXPECT_EQ(strayed, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(seen[1], "");
  EXPECT_FALSE(pipeline.idle()) << "what nobody has is not durable";
  EXPECT_LT(pipeline.epochs().durable(), pipeline.epochs().last_recorded());
  const std::uint64_t given_up = pipeline.failures();
  pipeline.found_clean();
  turn();
  EXPECT_TRUE(pipeline.idle());
  EXPECT_EQ(pipeline.failures(), given_up + 1);
  EXPECT_EQ(pipeline.counts().voided.load(), 1U);
}

TEST_F(EpochPipelineTest, AParkedWorkerHoldsNothingUp) {
  pipeline.park(id(1));
  const std::uint64_t epoch = round(0, {"a"});
  while (pipeline.step()) {
  }
  round(0);
  while (pipeline.step()) {
  }
  pipeline.acknowledged(0, epoch);
  EXPECT_GE(pipeline.epochs().durable(), epoch);
}

}  // namespace
}  // namespace mxkv::test

// Shards of a node by hand: logs that store only when the test allows it, and a memory that may fail.
#include "server/cluster/hosted_shard.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/clock.hpp"
#include "server/cluster/record_body.hpp"

namespace mxkv::server {
namespace {

constexpr std::uint64_t kMe = 10;
constexpr std::uint64_t kOther = 20;

/// A log's messages, which outlive the log object until the test drops them.
struct Stored {
  std::vector<std::string> messages;
  LogSink* sink = nullptr;
  LogPosition next = 0;  ///< the position that the sink gets next
};

class StoringLog final : public OrderedLog {
 public:
  explicit StoringLog(Stored& stored) : stored_(stored) {}
  void append(std::string bytes, AppendDone done) override {
    stored_.messages.push_back(std::move(bytes));
    answers.emplace_back(std::move(done), stored_.messages.size() - 1);
  }
  void read(LogPosition from, LogSink& sink) override {
    stored_.sink = &sink;
    stored_.next = from;
  }
  /// As an engine does when a read begins behind the log's end.
  void refuse_far_reads() {
    if (stored_.sink != nullptr && stored_.next > stored_.messages.size()) {
      stored_.sink->begins_later();
    }
  }
  void stop() override { stored_.sink = nullptr; }
  void end(EndDone done) override { ends_.push_back(std::move(done)); }
  void trim(LogPosition /*before*/) override {}

  void poll() {
    for (const auto& [done, position] : std::exchange(answers, {})) {
      done({append_outcome::stored, position});
    }
    for (const EndDone& done : std::exchange(ends_, {})) {
      done(stored_.messages.size());
    }
    refuse_far_reads();
    while (stored_.sink != nullptr && stored_.next < stored_.messages.size()) {
      const LogPosition position = stored_.next++;
      if (!stored_.messages[position].empty()) {  // else a position without a message
        stored_.sink->message(position, stored_.messages[position]);
      }
    }
  }

 private:
  Stored& stored_;
  std::vector<std::pair<AppendDone, LogPosition>> answers;
  std::vector<EndDone> ends_;
};

/// Counts the calls. It has no room for records of the shards in `lacks`.
class FailingMemory final : public AppliedMemory {
 public:
  void apply(std::uint32_t shard, std::string_view /*records*/) override {
    ++calls_;
    if (lacks.contains(shard)) {
      failed_.insert(shard);
    } else if (!failed_.contains(shard)) {
      ++applied[shard];
    }
  }
  void drop(std::uint32_t shard, std::string_view /*from*/, std::string_view /*to*/) override {
    ++calls_;
    ++drops[shard];
    applied[shard] = 0;
    failed_.erase(shard);
  }
  void give_way(std::uint32_t shard, bool gives_way) override { gives_ways[shard] = gives_way; }
  [[nodiscard]] std::uint64_t begun(std::uint32_t /*shard*/) const noexcept override { return calls_; }
  [[nodiscard]] std::uint64_t finished(std::uint32_t /*shard*/) const noexcept override { return calls_; }
  [[nodiscard]] bool failed(std::uint32_t shard) const noexcept override { return failed_.contains(shard); }
  [[nodiscard]] std::string failure(std::uint32_t shard) const override {
    return failed(shard) ? "no room" : "";
  }

  std::set<std::uint32_t> lacks;
  std::map<std::uint32_t, int> applied;  ///< by shard: calls since its last drop
  std::map<std::uint32_t, int> drops;
  std::map<std::uint32_t, bool> gives_ways;

 private:
  std::set<std::uint32_t> failed_;
  std::uint64_t calls_ = 0;
};

class HostedShardTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kShards = 2;
  static constexpr runtime::WorkerId kWorker{0};

  HostedShardTest() {
    for (std::uint32_t id = 0; id < kShards; ++id) {
      auto log = std::make_unique<StoringLog>(stored[id]);
      logs[id] = log.get();
      auto snapshot_log = std::make_unique<StoringLog>(snapshots[id]);
      snapshot_logs[id] = snapshot_log.get();
      shards[id] = std::make_unique<HostedShard>(
          around, id, std::move(log), std::move(snapshot_log),
          ShardOptions{.scope = {.cluster = 1, .shard = id}, .node = kMe, .address = "me", .rules = {}});
    }
  }
  ~HostedShardTest() override { pipeline.park(kWorker); }

  PipelineHooks hooks() {
    return {.wake = [] {},
            .submit = [this](std::uint32_t shard, std::uint64_t epoch,
                             const std::string& body) { return shards[shard]->submit(epoch, body); },
            .strayed = [this](std::uint32_t shard) { shards[shard]->strayed(); },
            .changed = [] {}};
  }
  /// A round of the worker, maybe with a change of a key, and a turn of the cluster's thread.
  void turn(const std::string& key = {}) {
    clock.advance_us(100'000);
    changes.look();
    orders = std::max(orders, pipeline.begin_round(kWorker, clock.unix_us()).mint_us);
    if (!key.empty()) {
      pipeline.buffer(kWorker).append(GoneRecord{.order = ++orders, .key = key});
    }
    pipeline.end_round(kWorker);
    for (StoringLog* const log : logs) {
      log->poll();
    }
    for (StoringLog* const log : snapshot_logs) {
      log->poll();
    }
    while (pipeline.step()) {
    }
    for (const auto& shard : shards) {
      shard->tick();
      shard->settle();
    }
  }
  void pass_s(std::uint64_t seconds) {
    for (std::uint64_t i = 0; i < 10 * seconds; ++i) {
      turn();
    }
  }
  [[nodiscard]] bool is_here(std::uint32_t shard) const {
    return routes.is_here(shard, clock.monotonic_ns());
  }
  [[nodiscard]] bool all_is_durable() const {
    return pipeline.epochs().last_recorded() <= pipeline.epochs().durable();
  }
  void another_node_claims(std::uint32_t shard) {
    const std::string body = write_claim({.lease_ns = 3'000'000'000, .address = "other"});
    terms[shard] = shards[shard]->engine().state().term() + 1;
    stored[shard].messages.push_back(write_message({.kind = message_kind::open,
                                                    .shard = shard,
                                                    .cluster = 1,
                                                    .term = terms[shard],
                                                    .node = kOther,
                                                    .body = body}));
  }

  /// The other node, which owns the shard, writes a group.
  void other_writes(std::uint32_t shard) {
    std::string body;
    RecordBody::add_record(body, GoneRecord{.order = ++orders, .key = "k"});
    stored[shard].messages.push_back(write_message({.kind = message_kind::group,
                                                    .shard = shard,
                                                    .cluster = 1,
                                                    .term = terms[shard],
                                                    .sequence = ++written[shard],
                                                    .node = kOther,
                                                    .epoch = written[shard],
                                                    .parts = 1,
                                                    .body = body}));
  }

  runtime::ManualClock clock;
  Routes routes{{"m"}};
  BegunChanges& changes = routes.changes().add_worker();
  FailingMemory memory;
  std::uint64_t orders = 1;
  std::array<std::unique_ptr<HostedShard>, kShards> shards;
  EpochPipeline pipeline{1, routes, clock, nullptr, hooks()};
  ShardSurroundings around{.routes = routes,
                           .pipeline = pipeline,
                           .memory = memory,
                           .clock = clock,
                           .address_of = [](std::uint64_t) { return std::string{}; },
                           .lives = [this](std::uint64_t process, std::uint32_t) { return process == lives; },
                           .keep_expired = [this] { ++loads; },
                           .newest_snapshot = [this](std::uint32_t shard) { return newest[shard]; },
                           .items_of = {},
                           .tell_snapshot = {},
                           .info = [](const std::string&) {},
                           .warn = [this](const std::string& line) { warnings.push_back(line); }};
  std::uint64_t lives = 0;  ///< this process is heard on the board
  int loads = 0;            ///< how often a shard was about to be loaded
  std::array<std::optional<SnapshotEntry>, kShards> newest;
  std::vector<std::string> warnings;
  std::array<Stored, kShards> stored;
  std::array<std::uint64_t, kShards> terms{};    ///< of the other node
  std::array<std::uint64_t, kShards> written{};  ///< groups, by the other node
  std::array<Stored, kShards> snapshots;
  std::array<StoringLog*, kShards> logs{};
  std::array<StoringLog*, kShards> snapshot_logs{};
};

TEST_F(HostedShardTest, AnOwnedShardNeedsNoMemoryForLogs) {
  pass_s(6);
  ASSERT_TRUE(is_here(0) && is_here(1));
  memory.lacks = {0, 1};
  pass_s(10);
  turn("z");
  pass_s(1);
  EXPECT_TRUE(is_here(0) && is_here(1));
  EXPECT_TRUE(all_is_durable());
}

TEST_F(HostedShardTest, ALostShardWithoutMemoryForItHoldsUpNoOther) {
  pass_s(6);
  ASSERT_TRUE(is_here(0) && is_here(1));
  memory.lacks = {0};
  const std::uint64_t given_up = pipeline.failures();
  another_node_claims(0);
  turn("a");
  other_writes(0);
  pass_s(2);
  ASSERT_FALSE(is_here(0));
  EXPECT_EQ(pipeline.failures(), given_up + 1) << "what was read of it goes to nobody";
  turn("z");
  pass_s(1);
  EXPECT_TRUE(is_here(1));
  EXPECT_TRUE(all_is_durable());
  pass_s(60);
  EXPECT_EQ(shards[0]->engine().state().owner(), kOther) << "it is not claimed without its items";
  EXPECT_EQ(shards[0]->lack(), "no room");
  EXPECT_EQ(pipeline.failures(), given_up + 1) << "a replica's copy is dropped without giving up replies";
  EXPECT_TRUE(is_here(1));
}

TEST_F(HostedShardTest, ACopyThatFindsNoMemoryIsLoadedAgainUntilItDoes) {
  another_node_claims(0);
  pass_s(1);
  ASSERT_TRUE(shards[0]->follows());
  memory.lacks = {0};
  for (int i = 0; i < 3; ++i) {
    other_writes(0);
  }
  pass_s(1);
  EXPECT_FALSE(shards[0]->is_sound());
  EXPECT_EQ(memory.applied[0], 0) << "its memory is free for other shards";
  int seconds = 1;
  for (; seconds < 600; ++seconds) {
    pass_s(1);
    other_writes(0);
    EXPECT_EQ(shards[0]->engine().now(), Shard::role::follows) << "it claims nothing";
    shards[0]->is_level();
    EXPECT_EQ(shards[0]->lack(), "no room");
  }
  EXPECT_GE(memory.drops[0], 10) << "it is tried again";
  EXPECT_LE(memory.drops[0], 18) << "and not all the time";
  EXPECT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(memory.gives_ways[0]) << "shards that have their memory keep it";
  EXPECT_TRUE(is_here(1));
  memory.lacks = {};
  for (int i = 0; i < 61 && !shards[0]->lack().empty(); ++i) {
    pass_s(1);
    other_writes(0);
    shards[0]->is_level();
  }
  EXPECT_TRUE(shards[0]->follows());
  EXPECT_EQ(shards[0]->lack(), "");
  EXPECT_FALSE(memory.gives_ways[0]);
  EXPECT_GE(memory.applied[0], seconds + 2) << "it has the whole log";
}

TEST_F(HostedShardTest, ACopyIsLoadedAtOnceWhenThereIsMoreMemory) {
  another_node_claims(0);
  pass_s(1);
  memory.lacks = {0};
  for (int i = 0; i < 100; ++i) {
    other_writes(0);
    pass_s(1);
  }
  memory.lacks = {};
  other_writes(0);
  shards[0]->load_now();
  turn();
  turn();
  EXPECT_GE(memory.applied[0], 101);
}

// A node claims a shard and then finds no memory for the end of its log.
TEST_F(HostedShardTest, AShardIsNotHeldByAnOwnerThatCannotOpenIt) {
  another_node_claims(0);
  other_writes(0);
  turn();
  ASSERT_TRUE(shards[0]->follows());
  for (int i = 0; i < 200 && shards[0]->engine().now() != Shard::role::claims; ++i) {
    turn();
  }
  ASSERT_EQ(shards[0]->engine().now(), Shard::role::claims);
  memory.lacks = {0};
  other_writes(0);  // before the claim is stored
  std::swap(stored[0].messages.back(), stored[0].messages[stored[0].messages.size() - 2]);
  pass_s(1);
  EXPECT_FALSE(is_here(0));
  const std::size_t messages = stored[0].messages.size();
  pass_s(30);
  EXPECT_FALSE(is_here(0));
  EXPECT_EQ(stored[0].messages.size(), messages) << "no beat holds off other nodes";
  memory.lacks = {};
  pass_s(70);
  EXPECT_TRUE(is_here(0));
}

// A write may wait for an earlier one of its connection, and an overloaded worker for its turn: no clock knows how long.
TEST_F(HostedShardTest, AShardIsLeftWhenTheWritesThatBeganHereHaveEnded) {
  pass_s(6);
  ASSERT_TRUE(is_here(0) && is_here(1));
  const BegunChanges::Mark slow = changes.begin();
  shards[0]->leave(kOther);
  for (int i = 0; i < 8; ++i) {
    turn();
  }
  EXPECT_FALSE(is_here(0));
  EXPECT_EQ(shards[0]->engine().now(), Shard::role::owns) << "a write is in flight";
  turn("a");
  changes.end(slow);
  pass_s(1);
  EXPECT_EQ(shards[0]->engine().now(), Shard::role::follows);
  EXPECT_EQ(shards[0]->engine().state().left_to(), kOther);
  EXPECT_TRUE(all_is_durable());
  EXPECT_EQ(pipeline.counts().voided.load(), 0U);
  EXPECT_EQ(pipeline.failures(), 0U) << "no connection is closed";
}

TEST_F(HostedShardTest, AShardStaysIfItsWritesDoNotEnd) {
  pass_s(6);
  const BegunChanges::Mark slow = changes.begin();
  shards[0]->leave(kOther);
  pass_s(2);
  EXPECT_TRUE(is_here(0)) << "requests are let in again";
  EXPECT_EQ(shards[0]->counters().stayed, 1U);
  turn("a");
  changes.end(slow);
  shards[0]->leave(kOther);
  pass_s(1);
  EXPECT_EQ(shards[0]->engine().state().left_to(), kOther);
  EXPECT_EQ(pipeline.counts().voided.load(), 0U);
}

TEST_F(HostedShardTest, AShardWithAHoleInItsLogHoldsUpOthersRarely) {
  pass_s(6);
  ASSERT_TRUE(is_here(0) && is_here(1));
  const std::uint64_t given_up = pipeline.failures();
  stored[0].messages.emplace_back();
  pass_s(60);
  EXPECT_FALSE(is_here(0)) << "nobody knows what was there";
  EXPECT_GE(pipeline.failures(), given_up + 2) << "it is tried again";
  EXPECT_LE(pipeline.failures(), given_up + 8);
  EXPECT_EQ(warnings.size(), pipeline.failures() - given_up);
  turn("z");
  pass_s(1);
  EXPECT_TRUE(is_here(1));
  EXPECT_TRUE(all_is_durable());
}

// A mirror's copies begin at 0, and the board has the positions of the original topics.
TEST_F(HostedShardTest, TopicsThatAreShorterThanTheBoardSaysAreToldToBeCopies) {
  newest[0] = SnapshotEntry{.number = 1,
                            .node = kOther,
                            .first = 0,
                            .messages = 0,
                            .items = 0,
                            .bytes = 0,
                            .start = {.position = 5000, .state = {}}};
  newest[1] = SnapshotEntry{
      .number = 2, .node = kOther, .first = 900, .messages = 5, .items = 1, .bytes = 1, .start = {}};
  pass_s(200);
  EXPECT_FALSE(is_here(0) || is_here(1));
  const auto tells = [this](const std::string& text) {
    return std::ranges::count_if(warnings, [&](const std::string& line) { return line.starts_with(text); });
  };
  EXPECT_GE(tells("shard 0: its log ends at 0, but must be read from 5000"), 1);
  EXPECT_GE(tells("shard 1: the log of its snapshots ends at 0, but must be read from 900"), 1);
  EXPECT_LE(warnings.size(), 60U) << "it is tried again and again, and more and more seldom";
}

TEST_F(HostedShardTest, ASnapshotWithoutAnEndIsReadAgain) {
  newest[0] = SnapshotEntry{
      .number = 1, .node = kOther, .first = 0, .messages = 5, .items = 1, .bytes = 1, .start = {}};
  pass_s(90);
  EXPECT_FALSE(is_here(0));
  EXPECT_TRUE(is_here(1));
  ASSERT_FALSE(warnings.empty());
  EXPECT_EQ(warnings.front(), "shard 0: its snapshot is incomplete; it is read again, or the next one");
  newest[0] = SnapshotEntry{};  // an empty entry
  pass_s(90);
  EXPECT_TRUE(is_here(0));
}

}  // namespace
}  // namespace mxkv::server

// Shared by tests of hosted shards: shards of a node by hand, over logs that store when the test allows it, and a memory
// that may fail.
#pragma once

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
#include "server/cluster/hosted_shard.hpp"
#include "server/cluster/record_body.hpp"

namespace mxkv::server::testing {

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

class HostedShardTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kMe = 10;
  static constexpr std::uint64_t kOther = 20;
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
  /// Runs turns until memory of shard 0 is dropped. Returns what the worker saw at the beginning of its last round
  /// before that.
  CommitGate::Drops drops_seen_before_the_drop() {
    CommitGate::Drops seen;
    for (int before = memory.drops[0], i = 0; i < 100 && memory.drops[0] == before; ++i) {
      seen = pipeline.drops();
      turn();
    }
    return seen;
  }

  std::array<Stored, kShards> stored;
  std::array<std::uint64_t, kShards> terms{};    ///< of the other node
  std::array<std::uint64_t, kShards> written{};  ///< groups, by the other node
  std::array<Stored, kShards> snapshots;
  std::array<StoringLog*, kShards> logs{};
  std::array<StoringLog*, kShards> snapshot_logs{};
};

}  // namespace mxkv::server::testing

// A shard by hand: a log whose appends the test answers, and a memory that notes what it is told.
#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/clock.hpp"
#include "server/cluster/shard.hpp"

namespace mxkv::server::by_hand {

inline constexpr MessageScope kOwnScope{.cluster = 1, .shard = 2};
inline constexpr std::uint64_t kMe = 10;
inline constexpr std::uint64_t kOther = 20;
inline constexpr std::uint64_t kSecondUs = 1'000'000;

/// Keeps appended messages until the test decides their outcome.
class HandLog final : public OrderedLog {
 public:
  void append(std::string bytes, AppendDone done) override {
    sent.emplace_back(std::move(bytes), std::move(done));
  }
  void read(LogPosition from, LogSink& sink) override {
    reads_from = from;
    sink_ = &sink;
  }
  void stop() override { sink_ = nullptr; }
  void end(EndDone /*done*/) override {}
  void trim(LogPosition /*before*/) override {}

  [[nodiscard]] bool is_read() const { return sink_ != nullptr; }
  void cut() { sink_->begins_later(); }
  void show(LogPosition position, const std::string& bytes) { sink_->message(position, bytes); }
  void answer(std::size_t at, Appended appended) { std::exchange(sent[at].second, nullptr)(appended); }
  [[nodiscard]] Message message(std::size_t at) const {
    return parse_message(sent[at].first, kOwnScope).message;
  }

  std::vector<std::pair<std::string, AppendDone>> sent;
  LogPosition reads_from = 0;

 private:
  LogSink* sink_ = nullptr;
};

class Memory final : public ShardHost {
 public:
  void apply(std::uint64_t epoch, std::string_view records) override {
    applied.push_back(std::to_string(epoch) + ":" + std::string{records});
  }
  void owns(std::uint64_t term) override { term_owned = term; }
  void acknowledged(std::uint64_t epoch) override { acknowledged_epochs.push_back(epoch); }
  std::optional<ShardStart> ousted() override {
    ++ousted_times;
    return start;
  }

  void stranded() override { is_stranded = true; }

  bool is_stranded = false;
  std::vector<std::string> applied;
  std::uint64_t term_owned = 0;
  std::vector<std::uint64_t> acknowledged_epochs;
  int ousted_times = 0;
  std::optional<ShardStart> start;
};

struct ShardTest : ::testing::Test {
  static ShardOptions options() {
    ShardOptions options;
    options.scope = kOwnScope;
    options.node = kMe;
    options.address = "me";
    options.part_bytes = 4;
    return options;
  }

  void pass_s(std::uint64_t seconds) {
    for (std::uint64_t i = 0; i < 10 * seconds; ++i) {
      clock.advance_us(kSecondUs / 10);
      shard.tick();
    }
  }
  static std::string other_claims(std::uint64_t term, std::uint64_t lease_s = 3) {
    return of_other(message_kind::open, term, 0,
                    write_claim({.lease_ns = lease_s * kSecondUs * 1000, .address = "other"}));
  }
  static std::string of_other(message_kind kind, std::uint64_t term, std::uint64_t sequence,
                              std::string_view body = {}) {
    return write_message({.kind = kind,
                          .shard = kOwnScope.shard,
                          .cluster = kOwnScope.cluster,
                          .term = term,
                          .sequence = sequence,
                          .node = kOther,
                          .epoch = sequence,
                          .body = body});
  }
  /// Claims the shard of an empty log and owns it; the messages sent so far are forgotten. The next position is 1.
  void own() {
    shard.start();
    pass_s(5);
    ASSERT_EQ(log.sent.size(), 1U);
    log.show(0, log.sent[0].first);
    ASSERT_EQ(shard.now(), Shard::role::owns);
    log.sent.clear();
    pass_s(1);  // its first beat starts the lease
    ASSERT_EQ(log.sent.size(), 1U);
    log.answer(0, {append_outcome::stored, 1});
    log.sent.clear();
    ASSERT_TRUE(shard.serves());
  }

  runtime::ManualClock clock;
  HandLog log;
  Memory memory;
  Shard shard{options(), log, memory, clock, {}};
};

}  // namespace mxkv::server::by_hand

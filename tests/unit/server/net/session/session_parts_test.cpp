// The parts of a session, each alone: without the loop that drives them, and without a socket.
#include "server/net/session/session_parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>

#include "protocol/binary_reply.hpp"
#include "protocol/reply.hpp"
#include "server/net/session/binary_answers.hpp"
#include "server/net/session/text_intake.hpp"
#include "tests/unit/scheduler/machine.hpp"
#include "tests/unit/server/net/session/fake_store.hpp"
#include "tests/unit/server/reply/fixture.hpp"

namespace mxkv::server::test {
namespace {

class SessionPart : public testing::Test, private ConnectionOwner {
 protected:
  SessionPart() { parts.core.state.begin_text(); }
  ~SessionPart() override {
    parts.values.drop(core);
    parts.batch.drop(core);
    parts.launcher.drop(core);
    parts.streams.leave(core);
    parts.meter.allowance().end(directory.share());
    directory.close(*core.entry);
    run_store();
  }

  void resume() override {}
  /// All operations of the store end.
  void run_store() {
    while (store.step(random)) {
    }
  }
  /// What the client has got since the last call.
  std::string answered() { return drain(core.entry->replies.output()); }
  /// The request of a line, which is only parsed.
  const protocol::Request& parse(std::string_view line) {
    protocol::LineState state;
    static_cast<void>(host.parser.parse(line.data(), line.size(), state, host.request));
    return host.request;
  }

  std::mt19937 random{1};
  Memory memory;
  BlockPool input{memory.budget, memory.budget.account(runtime::WorkerId{0}),
                  runtime::memory_category::buffers};
  ConnectionTable directory{0, memory.pool};
  runtime::testing::Machine machine{runtime::testing::unpinned(1)};
  FakeStore store{directory};
  config::LimitOptions limits;
  SessionHost host{machine[0], store, directory, input, limits, "VERSION 1.2.3\r\n"};
  SessionParts parts{host, *this};
  SessionCore& core = parts.core;
};

using LauncherTest = SessionPart;

TEST_F(LauncherTest, AReadWaitsForAnEarlierWriteOfItsKey) {
  store.items["k"] = "v";
  parts.launcher.start_any(core, protocol::usual_delete("k", false), false);
  parts.launcher.start_any(core, protocol::usual_meta_get("k"), false);
  EXPECT_EQ(core.waiting, 1U);
  EXPECT_FALSE(parts.launcher.start_waiting(core)) << "the write has not ended";
  run_store();
  EXPECT_TRUE(parts.launcher.start_waiting(core));
  EXPECT_EQ(core.waiting, 0U);
  run_store();
  EXPECT_EQ(answered(), "DELETED\r\nEN O\r\n");
}

TEST_F(LauncherTest, WaitingRequestsAreGivenUp) {
  parts.launcher.start_any(core, protocol::usual_delete("k", false), false);
  parts.launcher.start_any(core, protocol::usual_meta_get("k"), false);
  parts.launcher.drop(core);
  EXPECT_EQ(core.waiting, 0U);
  EXPECT_FALSE(parts.launcher.start_waiting(core));
}

using RequestMeterTest = SessionPart;

TEST_F(RequestMeterTest, AnAllowanceEndsWithTheTurn) {
  limits.requests_per_turn = 2;
  EXPECT_TRUE(parts.meter.may_take(core));
  EXPECT_TRUE(parts.meter.may_take(core));
  EXPECT_FALSE(parts.meter.may_take(core));
  EXPECT_TRUE(core.pauses.has(pause::turn));
  ++host.turn;
  EXPECT_TRUE(parts.meter.may_take(core));
  EXPECT_FALSE(core.pauses.has(pause::turn));
  EXPECT_EQ(parts.meter.allowance().taken(), 3U);
}

TEST_F(RequestMeterTest, ASessionInDebtWaitsInItsHostsListUntilItHasRoom) {
  Usage usage;
  usage.requests.set(1);
  parts.meter.meter(core, &usage);
  usage.requests.draw(1'000'000, host.worker.now_ns());
  EXPECT_EQ(parts.meter.allowed(core), 0U);
  EXPECT_TRUE(core.pauses.has(pause::rate));
  ASSERT_EQ(host.rate_waiters.size(), 1U);
  host.rate_waiters.clear();
  EXPECT_FALSE(parts.meter.rate_has_room(core));
  EXPECT_EQ(host.rate_waiters.size(), 1U) << "it waits on";
  host.rate_waiters.clear();
  parts.meter.meter(core, nullptr);
  EXPECT_TRUE(parts.meter.rate_has_room(core)) << "there is no rate any more";
  EXPECT_FALSE(core.pauses.has(pause::rate));
}

using ValueIntakeTest = SessionPart;

TEST_F(ValueIntakeTest, AValueThatComesInPiecesIsStoredWhole) {
  ASSERT_TRUE(parts.values.begin(core, parse("set k 0 0 5\r\n"), false));
  EXPECT_EQ(parts.values.take(core, parts.launcher, parts.batch, "ab"), 2U);
  EXPECT_FALSE(parts.values.complete());
  EXPECT_EQ(parts.values.take(core, parts.launcher, parts.batch, "cde\r\nget"), 5U) << "the rest is a line";
  EXPECT_TRUE(core.state.is(session_state::line));
  run_store();
  EXPECT_EQ(store.items["k"], "abcde");
  EXPECT_EQ(answered(), "STORED\r\n");
}

TEST_F(ValueIntakeTest, AValueWithoutItsEndOfLineIsRefused) {
  ASSERT_TRUE(parts.values.begin(core, parse("set k 0 0 2\r\n"), false));
  static_cast<void>(parts.values.take(core, parts.launcher, parts.batch, "abXX\r\n"));
  run_store();
  EXPECT_TRUE(store.items.empty());
  EXPECT_TRUE(answered().starts_with(protocol::kBadDataChunk));
}

TEST_F(ValueIntakeTest, TheErrorComesBehindTheSwallowedBlock) {
  parts.values.swallow(core, 5, protocol::kForbidden);
  EXPECT_EQ(parts.values.take_swallowed(core, parts.batch, "abc"), 3U);
  EXPECT_EQ(answered(), "");
  EXPECT_EQ(parts.values.take_swallowed(core, parts.batch, "defg"), 2U);
  EXPECT_EQ(answered(), protocol::kForbidden);
}

using BatchIntakeTest = SessionPart;

TEST_F(BatchIntakeTest, ABadLineFailsTheBatchAndFreesItsLines) {
  parts.batch.begin(core, 2);
  EXPECT_GT(TextIntake::take_batch_line(parts, "mg a v\r\n"), 0U);
  EXPECT_GT(parts.batch.kept(), 0U);
  EXPECT_GT(TextIntake::take_batch_line(parts, "version\r\n"), 0U);
  EXPECT_EQ(parts.batch.kept(), 0U);
  EXPECT_EQ(parts.batch.missing(), 0U);
  EXPECT_TRUE(parts.batch.started(core));
  EXPECT_FALSE(parts.batch.open());
  EXPECT_TRUE(core.state.is(session_state::line));
  EXPECT_TRUE(answered().ends_with(protocol::kNotInBatch));
}

TEST_F(BatchIntakeTest, ABatchWaitsForRequestsBeforeIt) {
  parts.launcher.start_any(core, protocol::usual_delete("k", false), true);
  parts.batch.begin(core, 1);
  EXPECT_GT(TextIntake::take_batch_line(parts, "mg a v\r\n"), 0U);
  EXPECT_FALSE(parts.batch.started(core));
  EXPECT_TRUE(core.pauses.has(pause::order));
  run_store();
  EXPECT_TRUE(parts.batch.started(core));
  run_store();
  EXPECT_EQ(answered(), "EN\r\nHD\r\n");
}

using StreamsTest = SessionPart;

TEST_F(StreamsTest, OnlySoManyRangesAreInFlight) {
  const protocol::Request& scan = parse("scan a 10\r\n");
  for (std::size_t i = 0; i < Streams::kMostRanges; ++i) {
    EXPECT_TRUE(parts.streams.begin_alone(core, parts.meter, scan, operation_kind::range));
  }
  EXPECT_FALSE(parts.streams.begin_alone(core, parts.meter, scan, operation_kind::range));
  EXPECT_TRUE(core.pauses.has(pause::order));
}

TEST_F(StreamsTest, NothingIsWatchedWithoutAHub) {
  parts.streams.watch(core, 1);
  EXPECT_EQ(answered(), protocol::kError);
  EXPECT_TRUE(core.state.is(session_state::line));
}

using LoginDialogTest = SessionPart;

TEST_F(LoginDialogTest, WithoutUsersEverybodyStaysAndSaslIsUnknown) {
  EXPECT_TRUE(LoginDialog::user_stays(core, parts.meter));
  LoginDialog::tell_mechanisms(core, {.code = protocol::opcode::sasl_mechanisms});
  const std::string answer = answered();
  ASSERT_GE(answer.size(), protocol::kBinaryHeaderBytes);
  EXPECT_EQ(answer[7], static_cast<char>(protocol::binary_status::unknown_command));
}

using TextIntakeTest = SessionPart;

TEST_F(TextIntakeTest, AForeignProtocolEndsTheSessionInError) {
  TextIntake::leave(core, "GET / HTTP/1.1\r\n");
  EXPECT_TRUE(core.in_error);
  EXPECT_TRUE(core.state.is(session_state::draining));
}

TEST_F(TextIntakeTest, UsualGetsStartTogether) {
  ASSERT_NE(parts.meter.allowed(core), 0U);
  TextIntake text;
  for (std::uint32_t i = 0; i <= RequestOrder::kStreak; ++i) {
    ASSERT_EQ(text.take_line(parts, "get a\r\n"), 7U);
    run_store();
    ASSERT_EQ(answered(), "END\r\n");
    ASSERT_NE(parts.meter.allowed(core), 0U);
  }
  ASSERT_EQ(store.most_together, 0U) << "so far it might have written";
  EXPECT_EQ(text.take_line(parts, "get a\r\nget b\r\nget "), 14U);
  EXPECT_EQ(store.most_together, 2U);
  run_store();
  EXPECT_EQ(answered(), "END\r\nEND\r\n");
}

TEST_F(TextIntakeTest, ALineOfManyKeysIsTakenKeyByKey) {
  ASSERT_NE(parts.meter.allowed(core), 0U);
  const std::string_view line = "gat 0 a b\r\n";
  TextIntake text;
  const std::size_t used = text.take_line(parts, line);
  ASSERT_TRUE(core.state.is(session_state::keys));
  EXPECT_EQ(used + text.take_keys(parts, line.substr(used)), line.size());
  EXPECT_TRUE(core.state.is(session_state::line));
}

using BinaryAnswersTest = SessionPart;

TEST_F(BinaryAnswersTest, AQuietRequestIsAnsweredOnlyOnFailure) {
  answer_binary(core, {.code = protocol::opcode::setq}, protocol::binary_status::success);
  EXPECT_EQ(answered(), "");
  answer_binary(core, {.code = protocol::opcode::setq}, protocol::binary_status::no_memory);
  EXPECT_GE(answered().size(), protocol::kBinaryHeaderBytes);
}

}  // namespace
}  // namespace mxkv::server::test

// The memory that a session takes from its worker's shares: expected replies and unfinished input.
#include <string>

#include "tests/unit/server/net/session/session_fixture.hpp"

namespace mxkv::server::test {
namespace {

std::string repeated(const std::string& line, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) {
    all += line;
  }
  return all;
}

/// Uses up a share, so that even usual lines find no room.
class UsedUp final : public InputRelief {
 public:
  UsedUp(Client& client, MemoryShare& share) : share_(share) {
    client.memory.budget.set_limit_bytes(std::size_t{8} << 20U);
    share.update_limit();
    bytes_ = 5 * share.bytes();
    share.take(bytes_);
  }
  void end() { share_.give(std::exchange(bytes_, 0)); }
  bool relieve(ConnectionState& /*asking*/, bool /*stalled*/) override {
    end();
    return true;
  }

 private:
  MemoryShare& share_;
  std::size_t bytes_;
};

TEST(ReplyEstimate, FollowsLongRepliesAtOnceAndShortOnesSlowly) {
  ReplyEstimate estimate;
  EXPECT_FALSE(estimate.known());
  EXPECT_EQ(estimate.memory(), ReplyEstimate::kMostCopiedBytes) << "nothing is known: the worst";
  estimate.update(10, 1000);
  EXPECT_EQ(estimate.bytes(), 100U);
  EXPECT_EQ(estimate.memory(), ReplyEstimate::kLeastBytes);
  estimate.update(11, 1'001'000);
  EXPECT_EQ(estimate.bytes(), 1'000'000U);
  EXPECT_EQ(estimate.memory(), ReplyEstimate::kMostCopiedBytes) << "what is longer goes by reference";
  estimate.update(12, 1'001'000);
  EXPECT_EQ(estimate.bytes(), 750'000U);
  estimate.update(12, 1'001'000);
  EXPECT_EQ(estimate.bytes(), 750'000U) << "nothing new was completed";
}

TEST(SessionRoom, WhatWasOpenWhenTheRepliesWereDroppedEndsWithoutAWord) {
  for (const std::string asked : {"watch mutations\r\n", "stats pages\r\n"}) {
    SCOPED_TRACE(asked);
    Client client;
    WatchHub hub;
    client.host.watch_hub = &hub;
    client.reads_replies = false;
    client.ask(asked);
    ConnectionState& entry = client.session->entry();
    ASSERT_FALSE(entry.replies.all_closed());
    entry.life.silence();
    entry.replies.clear();
    client.session->end_of_input();
    EXPECT_TRUE(entry.replies.all_closed());
    client.session.reset();
    EXPECT_EQ(hub.watchers(), 0U);
  }
}

TEST(SessionRoom, RequestsWithLongRepliesAreInFlightOneOrTwoAndShortOnesMany) {
  for (const std::size_t value : {std::size_t{10}, std::size_t{1'000'000}}) {
    Client client;
    client.ask("set k 0 0 " + std::to_string(value) + "\r\n" + std::string(value, 'v') + "\r\n");
    client.ask("get k\r\nget k\r\n");  // the session learns the length of its replies
    client.ask("get k\r\nget k\r\n");
    client.store.most_pending = 0;
    client.send(repeated("get k\r\n", 200));
    if (value == 10) {
      EXPECT_EQ(client.store.most_pending, 200U);
    } else {
      EXPECT_LE(client.store.most_pending, 2U);
    }
    EXPECT_EQ(client.settle().size(),
              200 * (std::string("VALUE k 0 \r\n\r\nEND\r\n").size() + std::to_string(value).size() + value));
  }
}

TEST(SessionRoom, ReservedRoomIsGivenBack) {
  Client client;
  MemoryShare& share = client.directory.share();
  client.ask("set k 0 0 1\r\nv\r\n" + repeated("get k\r\n", 100));
  EXPECT_EQ(share.held(), 0U);
  client.session->end_round();
  EXPECT_EQ(share.used(), 0U) << "nothing is in flight";
  client.send(repeated("get k\r\n", 10));
  EXPECT_GE(share.used(), 10 * ReplyEstimate::kLeastBytes);
  client.session.reset();
  client.settle_store();
  EXPECT_EQ(share.used(), 0U) << "a session that goes leaves nothing";
}

TEST(SessionRoom, OneRequestIsTakenWhereTheShareIsUsedUp) {
  Client client;
  client.ask("set k 0 0 1\r\nv\r\nget k\r\n");
  UsedUp used_up{client, client.directory.share()};
  client.store.most_pending = 0;
  client.send(repeated("get k\r\n", 5));
  EXPECT_EQ(client.store.most_pending, 1U);
  EXPECT_EQ(client.settle(), repeated("VALUE k 0 1\r\nv\r\nEND\r\n", 5)) << "one after the other, all come";
  used_up.end();
}

TEST(SessionRoom, APageWaitsUntilTheShareHasRoom) {
  Client client;
  UsedUp used_up{client, client.directory.share()};
  client.send("scan a - 10\r\nmn\r\n");
  EXPECT_EQ(client.settle(), "");
  EXPECT_TRUE(client.session->paused_for(pause::page_room));
  EXPECT_EQ(client.host.starved.size(), 1U);
  used_up.end();
  client.host.starved.clear();
  client.session->give_room();
  EXPECT_TRUE(client.settle().ends_with("MN\r\n"));
  EXPECT_EQ(client.directory.ranges_in_flight(), 0U);
}

TEST(SessionRoom, UnfinishedInputBeyondTheShareIsRefused) {
  Client client;
  MemoryShare& share = client.host.input.share();
  UsedUp used_up{client, share};
  client.send("get " + std::string(100, 'k'));
  EXPECT_EQ(client.settle(), "SERVER_ERROR out of memory reading request\r\n");
  EXPECT_TRUE(client.session->state().is(session_state::refused));
  EXPECT_TRUE(client.session->finished());
  EXPECT_EQ(client.session->unfinished_bytes(), 0U);
  used_up.end();
}

TEST(SessionRoom, ASessionThatWasRefusedAsksForNoMoreTurns) {
  config::LimitOptions limits;
  limits.requests_per_turn = 3;
  Client client{limits};
  client.reads_replies = false;
  client.host.turn = 1;
  client.send(repeated("get k\r\n", 10));
  ASSERT_TRUE(client.session->paused_for(pause::turn));
  client.session->refuse_input();
  EXPECT_FALSE(client.session->paused_for(pause::turn)) << "its worker would spin until the client reads";
  EXPECT_FALSE(client.session->wants_input());
  client.settle();
  client.reads_replies = true;
  EXPECT_EQ(client.settle(), repeated("END\r\n", 3) + "SERVER_ERROR out of memory reading request\r\n");
  EXPECT_TRUE(client.session->finished());
}

TEST(SessionRoom, TheConnectionThatHoldsMoreLeavesFirst) {
  Client client;
  UsedUp used_up{client, client.host.input.share()};
  client.host.relief = &used_up;
  client.send("get k");
  EXPECT_FALSE(client.session->state().is(session_state::refused));
  EXPECT_EQ(client.ask("\r\n"), "END\r\n");
}

TEST(SessionRoom, ABatchWithoutRoomDoesNothingAndTheStreamStaysInStep) {
  Client client;
  MemoryShare& share = client.host.input.share();
  share.take(share.bytes());
  EXPECT_EQ(client.ask("mb 2\r\nms a 1\r\n1\r\nms b 1\r\n2\r\nmn\r\n"),
            "EX 2 SERVER_ERROR out of memory storing object\r\nMN\r\n");
  share.give(share.bytes());
  EXPECT_EQ(share.held(), 0U);
  EXPECT_EQ(client.ask("get a b\r\n"), "END\r\n");
}

TEST(SessionRoom, TheMemoryOfALostClientIsGivenBack) {
  Client client;
  MemoryShare& share = client.host.input.share();
  client.send("mb 3\r\nms a 1\r\n1\r\nmg a v\r\nms b 1000\r\nhalf");
  EXPECT_GT(share.held(), 0U);
  client.session.reset();
  EXPECT_EQ(share.held(), 0U);
}

TEST(SessionRoom, ALargeValueWaitsWhileOthersComeAndBeginsWhenTheyEnded) {
  Client client;
  client.memory.budget.set_limit_bytes(1 << 20U);
  client.input.share().update_limit();
  Client other;
  client.host.values.take(other, client.host.value_room());
  client.host.small_values.take(other, client.host.small_value_room());
  const std::string value(100'000, 'v');
  client.send("set k 0 0 100000\r\n" + value + "\r\nmn\r\n", 16384);
  EXPECT_EQ(client.settle(), "");
  EXPECT_TRUE(client.session->paused_for(pause::value_room));
  EXPECT_EQ(client.host.small_values.waiting(), 1U);
  client.host.small_values.give(other);
  EXPECT_TRUE(client.host.small_values.due(0));
  client.host.small_values.forget(client);
  client.session->give_room();
  EXPECT_EQ(client.settle(16384), "STORED\r\nMN\r\n");
  EXPECT_EQ(client.host.small_values.held(), 0U);
  EXPECT_EQ(client.host.small_values.waiting(), 0U);
}

}  // namespace
}  // namespace mxkv::server::test

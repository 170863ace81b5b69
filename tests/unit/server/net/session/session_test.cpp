// Sessions over a fake store: replies, swallowed bytes, limits, and what a lost client must free.
#include "server/net/session/session.hpp"

#include "tests/unit/server/net/session/session_fixture.hpp"

namespace mxkv::server::test {
namespace {

TEST(Session, AnswersEachCommand) {
  Client client;
  EXPECT_EQ(client.ask("set k 0 0 5\r\nvalue\r\n"), "STORED\r\n");
  EXPECT_EQ(client.ask("get k\r\n"), "VALUE k 0 5\r\nvalue\r\nEND\r\n");
  EXPECT_EQ(client.ask("get none\r\n"), "END\r\n");
  EXPECT_EQ(client.ask("get none k none k\r\n"), "VALUE k 0 5\r\nvalue\r\nVALUE k 0 5\r\nvalue\r\nEND\r\n");
  EXPECT_EQ(client.ask("delete k\r\n"), "DELETED\r\n");
  EXPECT_EQ(client.ask("set n 0 0 1\r\n7\r\nincr n 5\r\n"), "STORED\r\n12\r\n");
  EXPECT_EQ(client.ask("scan a 10\r\n"), "KEY n\r\nEND\r\n");
  EXPECT_EQ(client.ask("version\r\nverbosity 1\r\nstats items\r\n"),
            "VERSION 1.2.3\r\nOK\r\nSTAT items\r\nEND\r\n");
  EXPECT_EQ(client.ask("flush_all\r\n"), "OK\r\n");
  EXPECT_EQ(client.ask("get n\r\nnonsense\r\n"), "END\r\nERROR\r\n");
  EXPECT_EQ(client.ask("set z 0 0 0\r\n\r\nget z\r\n"), "STORED\r\nVALUE z 0 0\r\n\r\nEND\r\n");
}

TEST(Session, NoreplySilencesAndStillTakesEffect) {
  Client client;
  EXPECT_EQ(client.ask("set k 0 0 1 noreply\r\n1\r\nincr k 2 noreply\r\nget k\r\n"),
            "VALUE k 0 1\r\n3\r\nEND\r\n");
  EXPECT_EQ(client.ask("set k 0 0 1 noreply\r\nxyz"), "") << "a bad end of the block, silently";
  EXPECT_EQ(client.ask("delete k noreply\r\nflush_all noreply\r\nverbosity 1 noreply\r\nget k\r\n"),
            "END\r\n");
}

TEST(Session, ABadBlockIsConsumedAndTheStreamStaysInStep) {
  Client client;
  EXPECT_EQ(client.ask("set k 0 0 3\r\nabcXYget k\r\n"), "CLIENT_ERROR bad data chunk\r\nEND\r\n");
  EXPECT_EQ(client.item_bytes(), 0U);
}

TEST(Session, AValueOverTheLimitIsSwallowedAndSetDeletesTheOldOne) {
  config::LimitOptions limits;
  limits.value_bytes = 10;
  for (const std::string verb : {"set", "add"}) {
    Client client{limits};
    client.ask("set k 0 0 1\r\nx\r\n");
    const std::string value(2000, 'v');
    EXPECT_EQ(client.ask(verb + " k 0 0 2000\r\n" + value + "\r\nget k\r\n"),
              "SERVER_ERROR object too large for cache\r\n" +
                  std::string(verb == "set" ? "END\r\n" : "VALUE k 0 1\r\nx\r\nEND\r\n"));
  }
}

TEST(Session, OutOfMemorySwallowsTheRestAndKeepsTheOldValue) {
  for (const bool reads_directly : {false, true}) {
    config::LimitOptions limits;
    limits.value_bytes = std::size_t{16} << 20U;
    Client client{limits};
    client.reads_directly = reads_directly;
    client.ask("set k 0 0 1\r\nx\r\n");
    client.leave_memory(std::size_t{5} << 20U);
    client.send("set k 0 0 8000000\r\n" + std::string(1'000'000, 'v'), 16384);
    EXPECT_EQ(client.session->state().current(), session_state::value) << "so far there is memory";
    client.send(std::string(6'600'000, 'v'), 16384);
    EXPECT_EQ(client.settle(), "");
    EXPECT_EQ(client.session->state().current(), session_state::swallowing);
    EXPECT_EQ(client.item_bytes(), 0U);
    EXPECT_EQ(client.ask(std::string(400'000, 'v') + "\r\nget k\r\n"),
              "SERVER_ERROR out of memory storing object\r\nVALUE k 0 1\r\nx\r\nEND\r\n");
  }
}

TEST(Session, QuitAnswersEarlierRequestsAndNoLaterOnes) {
  Client client;
  client.send("set k 0 0 1\r\nx\r\nget k\r\nquit\r\nget k\r\n");
  EXPECT_FALSE(client.session->finished());
  EXPECT_EQ(client.settle(), "STORED\r\nVALUE k 0 1\r\nx\r\nEND\r\n");
  EXPECT_TRUE(client.session->finished());
}

TEST(Session, AClientThatSendsNoMoreStillGetsItsReplies) {
  Client client;
  client.send("set k 0 0 1\r\nx\r\nget k\r\nget k");
  client.session->end_of_input();
  EXPECT_FALSE(client.session->finished());
  EXPECT_EQ(client.settle(), "STORED\r\nVALUE k 0 1\r\nx\r\nEND\r\n");
  EXPECT_TRUE(client.session->finished());
}

TEST(Session, ALostConnectionLeavesNoValueBehind) {
  Client client;
  client.send("get a\r\nset a 0 0 1\r\nx\r\nset b 0 0 1\r\ny\r\nset c 0 0 100\r\nhalf");
  EXPECT_GT(client.item_bytes(), 0U);
  client.session.reset();
  client.settle_store();
  EXPECT_EQ(client.item_bytes(), 0U);
  EXPECT_EQ(client.directory.entries(), 0U);
}

TEST(Session, OperationsThatEndAtOnceDoNotStrandThoseThatWait) {
  Client client;
  client.store.immediate = true;
  std::string sent;
  std::string expected;
  for (int i = 0; i < 2000; ++i) {
    sent += "set k 0 0 1\r\n" + std::to_string(i % 10) + "\r\nget k\r\nscan z 1\r\n";
    expected += "STORED\r\nVALUE k 0 1\r\n" + std::to_string(i % 10) + "\r\nEND\r\nEND\r\n";
  }
  EXPECT_EQ(client.ask(sent), expected);
}

TEST(Session, TakesNoMoreThanItsShareInATurn) {
  config::LimitOptions limits;
  limits.requests_per_turn = 10;
  Client client{limits};
  std::string many;
  for (int i = 0; i < 25; ++i) {
    many += "get k" + std::to_string(i) + "\r\n";
  }
  client.host.turn = 1;
  client.send(many);
  EXPECT_EQ(client.store.pending.size(), 10U);
  EXPECT_TRUE(client.session->paused_for(pause::turn));
  EXPECT_FALSE(client.session->wants_input());
  client.session->resume();
  EXPECT_EQ(client.store.pending.size(), 10U) << "still the same turn";
  ++client.host.turn;
  client.session->resume();
  EXPECT_EQ(client.store.pending.size(), 20U);
  ++client.host.turn;
  client.session->resume();
  EXPECT_EQ(client.store.pending.size(), 25U);
  EXPECT_TRUE(client.session->wants_input());
}

TEST(Session, KeepsNoMoreInFlightThanAllowedEvenOfOneLine) {
  config::LimitOptions limits;
  limits.pipeline = 8;
  Client client{limits};
  std::string line = "get";
  for (int i = 0; i < 1000; ++i) {
    line += " k" + std::to_string(i);
  }
  EXPECT_EQ(client.ask(line + "\r\nget k\r\n"), "END\r\nEND\r\n");
  EXPECT_EQ(client.store.most_pending, 8U);
}

TEST(Session, GetsStartTogetherOnceAConnectionOnlyReads) {
  Client client;
  client.ask("set k1 0 0 1\r\nx\r\n");
  std::string single;
  for (std::uint32_t i = 0; i <= RequestOrder::kStreak; ++i) {
    single += "get k\r\n";
  }
  client.ask(single);
  EXPECT_EQ(client.store.most_together, 0U);
  const std::string hit = "VALUE k1 0 1\r\nx\r\n";
  EXPECT_EQ(client.ask("get k1\r\nget k\r\nget k1 k k1\r\nget k k1 k\r\nget k1\r\n"),
            hit + "END\r\nEND\r\n" + hit + hit + "END\r\n" + hit + "END\r\n" + hit + "END\r\n");
  EXPECT_EQ(client.store.most_together, 9U);
  EXPECT_EQ(client.ask("gets k1 k k1\r\nget k1 k1  \r\nget  k k1\n"),
            hit + hit + "END\r\n" + hit + hit + "END\r\n" + hit + "END\r\n");
  // A write between them waits for the reads of its key, and the reads behind it wait for the write.
  EXPECT_EQ(client.ask("get k1\r\ndelete k1\r\nget k1\r\nget k1 k1\r\n"),
            hit + "END\r\nDELETED\r\nEND\r\nEND\r\n");
}

TEST(Session, MetaGetsStartTogetherWithOthers) {
  Client client;
  client.ask("set k1 0 0 1\r\nx\r\n");
  std::string single;
  for (std::uint32_t i = 0; i <= RequestOrder::kStreak; ++i) {
    single += i % 2 == 0 ? "get k\r\n" : "mg k v\r\n";
  }
  client.ask(single);
  EXPECT_EQ(client.store.most_together, 0U);
  const std::string hit = "VALUE k1 0 1\r\nx\r\n";
  const std::string meta_hit = "VA 1 O\r\nx\r\n";
  EXPECT_EQ(client.ask("mg k1 v\r\nget k1 k1\r\nmg k v\r\nmg k1 v\r\nget k\r\nmg k1 v O7\r\n"),
            meta_hit + hit + hit + "END\r\nEN O\r\n" + meta_hit + "END\r\nVA 1 O7\r\nx\r\n");
  EXPECT_EQ(client.store.most_together, 6U);
  EXPECT_EQ(client.ask("mg k1 v\r\ndelete k1\r\nmg k1 v\r\nget k1\r\n"),
            meta_hit + "DELETED\r\nEN O\r\nEND\r\n");
}

TEST(Session, UsualSetsAreTakenAsOthersAre) {
  Client client;
  std::string sent;
  std::string expected;
  for (std::uint32_t i = 0; i <= 3 * RequestOrder::kStreak; ++i) {
    const std::string value = std::to_string(i);
    const std::string bytes = std::to_string(value.size()) + "\r\n" + value + "\r\n";
    sent += i % 2 == 0 ? "set k" + value + " 0 0 " + bytes : "ms k" + value + " " + bytes;
    expected += i % 2 == 0 ? "STORED\r\n" : "HD O\r\n";
    if (i % 20 == 19) {
      sent += "set k 7 0 1\r\nx\r\nms k 1 O3\r\ny\r\n";
      expected += "STORED\r\nHD O3\r\n";
    }
  }
  sent += "get k k0 k1 k95\r\nset k 0 0 2\r\nxx!!";
  expected += "VALUE k 0 1\r\ny\r\nVALUE k0 0 1\r\n0\r\nVALUE k1 0 1\r\n1\r\nVALUE k95 0 2\r\n95\r\nEND\r\n";
  for (const std::size_t part : {1U, 7U, 40U, 1000U, 100'000U}) {
    for (const std::size_t with_memory : {~std::size_t{0}, std::size_t{3}, std::size_t{0}}) {
      Client other;
      other.store.sets_with_memory = with_memory;  // the others take the general path
      other.send(sent, part);
      EXPECT_EQ(other.settle(part), expected + "CLIENT_ERROR bad data chunk\r\n") << part;
    }
  }
}

TEST(Session, ASmallSetWhoseEndComesLaterStartsWithThoseBehindIt) {
  for (const std::string_view whole : {"set k 0 0 5\r\nabcde\r\n", "ms k 5\r\nabcde\r\n"}) {
    for (std::size_t cut = 1; cut < whole.size(); ++cut) {
      Client client;
      for (std::uint32_t i = 0; i <= RequestOrder::kStreak + 1; ++i) {
        client.send("set j 0 0 1\r\nx\r\n");
        client.settle();
      }
      const std::size_t bytes = client.item_bytes();
      client.store.most_sets = 0;
      client.send(whole.substr(0, cut));
      EXPECT_EQ(client.item_bytes(), bytes) << "no value has begun";
      client.send(std::string{whole.substr(cut)} + "set l 0 0 1\r\ny\r\nset m 0 0 1\r\nz\r\n");
      EXPECT_EQ(client.store.most_sets, 3U) << "cut behind " << whole.substr(0, cut);
      client.settle();
      EXPECT_EQ(client.store.items["k"], "abcde");
    }
  }
}

TEST(Session, ALargerValueBeginsBeforeItsEndHasCome) {
  Client client;
  client.send("set k 0 0 2000\r\nhalf");
  EXPECT_GT(client.item_bytes(), 2000U);
  client.send(std::string(1996, 'x') + "\r\n");
  EXPECT_EQ(client.settle(), "STORED\r\n");
}

TEST(Session, GetsAreAnsweredInOrderInPiecesOfAnySize) {
  std::string sent;
  std::string expected;
  for (int i = 0; i < 300; ++i) {
    const std::string hit = "VALUE k" + std::to_string(i % 7) + " 0 1\r\nv\r\n";
    const std::string key = " k" + std::to_string(i % 7);
    sent += i % 3 == 0 ? "get" + key + "\r\n" : "get" + key + " none" + key + "\r\n";
    expected += (i % 3 == 0 ? hit : hit + hit) + "END\r\n";
  }
  for (const std::size_t part : {1U, 2U, 7U, 40U, 1000U}) {
    Client client;
    for (int i = 0; i < 7; ++i) {
      client.ask("set k" + std::to_string(i) + " 0 0 1\r\nv\r\n");
    }
    client.send(sent, part);
    EXPECT_EQ(client.settle(part), expected) << part;
  }
}

TEST(Session, DoesNotReadOnWhileTheClientDoesNotRead) {
  config::LimitOptions limits;
  limits.output_high_water = 10'000;
  limits.pipeline = 4;
  Client client{limits};
  client.ask("set k 0 0 1000\r\n" + std::string(1000, 'v') + "\r\n");
  std::string many;
  for (int i = 0; i < 1000; ++i) {
    many += "get k\r\n";
  }
  client.reads_replies = false;
  client.send(many);
  EXPECT_EQ(client.settle(), "");
  EXPECT_TRUE(client.session->paused_for(pause::output));
  EXPECT_LT(client.session->unsent_bytes(), 10'000U + 4 * 1100);
  client.reads_replies = true;
  EXPECT_EQ(client.settle().size(), 1000U * (16 + 1002 + 5));
  EXPECT_TRUE(client.session->wants_input());
}

}  // namespace
}  // namespace mxkv::server::test

// Clients end while their connection is paused by something that others end: room, memory, a rate, a login, the journal, the
// disk. However long that takes, one that is gone has given its slot back.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/net/password.hpp"
#include "tests/unit/server/net/ending_ways.hpp"

namespace mxkv::server::test {
namespace {

TEST(PausedEnds, WhileTheJournalTakesNothing) {
  for (const Way& way : all_ways()) {
    DiskServer server;
    server.shared.workers.push_back(&server.net);
    EndingClient client{ground_of(server)};
    server.disk.full = true;
    server.run();
    expect_free(client, ground_of(server), way, "get k\r\n", [&] { server.disk.full = false; });
  }
}

// The journal never has room here: a client that is gone does not wait for it.
TEST(PausedEnds, WhileTheJournalTakesNothingAndNothingIsLeftToDo) {
  for (const char* const before : {"", "get k", "set k 0 0 100\r\nhalf of a value", "mb 2\r\nms a 1\r\n1\r\n",
                                   "get k\r\n", "watch mutations\r\n"}) {
    SCOPED_TRACE(before);
    for (const Way& way : {kHalfClose, kClose, kReset, kKilled}) {
      DiskServer server;
      server.shared.workers.push_back(&server.net);
      EndingClient client{ground_of(server)};
      client.put(before);
      server.run();
      server.disk.full = true;
      expect_free(client, ground_of(server), way, "");
    }
  }
}

TEST(PausedEnds, RequestsBeforeAHalfCloseAreAnsweredWhenTheJournalHasRoom) {
  DiskServer server;
  server.shared.workers.push_back(&server.net);
  EndingClient client{ground_of(server)};
  server.disk.full = true;
  server.run();
  client.end(kHalfClose, "get k\r\n");
  server.run();
  EXPECT_FALSE(client.closed()) << "its client may wait for the answer";
  EXPECT_EQ(server.net.counters().journal_pauses.load(), 1U);
  server.disk.full = false;
  EXPECT_TRUE(wait_until(ground_of(server), [&] { return client.closed() && client.left_over().empty(); }));
  EXPECT_EQ(client.received(), "END\r\n");
}

TEST(PausedEnds, ByAUnixSocketThatWasClosedWhileTheJournalTakesNothing) {
  for (const char* const before : {"", "get k\r\n", "get k"}) {
    DiskServer server;
    Wire client{server};
    server.disk.full = true;
    server.run();
    client.send(before);
    client.leave();
    server.run();
    EXPECT_EQ(server.shared.connections.open.load(), 0U) << before;
  }
}

TEST(PausedEnds, WhileItsReplyWaitsForTheDisk) {
  for (const Way& way : all_ways()) {
    DiskServer server;
    server.shared.workers.push_back(&server.net);
    EndingClient client{ground_of(server)};
    client.put("set k 0 0 1\r\nv\r\n");
    ASSERT_TRUE(wait_until(ground_of(server), [&] { return server.disk.waiting(); }));
    expect_free(client, ground_of(server), way, "", [&] { server.sync(); });
  }
}

TEST(PausedEnds, WhileItsRateIsUsedUp) {
  for (const Way& way : all_ways()) {
    TwoWorkers server{"users:\n  - {name: ann, password: secret, role: writer, requests: 2}\n"};
    EndingClient client{ground_of(server)};
    client.ask("set auth 0 0 10\r\nann secret\r\n", "STORED\r\n");
    client.put(copies_of(5, "get k\r\n"));
    ASSERT_TRUE(wait_until(ground_of(server), [&] { return server.nets[0].host().rate_pauses > 0; }));
    expect_free(client, ground_of(server), way, "", [&] {
      for (int second = 0; second < 10; ++second) {
        server.pass_ms(1000);
      }
    });
  }
}

TEST(PausedEnds, WhileAPageWaitsForRoom) {
  for (const Way& way : text_ways()) {
    TwoWorkers server;
    EndingClient client{ground_of(server)};
    client.ask("set k 0 0 1\r\nv\r\n", "STORED\r\n");
    SessionHost& host = server.nets[0].host();
    const std::size_t all = host.directory.share().bytes();
    host.directory.share().take(all);
    client.put("scan a 10\r\n");
    ASSERT_TRUE(wait_until(ground_of(server), [&] { return host.starved.size() == 1; }));
    expect_free(client, ground_of(server), way, "", [&] {
      EXPECT_EQ(host.starved.size(), 1U) << "its page has no room";
      host.directory.share().give(all);
    });
    EXPECT_TRUE(host.starved.empty());
  }
}

// Room is made behind all else, in several rounds. The clock stands, so that nothing is made by and by.
TEST(PausedEnds, WhileMemoryIsMadeForItsValue) {
  for (const Way& way : text_ways()) {
    TwoWorkers server;
    EndingClient client{ground_of(server)};
    const std::string value(20'000, 'v');
    for (int i = 0; i < 100; ++i) {
      client.ask("set k" + std::to_string(i) + " 0 0 20000\r\n" + value + "\r\n", "STORED\r\n");
    }
    runtime::MemoryBudget& budget = server.machine.runtime.budget();
    budget.set_limit_bytes(budget.used_bytes());
    client.put("set k 0 0 20000\r\n" + value + "\r\n");
    for (int round = 0; round < 4; ++round) {
      server.step(0);
    }
    expect_free(client, ground_of(server), way, "", [&] {
      for (int second = 0; second < 10; ++second) {
        server.pass_ms(1000);
      }
    });
  }
}

TEST(PausedEnds, WhileItsPasswordIsLookedAt) {
  const std::string hash = hash_password("secret");
  for (const Way& way : {Way{"quit", "quit\r\n"}, Way{"HTTP", "GET / HTTP/1.1\r\n\r\n"}, kHalfClose, kClose,
                         kReset, kKilled}) {
    TwoWorkers server{"users:\n  - {name: ann, password: \"" + hash + "\", role: writer}\n"};
    EndingClient client{ground_of(server)};
    client.put("set auth 0 0 10\r\nann secret\r\n");
    server.run();
    expect_free(client, ground_of(server), way, "");
  }
}

}  // namespace
}  // namespace mxkv::server::test

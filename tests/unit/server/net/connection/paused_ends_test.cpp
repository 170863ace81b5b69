// Clients end while their connection waits for room, memory, a rate, a login, the journal or the disk. However long the wait
// is, the slot of a client that is gone is free at once.
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "server/net/users/password.hpp"
#include "tests/unit/server/net/connection/ending_ways.hpp"

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

// Values of others fill the room. Its client waits with a small value, which has a part of the room for itself, so that
// other small ones have to fill this part, too. The clock stands: none of them stalls.
TEST(PausedEnds, WhileAValueWaitsForRoom) {
  for (const Way& way : text_ways()) {
    SCOPED_TRACE(way.name);
    TwoWorkers server;
    server.machine.runtime.budget().set_limit_bytes(std::size_t{8} << 20U);
    server.run();
    SessionHost& host = server.nets[0].host();
    std::deque<EndingClient> holders;
    for (const std::uint64_t bytes :
         {std::uint64_t{1'000'000}, SessionHost::kSmallValueBytes, std::uint64_t{20'000}}) {
      while (host.room_for_value(bytes) != nullptr) {
        holders.emplace_back(ground_of(server)).put("set held 0 0 " + std::to_string(bytes) + "\r\nsome");
        server.run();
      }
    }
    EndingClient client{ground_of(server)};
    client.put("set k 0 0 20000\r\n");
    ASSERT_TRUE(wait_until(ground_of(server), [&] { return host.small_values.waiting() == 1; }));
    client.end(way, std::string(20'000, 'v') + "\r\n");
    server.run();
    ASSERT_TRUE(wait_until(ground_of(server), [&] {
      return host.small_values.waiting() == (way.is_hard() ? 0U : 1U);
    })) << "its end is read behind its value, unless nothing reaches the client any more";
    for (EndingClient& holder : holders) {
      holder.end(kReset);
    }
    EXPECT_TRUE(wait_until(ground_of(server), [&] { return client.closed() && client.left_over().empty(); }))
        << client.left_over();
    EXPECT_EQ(host.values.held() + host.small_values.held() + host.small_values.waiting(), 0U);
  }
}

// Nothing fits, whatever is removed, and the clock stands: it waits until the limit is raised.
TEST(PausedEnds, WhileMemoryIsMadeForItsValue) {
  StoreOptions evicts;
  evicts.evict = true;
  for (const Way& way : text_ways()) {
    SCOPED_TRACE(way.name);
    TwoWorkers server{
        std::string{}, {.mode = config::balance_mode::off}, runtime::testing::unpinned(2), evicts};
    // Room is looked for in each round, so that the rounds do not end by themselves.
    const Ground ground{server.nets[0], server.shared, [&server] {
                          for (int round = 0; round < 20; ++round) {
                            server.step(0);
                            server.step(1);
                          }
                        }};
    EndingClient client{ground};
    client.ask("set k 0 0 1\r\nv\r\n", "STORED\r\n");
    server.machine.runtime.budget().set_limit_bytes(1);
    client.put("set k 0 0 20000\r\n" + std::string(20'000, 'v') + "\r\n");
    const std::uint64_t walks =
        server.store.total(counter::idle_walks) + server.store.total(counter::span_walks);
    ASSERT_TRUE(wait_until(ground, [&] {
      return server.store.total(counter::idle_walks) + server.store.total(counter::span_walks) > walks;
    })) << "room is made";
    EXPECT_FALSE(client.closed());
    EXPECT_EQ(client.received(), "") << "the value waits";
    expect_free(client, ground, way, "", [&] {
      EXPECT_EQ(client.received(), "") << "the value still waits";
      EXPECT_EQ(server.connections(0), 1U);
      server.machine.runtime.budget().set_limit_bytes(runtime::MemoryBudget::kUnlimited);
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

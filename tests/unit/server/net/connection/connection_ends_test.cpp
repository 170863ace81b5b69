// However a client ends its connection, and whatever the connection waits for, its slot is free afterwards: descriptor,
// counters and the entry of the client table. A client that is reset or killed frees the slot at once.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/server/net/connection/ending_ways.hpp"

namespace mxkv::server::test {
namespace {

/// Runs expect_free() for each way, with a server of its own.
void expect_free_behind(const std::string& before, const std::vector<Way>& ways,
                        const config::LimitOptions& limits = {}) {
  for (const Way& way : ways) {
    TwoWorkers server;
    server.nets[0].set_limits(limits);
    EndingClient client{ground_of(server)};
    expect_free(client, ground_of(server), way, before);
  }
}

TEST(ConnectionEnds, AtRest) {
  expect_free_behind("", all_ways());
}

// The last request of a turn pauses the session, and the connection's end arrives in the next turn, which reads nothing.
TEST(ConnectionEnds, WhereATurnIsUsedUpToTheLastRequest) {
  const std::size_t turn = config::LimitOptions{}.requests_per_turn;
  for (const std::size_t requests : {turn - 1, turn, turn + 1, 2 * turn, 4 * turn}) {
    SCOPED_TRACE(requests);
    expect_free_behind(copies_of(requests, "get k\r\n"), all_ways());
  }
  expect_free_behind(copies_of(turn, "set k 0 0 1 noreply\r\nv\r\n"), all_ways());
  expect_free_behind(copies_of(turn, "mn\r\n"), all_ways());
}

TEST(ConnectionEnds, WhereATurnIsUsedUpByTheBinaryProtocol) {
  const std::size_t turn = config::LimitOptions{}.requests_per_turn;
  const std::string noop = std::string{"\x80\x0a", 2} + std::string(22, '\0');
  std::vector<Way> ways = cut_ways();
  for (const Way& way : said_ways()) {
    if (way.bytes.front() == '\x80') {
      ways.push_back(way);
    }
  }
  ways.push_back({"text behind binary requests", "get k\r\n" + std::string(30, 'x')});
  expect_free_behind(copies_of(2 * turn, noop), ways);
}

TEST(ConnectionEnds, WhereTooManyAreInFlight) {
  config::LimitOptions limits;
  limits.pipeline = 4;
  limits.requests_per_turn = 3;
  for (std::size_t requests = 1; requests < 14; ++requests) {
    expect_free_behind(copies_of(requests, "get k\r\n") + "set k 0 0 1\r\nv\r\n", said_ways(), limits);
  }
  expect_free_behind(copies_of(100, "get k\r\n"), cut_ways(), limits);
}

TEST(ConnectionEnds, WhereRequestsWaitForTheirOrder) {
  config::LimitOptions limits;
  limits.requests_per_turn = 8;
  expect_free_behind(copies_of(7, "scan a 10\r\n") + "flush_all\r\n" + "set k 0 0 1\r\nv\r\n", all_ways(),
                     limits);
  expect_free_behind(copies_of(8, "incr n 1\r\nset n 0 0 1\r\n0\r\nappend n 0 0 1\r\n1\r\n"), all_ways(),
                     limits);
}

TEST(ConnectionEnds, InTheMiddleOfARequest) {
  for (const std::string& begun :
       {std::string{"set k 0 0 100\r\nhalf of a value"}, "set k 0 0 200000\r\n" + std::string(90'000, 'v'),
        std::string{"mb 2\r\nms a 1\r\n1\r\n"}, std::string{"get k k k"}, std::string{"ms k 10\r\n"},
        std::string{"set k 0 0 9999999\r\nswallowed"}}) {
    SCOPED_TRACE(begun.substr(0, 20));
    expect_free_behind(begun, {kHalfClose, kClose, kReset, kKilled});
  }
}

TEST(ConnectionEnds, OfStreams) {
  for (const std::string& stream :
       {std::string{"watch mutations\r\n"}, std::string{"lru_crawler metadump all\r\n"}}) {
    for (const Way& way : {kHalfClose, kClose, kReset, kKilled}) {
      TwoWorkers server;
      EndingClient client{ground_of(server)};
      client.ask(copies_of(300, "ms key 1\r\nv\r\n") + "mn\r\n", "MN\r\n");
      expect_free(client, ground_of(server), way, stream);
    }
  }
  expect_free_behind("set k 0 0 1\r\nv\r\nlru_crawler metadump all\r\n", said_ways());
}

TEST(ConnectionEnds, WithRepliesThatAreNotRead) {
  for (const Way& way : all_ways()) {
    TwoWorkers server;
    EndingClient client{ground_of(server)};
    const int small = 1 << 16;
    ASSERT_EQ(::setsockopt(client.socket(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
    client.ask("set k 0 0 100000\r\n" + std::string(100'000, 'v') + "\r\n", "STORED\r\n");
    client.put(copies_of(60, "get k\r\n"));
    server.run();
    expect_free(client, ground_of(server), way, "");
  }
}

TEST(ConnectionEnds, WhileItMoves) {
  for (const bool far : {false, true}) {
    for (const Way& way : all_ways()) {
      TwoWorkers server;
      EndingClient client{ground_of(server)};
      client.put(copies_of(300, "get k\r\n"));
      if (far) {
        server.run();
      }
      server.nets[0].give_all(server.nets[1]);
      server.step(0);  // the connection leaves now, or as soon as it rests
      expect_free(client, ground_of(server), way, "get k\r\n");
    }
  }
}

TEST(ConnectionEnds, OfAClientWithoutALoginWhoseLineIsRefused) {
  TwoWorkers server{"ann:secret\n"};
  EndingClient client{ground_of(server)};
  expect_free(client, ground_of(server), {"refused input", "get " + std::string(6000, 'k')}, "");
}

TEST(ConnectionEnds, OfOneThatIsDrained) {
  for (const std::size_t requests : {1U, 256U, 512U}) {
    TwoWorkers server;
    EndingClient client{ground_of(server)};
    client.put(copies_of(requests, "get k\r\n"));
    server.nets[0].drain();
    EXPECT_TRUE(wait_until(ground_of(server), [&] { return client.closed() && client.left_over().empty(); }))
        << client.left_over();
  }
}

}  // namespace
}  // namespace mxkv::server::test

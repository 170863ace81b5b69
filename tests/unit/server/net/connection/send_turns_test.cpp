// How much one round of a worker moves: about as much for many connections as for one, and each has its turn.
#include "server/net/connection/send_turns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "tests/unit/server/net/worker/two_workers.hpp"

namespace mxkv::server::test {
namespace {

constexpr std::size_t kLongBytes = 100'000;
constexpr std::size_t kReaders = 40;

std::string long_set(const std::string& key, std::size_t bytes) {
  return "set " + key + " 0 0 " + std::to_string(bytes) + "\r\n" + std::string(bytes, 'v') + "\r\n";
}

std::string gets_of_k(std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    all += "get k\r\n";
  }
  return all;
}

/// The most that one of so many rounds of both workers adds to the counter.
std::uint64_t most_of_a_round(
    TwoWorkers& server, const std::atomic<std::uint64_t>& counter, int rounds,
    const std::function<void()>& between = [] {}) {
  std::uint64_t most = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t before = counter.load();
    server.step(0);
    most = std::max(most, counter.load() - before);
    server.step(1);
    between();
  }
  return most;
}

class SendTurnsOfWorker : public testing::Test {
 protected:
  SendTurnsOfWorker() {
    WorkerClient writer{server, 0};
    EXPECT_EQ(writer.ask(long_set("k", kLongBytes)), "STORED\r\n");
    for (std::size_t i = 0; i < kReaders; ++i) {
      clients.emplace_back(server, 0);
    }
  }

  TwoWorkers server;
  std::deque<WorkerClient> clients;
};

TEST_F(SendTurnsOfWorker, ARoundSendsNoMoreToManyClientsThatDoNotReadThanItMay) {
  for (WorkerClient& client : clients) {
    client.put(gets_of_k(10));
  }
  const std::uint64_t most = most_of_a_round(server, server.nets[0].counters().written_bytes, 200);
  EXPECT_LE(most, SendTurns::kOfRound + kReaders * SendTurns::kShort);
  for (WorkerClient& client : clients) {
    EXPECT_GE(client.received().size(), kLongBytes) << "each has its turn";
  }
}

TEST_F(SendTurnsOfWorker, ClientsThatReadGetTheirRepliesAtTheSamePace) {
  constexpr std::size_t kGets = 30;
  for (WorkerClient& client : clients) {
    client.put(gets_of_k(kGets));
  }
  const std::size_t all = kGets * (std::string("VALUE k 0 100000\r\n\r\nEND\r\n").size() + kLongBytes);
  std::vector<std::size_t> got(kReaders);
  std::size_t widest = 0;
  for (int round = 0; round < 20'000 && std::ranges::min(got) < all; ++round) {
    server.step(0);
    server.step(1);
    for (std::size_t i = 0; i < kReaders; ++i) {
      got[i] += clients[i].received().size();
    }
    const auto [least, most] = std::ranges::minmax(got);
    widest = std::max(widest, most - least);
  }
  EXPECT_EQ(std::ranges::min(got), all) << "all of it comes";
  EXPECT_LE(widest, SendTurns::kOfRound + 2 * SendTurns::kOfTurn);
}

TEST_F(SendTurnsOfWorker, AShortReplyPassesLongOnesThatWaitForTheirTurn) {
  WorkerClient small{server, 0};
  EXPECT_EQ(small.ask("set s 0 0 1\r\nx\r\n"), "STORED\r\n");
  for (WorkerClient& client : clients) {
    client.put(gets_of_k(10));
  }
  server.step(0);
  server.step(0);
  small.put("get s\r\n");
  std::string got;
  for (int round = 0; round < 3 && got.empty(); ++round) {
    server.step(0);
    server.step(1);
    got = small.received();
  }
  EXPECT_EQ(got, "VALUE s 0 1\r\nx\r\nEND\r\n");
}

TEST_F(SendTurnsOfWorker, ANewLongReplyPassesThoseThatStream) {
  WorkerClient one{server, 0};
  for (WorkerClient& client : clients) {
    client.put(gets_of_k(30));
  }
  const auto all_read = [&] {
    server.step(0);
    server.step(1);
    for (WorkerClient& client : clients) {
      static_cast<void>(client.received());
    }
  };
  for (int round = 0; round < 20; ++round) {  // each has had a turn
    all_read();
  }
  one.put("get k\r\n");
  int rounds = 0;
  for (std::size_t got = 0; got < kLongBytes && rounds < 100; ++rounds) {
    all_read();
    got += one.received().size();
  }
  EXPECT_LE(rounds, 5) << "all others' turns would take ten";
}

TEST_F(SendTurnsOfWorker, ClientsThatLeaveWhileTheyWaitForTheirTurnAreClosed) {
  for (WorkerClient& client : clients) {
    client.put(gets_of_k(10));
  }
  server.step(0);
  server.step(0);
  clients.clear();
  server.run();
  EXPECT_EQ(server.connections(0), 0U);
  EXPECT_EQ(server.listed(), 0U);
}

TEST_F(SendTurnsOfWorker, ARoundReadsNoMoreFromManyClientsThanItMay) {
  for (std::size_t i = 0; i < kReaders; ++i) {
    clients[i].put(long_set("key" + std::to_string(i), kLongBytes));
  }
  const std::uint64_t most = most_of_a_round(server, server.nets[0].counters().read_bytes, 200);
  EXPECT_LE(most, (std::uint64_t{1} << 20U) + kLongBytes) << "the last read may be too long";
  for (WorkerClient& client : clients) {
    EXPECT_EQ(client.received(), "STORED\r\n");
  }
}

}  // namespace
}  // namespace mxkv::server::test

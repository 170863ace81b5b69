// TLS connections of workers: moves, counters, and buffers.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <string>
#include <string_view>
#include <thread>

#include "server/net/tls/tls_stream.hpp"
#include "tests/unit/server/net/tls/tls_peer.hpp"
#include "tests/unit/server/net/worker/two_workers.hpp"

namespace mxkv::server::test {
namespace {

/// A client of a worker, over TLS.
class TlsClientOf {
 public:
  TlsClientOf(TwoWorkers& server, const Door& door, bool shakes = true)
      : server_(server), ends_(sockets()), peer_(ends_[0]) {
    server.nets[0].load().fetch_add(1);
    server.shared.connections.open.fetch_add(1);
    server.nets[0].adopt(ends_[1], door);
    server.run();
    for (int round = 0; shakes && round < 10 && !peer_.shake_hands(); ++round) {
      server.run();
    }
    server.run();
  }
  std::string ask(std::string_view text) {
    peer_.send(text);
    server_.run();
    return peer_.received();
  }
  [[nodiscard]] int socket() const { return ends_[0]; }
  [[nodiscard]] Peer& peer() { return peer_; }

 private:
  TwoWorkers& server_;
  std::array<int, 2> ends_;
  Peer peer_;
};

class TlsConnection : public testing::Test {
 protected:
  Files files;
  TlsDoor tls{files.options(), files.context()};
  Door door{.tls = &tls};
};

TEST_F(TlsConnection, IsAnsweredAndMoves) {
  TwoWorkers server;
  TlsClientOf client{server, door};
  EXPECT_EQ(client.ask("set k 0 0 5\r\nvalue\r\n"), "STORED\r\n");
  for (const std::size_t to : {1U, 0U, 1U}) {
    server.move(1 - to, to);
    EXPECT_EQ(server.connections(to), 1U);
    EXPECT_EQ(client.ask("get k\r\nget k\r\n"),
              "VALUE k 0 5\r\nvalue\r\nEND\r\nVALUE k 0 5\r\nvalue\r\nEND\r\n");
    std::vector<std::string> versions;
    server.shared.clients.walk(0, [&versions](const auto& one) {
      versions.push_back(one.tls == nullptr ? "none" : one.tls->version);
    });
    EXPECT_EQ(versions, std::vector<std::string>{"TLSv1.3"});
    EXPECT_EQ(server.shared.connections.by_tls.load(), 1U);
  }
}

TEST_F(TlsConnection, ThatShakesHandsDoesNotMoveAndIsGivenUpInTime) {
  TwoWorkers server;
  const runtime::MemoryBudget& budget = server.machine.runtime.budget();
  const std::size_t before = budget.category_bytes(runtime::memory_category::buffers);
  config::LimitOptions limits = server.limits;
  limits.handshake_ms = 200;
  server.nets[0].set_limits(limits);
  TlsClientOf client{server, door, false};
  ASSERT_EQ(::send(client.socket(), "\x16\x03", 2, 0), 2);
  server.run();
  EXPECT_EQ(budget.category_bytes(runtime::memory_category::buffers) - before, TlsStream::kHandshakeBytes);
  server.move(0, 1);
  EXPECT_EQ(server.connections(0), 1U);
  server.pass_ms(300);
  for (int look = 0; look < 1000 && server.connections(0) == 1; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});  // the timer runs by real time
    server.pass_ms(1);
  }
  EXPECT_EQ(server.connections(0), 0U);
  EXPECT_EQ(server.nets[0].counters().handshake_errors.load(), 1U);
  EXPECT_EQ(budget.category_bytes(runtime::memory_category::buffers), before);
}

TEST_F(TlsConnection, HandshakesThatStallMakeRoomForOneThatWaits) {
  TwoWorkers server;
  server.machine.runtime.budget().set_limit_bytes(std::size_t{1} << 20U);
  server.run();
  SessionHost& host = server.nets[0].host();
  const std::size_t most = host.handshake_room() / TlsStream::kHandshakeBytes;
  std::deque<TlsClientOf> silent;
  for (std::size_t i = 0; i < most + 20; ++i) {
    ASSERT_EQ(::send(silent.emplace_back(server, door, false).socket(), "\x16\x03", 2, 0), 2);
    server.run();
  }
  EXPECT_EQ(host.handshakes.waiting(), 20U);
  EXPECT_EQ(host.input.share().held(), 0U) << "other clients' requests have a share of their own";
  WorkerClient plain{server, 0};
  plain.send("get ");
  EXPECT_EQ(plain.ask("k\r\n"), "END\r\n") << "a line in two pieces";
  TlsClientOf honest{server, door};
  server.pass_ms(Admission::kStallsNs / 1'000'000 + 50);
  for (int round = 0; round < 10 && !honest.peer().shake_hands(); ++round) {
    server.run();
  }
  EXPECT_EQ(honest.ask("get k\r\n"), "END\r\n");
}

TEST_F(TlsConnection, OneLookAtAllFindsRoomForManyNewcomers) {
  constexpr std::size_t kMost = 128;
  constexpr std::size_t kNew = 20;
  TwoWorkers server;
  server.machine.runtime.budget().set_limit_bytes(std::size_t{1} << 20U);
  std::deque<TlsClientOf> clients;
  for (std::size_t i = 0; i < kMost; ++i) {
    clients.emplace_back(server, door);
  }
  server.pass_ms(1500);
  const std::uint64_t before = server.nets[0].walks();
  std::deque<TlsClientOf> newcomers;
  for (std::size_t i = 0; i < kNew; ++i) {
    newcomers.emplace_back(server, door);
    EXPECT_EQ(newcomers.back().ask("get k\r\n"), "END\r\n") << i;
  }
  EXPECT_EQ(server.nets[0].counters().idle_closed.load(), kNew);
  EXPECT_EQ(server.nets[0].walks() - before, 1U);
}

TEST_F(TlsConnection, TheIdlestMakesRoomWhereTheirShareIsUsedUp) {
  constexpr std::size_t kMost = 128;
  TwoWorkers server;
  server.machine.runtime.budget().set_limit_bytes(std::size_t{1} << 20U);
  std::deque<TlsClientOf> clients;
  for (std::size_t i = 0; i < kMost; ++i) {
    clients.emplace_back(server, door);
  }
  EXPECT_EQ(clients.front().ask("get k\r\n"), "END\r\n");
  EXPECT_EQ(server.connections(0), kMost);
  TlsClientOf waits{server, door};
  EXPECT_EQ(server.shared.connections.by_tls.load(), kMost) << "nobody was idle for a second";
  server.pass_ms(1500);
  for (int round = 0; round < 10 && !waits.peer().shake_hands(); ++round) {
    server.run();
  }
  EXPECT_EQ(waits.ask("get k\r\n"), "END\r\n");
  EXPECT_EQ(server.shared.connections.by_tls.load(), kMost);
  EXPECT_EQ(clients.front().ask("get k\r\n"), "END\r\n") << "those that asked for something stay longest";
  EXPECT_EQ(server.nets[0].counters().idle_closed.load(), 1U);
}

TEST_F(TlsConnection, IsChargedForItsMemory) {
  TwoWorkers server;
  const runtime::MemoryBudget& budget = server.machine.runtime.budget();
  const std::size_t before = budget.category_bytes(runtime::memory_category::buffers);
  {
    TlsClientOf client{server, door};
    EXPECT_EQ(client.ask("get k\r\n"), "END\r\n");
    EXPECT_EQ(budget.category_bytes(runtime::memory_category::buffers) - before,
              TlsStream::kIdleBytes + TlsStream::kBuffersBytes);
    server.move(0, 1);
    EXPECT_EQ(client.ask("get k\r\n"), "END\r\n");
    EXPECT_EQ(budget.category_bytes(runtime::memory_category::buffers) - before,
              TlsStream::kIdleBytes + TlsStream::kBuffersBytes);
  }
  server.run();
  EXPECT_EQ(budget.category_bytes(runtime::memory_category::buffers), before);
}

TEST_F(TlsConnection, OfManyOnlySomeKeepTheirBuffersAndAllAreAnswered) {
  constexpr std::size_t kClients = 70;
  TwoWorkers server;
  server.machine.runtime.budget().set_limit_bytes(std::size_t{1} << 20U);
  server.run();
  const std::size_t most = server.nets[0].host().input.share().bytes() / TlsStream::kBuffersBytes;
  ASSERT_GT(most, 1U);
  ASSERT_LT(most, kClients / 2);
  const runtime::MemoryBudget& budget = server.machine.runtime.budget();
  const std::size_t before = budget.category_bytes(runtime::memory_category::buffers);
  const auto bytes_with = [&](std::size_t idle, std::size_t busy) {
    return before + idle * TlsStream::kIdleBytes + busy * TlsStream::kBuffersBytes;
  };
  std::deque<TlsClientOf> clients;
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.emplace_back(server, door);
    EXPECT_EQ(budget.category_bytes(runtime::memory_category::buffers),
              bytes_with(i + 1, std::min(i + 1, most)));
  }
  for (int round = 0; round < 3; ++round) {
    for (TlsClientOf& client : clients) {
      EXPECT_EQ(client.ask("get k\r\n"), "END\r\n");
    }
  }
  EXPECT_EQ(budget.category_bytes(runtime::memory_category::buffers), bytes_with(kClients, most));
  while (clients.size() > 3) {
    clients.pop_back();
  }
  server.run();
  for (TlsClientOf& client : clients) {
    EXPECT_EQ(client.ask("get k\r\n"), "END\r\n");
  }
  EXPECT_EQ(budget.category_bytes(runtime::memory_category::buffers), bytes_with(3, 3));
}

}  // namespace
}  // namespace mxkv::server::test

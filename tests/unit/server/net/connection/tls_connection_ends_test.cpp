// TLS connections of workers whose clients end in any way and anywhere: the server continues, and frees the slot, the
// handshake and the memory.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "server/net/tls/tls_stream.hpp"
#include "tests/unit/server/net/connection/disk_fixture.hpp"
#include "tests/unit/server/net/tls/scripted_peer.hpp"
#include "tests/unit/server/net/tls/tls_peer.hpp"
#include "tests/unit/server/net/worker/two_workers.hpp"

namespace mxkv::server::test {
namespace {

/// How far a client gets before it ends. Each stage has its last message: its records are cut, or garbage follows them.
enum class client_stage { connected, greeted, shaken, asks, asks_much, moves };

class TlsConnectionEnds : public testing::Test {
 protected:
  TlsConnectionEnds() : before_(charged()) {}

  [[nodiscard]] std::size_t charged() {
    return server_.machine.runtime.budget().category_bytes(runtime::memory_category::buffers);
  }
  /// A client that gets as far as `to`; returns the bytes that would be the next.
  std::string begin(client_stage to) {
    peer_.emplace(connecting_.get());
    const std::array<int, 2> ends = sockets();
    socket_ = ends[0];
    server_.nets[0].load().fetch_add(1);
    server_.shared.connections.open.fetch_add(1);
    server_.nets[0].adopt(ends[1], door_);
    server_.run();
    std::string next = peer_->shake_hands();
    if (to == client_stage::connected) {
      return next;
    }
    send_bytes(socket_, std::exchange(next, {}));
    server_.run();
    peer_->hear(bytes_there(socket_));
    next = peer_->shake_hands();
    if (to == client_stage::greeted) {
      return next;
    }
    send_bytes(socket_, next);
    server_.run();
    EXPECT_EQ(server_.shared.connections.by_tls.load(), 1U);
    switch (to) {
      case client_stage::asks:
        next = peer_->say("get k\r\n");
        return next.append(peer_->say("get k\r\n"));
      case client_stage::asks_much:  // and reads none of the replies
        send_bytes(socket_, peer_->say("set k 0 0 100000\r\n" + std::string(100'000, 'v') + "\r\n"));
        server_.run();
        for (int i = 0; i < 40; ++i) {
          send_bytes(socket_, peer_->say("get k\r\n"));
        }
        server_.run();
        return peer_->say("get k\r\n");
      case client_stage::moves:
        next = peer_->say("get k\r\n");
        server_.nets[0].give_all(server_.nets[1]);
        server_.step(0);  // no worker has its socket now
        return next;
      default:
        return {};
    }
  }
  void expect_free() {
    server_.run();
    EXPECT_EQ(server_.shared.connections.open.load(), 0U);
    EXPECT_EQ(server_.connections(0) + server_.connections(1), 0U);
    EXPECT_EQ(server_.shared.connections.by_tls.load(), 0U);
    EXPECT_EQ(server_.listed(), 0U);
    EXPECT_LE(charged(), before_ + kPooled);
    EXPECT_EQ(server_.nets[0].host().input.share().held() + server_.nets[1].host().input.share().held(), 0U);
    if (socket_ >= 0) {
      ::close(std::exchange(socket_, -1));
    }
  }
  /// Runs the server with the client's last bytes in the kernel, and reads its replies to the end.
  void read_all() {
    for (int rounds = 0; socket_ >= 0 && rounds < 1000 && server_.shared.connections.open.load() > 0;
         ++rounds) {
      static_cast<void>(bytes_there(socket_));
      server_.run();
    }
  }

  /// Blocks that the workers keep for the next unfinished line. Two connections that leaked their share would be more.
  static constexpr std::size_t kPooled = std::size_t{20} << 10U;
  static_assert(kPooled < 2 * TlsStream::kIdleBytes);

  Files files_{"connection-ends"};
  TlsDoor tls_{files_.options(), files_.context()};
  Door door_{.tls = &tls_};
  ConnectingContext connecting_;
  TwoWorkers server_;
  std::size_t before_;
  std::optional<ScriptedPeer> peer_;
  int socket_ = -1;
};

TEST_F(TlsConnectionEnds, InAnyWayAtAnyStageAndAnyByte) {
  for (const client_stage at : {client_stage::connected, client_stage::greeted, client_stage::shaken,
                                client_stage::asks, client_stage::moves}) {
    for (const ending how : kEndings) {
      std::size_t bytes = 0;
      for (std::size_t cut = 0; cut <= bytes; cut += cut < 30 ? 1 : 7) {
        SCOPED_TRACE(std::string{name_of(how)} + " at stage " + std::to_string(static_cast<int>(at)) +
                     ", byte " + std::to_string(cut));
        const std::string next = begin(at);
        bytes = next.size();
        end_by(socket_, how, next.substr(0, cut));
        expect_free();
      }
    }
  }
}

// The server executes the request, cannot send the reply any more, and ends only this connection.
TEST_F(TlsConnectionEnds, BehindAGoodRecordInTheSameSegment) {
  for (const char* const request :
       {"mn\r\n", "get k\r\n", "set k 0 0 1\r\nv\r\n", "stats\r\n", "quit\r\n", "get k"}) {
    for (const ending how : kEndings) {
      SCOPED_TRACE(std::string{request} + ", then " + name_of(how));
      static_cast<void>(begin(client_stage::shaken));
      end_by(socket_, how, peer_->say(request));
      server_.run();
      read_all();
      expect_free();
    }
  }
}

TEST_F(TlsConnectionEnds, InTheMiddleOfAValue) {
  for (const ending how : kEndings) {
    SCOPED_TRACE(name_of(how));
    static_cast<void>(begin(client_stage::shaken));
    send_bytes(socket_, peer_->say("set k 0 0 100000\r\n" + std::string(10'000, 'v')));
    server_.run();
    // The rest of a record goes straight into the value; the wrong bytes follow it.
    end_by(socket_, how, peer_->say(std::string(5000, 'v')));
    expect_free();
  }
}

TEST_F(TlsConnectionEnds, WithAnswersThatAreNotRead) {
  for (const ending how : kEndings) {
    SCOPED_TRACE(name_of(how));
    const std::string next = begin(client_stage::asks_much);
    end_by(socket_, how, next);
    server_.run();
    read_all();
    expect_free();
  }
}

TEST_F(TlsConnectionEnds, OfManyWhileAnotherClientIsServed) {
  WorkerClient honest{server_, 0};
  EXPECT_EQ(honest.ask("set other 0 0 1\r\nv\r\n"), "STORED\r\n");
  for (const client_stage at : {client_stage::connected, client_stage::greeted, client_stage::asks,
                                client_stage::asks_much, client_stage::moves}) {
    for (const ending how : kEndings) {
      const std::string next = begin(at);
      end_by(socket_, how, next);
      EXPECT_EQ(honest.ask("get other\r\n"), "VALUE other 0 1\r\nv\r\nEND\r\n");
      if (socket_ >= 0) {
        ::close(std::exchange(socket_, -1));
      }
    }
  }
  server_.run();
  EXPECT_EQ(server_.shared.connections.open.load(), 1U);
  EXPECT_EQ(server_.shared.connections.by_tls.load(), 0U);
}

TEST_F(TlsConnectionEnds, WhenItIsKilledAtAnyStage) {
  for (const client_stage at : {client_stage::connected, client_stage::greeted, client_stage::shaken,
                                client_stage::asks, client_stage::asks_much, client_stage::moves}) {
    SCOPED_TRACE(static_cast<int>(at));
    const std::string next = begin(at);
    send_bytes(socket_, next.substr(0, next.size() / 2));
    server_.run();
    std::size_t killed = 0;
    server_.shared.clients.kill(0, [&killed](const auto&) { return ++killed > 0; });
    EXPECT_EQ(killed, 1U);
    expect_free();
  }
}

TEST_F(TlsConnectionEnds, WhenItQuitsBehindAWholeTurn) {
  std::string requests;
  for (std::uint32_t i = 0; i < 2 * config::LimitOptions{}.requests_per_turn; ++i) {
    requests += "get k\r\n";
  }
  for (int client = 0; client < 4; ++client) {
    static_cast<void>(begin(client_stage::shaken));
    send_bytes(socket_, peer_->say(requests + "quit\r\n"));
    server_.run();
    read_all();
    expect_free();
  }
}

// The end is a record that the worker does not read while the journal is full.
TEST(TlsPausedEnds, WhileTheJournalTakesNothingAndNothingIsLeftToDo) {
  const Files files{"paused-ends"};
  TlsDoor tls{files.options(), files.context()};
  const Door door{.tls = &tls};
  const ConnectingContext connecting;
  for (const bool says_end : {false, true}) {
    for (const char* const request : {"", "get k\r\n"}) {
      SCOPED_TRACE(std::string{says_end ? "end, " : "half close, "} + request);
      DiskServer server;
      std::array<int, 2> ends = sockets();
      server.net.load().fetch_add(1);
      server.shared.connections.open.fetch_add(1);
      server.net.adopt(ends[1], door);
      ScriptedPeer peer{connecting.get()};
      for (int flight = 0; flight < 2; ++flight) {
        send_bytes(ends[0], peer.shake_hands());
        server.run();
        peer.hear(bytes_there(ends[0]));
      }
      ASSERT_EQ(server.shared.connections.by_tls.load(), 1U);
      server.disk.full = true;
      send_bytes(ends[0], peer.say(request));
      if (says_end) {
        send_bytes(ends[0], peer.say_end());
      }
      ::shutdown(ends[0], SHUT_WR);
      server.run();
      EXPECT_EQ(server.shared.connections.open.load(), *request == '\0' ? 0U : 1U);
      server.disk.full = false;
      server.run();
      peer.hear(bytes_there(ends[0]));
      EXPECT_EQ(peer.understood(), *request == '\0' ? "" : "END\r\n");
      EXPECT_EQ(server.shared.connections.open.load(), 0U);
      ::close(ends[0]);
    }
  }
}

}  // namespace
}  // namespace mxkv::server::test

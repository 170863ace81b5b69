// Connections whose socket event is reported once: no received byte is lost, and no work is done twice.
#include "server/net/connection/connection.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "tests/unit/server/net/connection/disk_fixture.hpp"

namespace mxkv::server::test {
namespace {

constexpr int kManyRounds = 100;

/// The number of rounds, of so many, that did any work.
int busy_rounds(DiskServer& server) {
  int busy = 0;
  for (int round = 0; round < kManyRounds; ++round) {
    busy += server.machine[0].step() ? 1 : 0;
  }
  return busy;
}

std::uint64_t open_connections(const DiskServer& server) {
  return server.shared.connections.open.load();
}

std::string times(std::size_t count, const std::string& text) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    all += text;
  }
  return all;
}

/// Stores a value of so many bytes at "k", and puts it on disk.
void store_value(DiskServer& server, Wire& wire, std::size_t bytes) {
  wire.send("set k 0 0 " + std::to_string(bytes) + "\r\n" + std::string(bytes, 'v') + "\r\n");
  server.sync();
  ASSERT_EQ(wire.received(), "STORED\r\n");
}

TEST(Connection, APausedConnectionWhoseClientLeftKeepsNoRoundBusy) {
  DiskServer server;
  Wire wire{server};
  server.disk.full = true;
  server.run();
  wire.put("get k\r\n");
  EXPECT_LE(busy_rounds(server), 1) << "the round that finds that it must wait";
  wire.end();
  EXPECT_LE(busy_rounds(server), 1) << "the round that looks whether its client is gone";
  EXPECT_EQ(busy_rounds(server), 0);
  EXPECT_EQ(open_connections(server), 1U);
  wire.leave();
  EXPECT_EQ(busy_rounds(server), 0);
  EXPECT_EQ(open_connections(server), 0U);
  server.disk.full = false;
  server.run();
  EXPECT_EQ(open_connections(server), 0U);
}

TEST(Connection, APausedConnectionWhoseClientKeepsSendingKeepsNoRoundBusy) {
  DiskServer server;
  Wire wire{server};
  server.disk.full = true;
  wire.send("get k\r\n");
  for (int more = 0; more < 10; ++more) {
    wire.put("get k\r\n");
    EXPECT_EQ(busy_rounds(server), 0);
  }
  server.disk.full = false;
  server.run();
  EXPECT_EQ(wire.received(), times(11, "END\r\n"));
}

TEST(Connection, AConnectionWithUnreadRepliesIsClosedWhenItsClientLeaves) {
  DiskServer server;
  Wire wire{server};
  store_value(server, wire, 100'000);
  wire.send(times(40, "get k\r\n"));  // more bytes than a socket takes
  EXPECT_EQ(busy_rounds(server), 0);
  wire.leave();
  EXPECT_EQ(open_connections(server), 0U);
  EXPECT_EQ(busy_rounds(server), 0);
}

TEST(Connection, AClientThatOnlyReadsGetsItsUnreadReplies) {
  DiskServer server;
  Wire wire{server};
  store_value(server, wire, 100'000);
  wire.put(times(40, "get k\r\n"));
  wire.end();
  server.run();
  EXPECT_EQ(busy_rounds(server), 0);
  std::string all;
  for (std::string part; !(part = wire.received()).empty(); server.run()) {
    all += part;
  }
  const std::string each = "VALUE k 0 100000\r\n" + std::string(100'000, 'v') + "\r\nEND\r\n";
  EXPECT_EQ(all.size(), 40 * each.size());
  EXPECT_EQ(all, times(40, each));
  EXPECT_TRUE(wire.closed());
}

TEST(Connection, RequestsAndTheEndOfInputThatComeTogetherAreBothSeen) {
  DiskServer server;
  Wire wire{server};
  wire.put("get k\r\n");
  wire.end();
  server.run();
  EXPECT_EQ(wire.received(), "END\r\n");
  EXPECT_TRUE(wire.closed());
  EXPECT_EQ(open_connections(server), 0U);
}

TEST(Connection, TheEndOfInputBehindMoreThanOneReadIsSeen) {
  DiskServer server;
  Wire wire{server};
  constexpr std::size_t kRequests = 2 * NetWorker::kReadBytes / 7;
  wire.put(times(kRequests, "get k\r\n"));
  wire.end();
  server.run();
  EXPECT_EQ(wire.received(), times(kRequests, "END\r\n"));
  EXPECT_TRUE(wire.closed());
}

TEST(Connection, AReadThatFillsItsBufferIsFollowedByAnother) {
  DiskServer server;
  Wire wire{server};
  const std::string request = "get kk\r\n";
  static_assert(NetWorker::kReadBytes % 8 == 0);
  ASSERT_EQ(request.size(), 8U);
  for (const std::size_t reads : {1U, 2U}) {
    const std::size_t requests = reads * NetWorker::kReadBytes / request.size();
    wire.send(times(requests, request));
    EXPECT_EQ(wire.received(), times(requests, "END\r\n"));
  }
}

TEST(Connection, BytesEndTheSleepOfItsWorker) {
  DiskServer server;
  Wire wire{server};
  for (int sleep = 0; sleep < 3; ++sleep) {
    wire.put("get k\r\n");
    server.net.block(server.machine[0], runtime::Poller::kForever);
    server.run();
    EXPECT_EQ(wire.received(), "END\r\n");
  }
}

TEST(Connection, AWakeBeforeOrInASleepEndsIt) {
  DiskServer server;
  for (int sleep = 0; sleep < 3; ++sleep) {
    server.net.wake();
    server.net.block(server.machine[0], runtime::Poller::kForever);
    server.run();
  }
  server.net.wake();  // the round takes the wake-up and looks for its cause
  server.run();
  server.net.block(server.machine[0], 1'000);
}

// The worker was stopped for two seconds: its timer is due in the same round in which it learns of the bytes.
TEST(Connection, AClientWhoseBytesWaitForTheWorkerIsNotClosedForItsSilence) {
  for (const bool short_of_input : {true, false}) {
    DiskServer server;
    Wire wire{server};
    server.limits.output_stall_ms = 80;
    server.limits.idle_timeout_ms = short_of_input ? 0 : 1000;
    server.net.set_limits(server.limits);
    MemoryShare& share = server.net.host().input.share();
    const std::size_t others = short_of_input ? share.bytes() / 8 * 7 : 0;
    const std::string half = short_of_input ? "get" + times(1000, " k") : "";  // more than a small block
    share.take(others);
    wire.send(half);
    Wire silent{server};
    silent.send(half);
    server.machine.clock.advance_us(2'000'000);
    server.net.block(server.machine[0], runtime::Poller::kForever);  // until the timer is due
    wire.put(short_of_input ? "\r\n" : "get k\r\n");
    server.run();
    EXPECT_TRUE(silent.closed()) << "the timer came";
    EXPECT_EQ(wire.received(), "END\r\n");
    share.give(others);
  }
}

TEST(Connection, AConnectionWhoseSocketCannotBeWatchedIsClosedAndUncounted) {
  DiskServer server;
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);  // epoll refuses plain files
  ASSERT_GE(file, 0);
  server.net.load().fetch_add(1);
  server.shared.connections.open.fetch_add(1);
  server.net.adopt(file);
  server.run();
  EXPECT_EQ(open_connections(server), 0U);
  EXPECT_EQ(server.net.load().load(), 0U);
}

TEST(Connection, DeepPipelinesFillARoundAndTheOthersComeInTheNext) {
  constexpr std::size_t kDepth = 200;  // two of them have more requests than a round takes
  DiskServer server;
  std::array<std::optional<Wire>, 5> wires;
  for (std::optional<Wire>& wire : wires) {
    wire.emplace(server);
  }
  for (const std::optional<Wire>& wire : wires) {
    wire->put(times(kDepth, "get k\r\n"));
  }
  std::array<int, 5> answered{};
  while (std::ranges::min(answered) < 2) {
    ASSERT_TRUE(server.machine[0].step());
    int in_this_round = 0;
    for (std::size_t i = 0; i < wires.size(); ++i) {
      if (const std::string got = wires[i]->received(); !got.empty()) {
        EXPECT_EQ(got, times(kDepth, "END\r\n"));
        ++in_this_round;
        if (++answered[i] == 1) {  // it sends again at once, and is queued behind all others
          wires[i]->put(times(kDepth, "get k\r\n"));
        }
      }
    }
    ASSERT_GE(in_this_round, 1);
    ASSERT_LE(in_this_round, 2);
    ASSERT_LE(std::ranges::max(answered), std::ranges::min(answered) + 1);
  }
  EXPECT_EQ(busy_rounds(server), 0);
}

TEST(Connection, ADrainedConnectionAnswersItsReceivedRequestsAndCloses) {
  DiskServer server;
  Wire wire{server};
  wire.put("get k\r\nget k\r\n");
  server.net.drain();
  server.run();
  EXPECT_EQ(wire.received(), "END\r\nEND\r\n");
  EXPECT_TRUE(wire.closed());
}

TEST(Connection, DrainedWhilePausedTakesNoMoreReadsThanItHas) {
  DiskServer server;
  Wire wire{server};
  store_value(server, wire, 100'000);
  wire.send(times(40, "get k\r\n"));
  server.net.drain();
  server.run();
  for (int more = 0; more < 200; ++more) {
    wire.put("get k\r\n");
    server.run();
  }
  std::string all;
  for (std::string part; !(part = wire.received()).empty(); server.run()) {
    all += part;
  }
  EXPECT_TRUE(wire.closed());
  EXPECT_EQ(open_connections(server), 0U);
}

}  // namespace
}  // namespace mxkv::server::test

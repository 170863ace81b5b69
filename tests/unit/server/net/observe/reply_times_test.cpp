// A request's latency lasts from its arrival until nothing of the server holds its reply back.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/net/observe/request_sampler.hpp"
#include "tests/unit/server/net/connection/disk_fixture.hpp"
#include "tests/unit/server/net/tls/tls_peer.hpp"

namespace mxkv::server::test {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

/// Times every request, by a clock that only the test advances.
class TimingServer : public DiskServer {
 public:
  TimingServer() { net.host().sampler.change({.sample = 1, .slow_ms = 1}); }

  void pass_ms(std::uint64_t milliseconds) {
    machine.clock.advance_us(milliseconds * 1000);
    run();
  }
  /// How many requests of a kind were timed, and the lowest value that one of their percentiles may have.
  [[nodiscard]] std::uint64_t timed(command_kind kind) {
    std::uint64_t all = 0;
    for (const std::uint64_t count : counts(kind)) {
      all += count;
    }
    return all;
  }
  [[nodiscard]] std::uint64_t longest_ns(command_kind kind) {
    return LatencyHistogram::percentile(counts(kind), 1'000'000);
  }
  [[nodiscard]] std::vector<SlowRequest> slow() { return shared.slow.latest(); }

 private:
  [[nodiscard]] LatencyHistogram::Counts counts(command_kind kind) {
    LatencyHistogram::Counts found{};
    net.host().sampler.latencies(kind)->add_to(found);
    return found;
  }
};

TEST(ReplyTimes, AWriteTakesUntilItIsOnDisk) {
  TimingServer server;
  Wire client{server};
  client.send("set k 0 0 1\r\n1\r\n");
  server.pass_ms(200);
  EXPECT_EQ(server.timed(command_kind::set), 0U) << "its reply is held";
  server.sync();
  EXPECT_EQ(client.received(), "STORED\r\n");
  EXPECT_EQ(server.timed(command_kind::set), 1U);
  EXPECT_GE(server.longest_ns(command_kind::set), 200 * kMs);
  ASSERT_EQ(server.slow().size(), 1U);
  EXPECT_EQ(server.slow()[0].nanoseconds, 200 * kMs);
  EXPECT_EQ(server.slow()[0].key, "k");
  EXPECT_EQ(server.slow()[0].reply_bytes, std::string{"STORED\r\n"}.size());
}

TEST(ReplyTimes, OnlyAReadThatSawANewValueTakesUntilThatIsOnDisk) {
  TimingServer server;
  Wire writer{server};
  Wire waits{server};
  Wire goes{server};
  writer.send("set k 0 0 1\r\n1\r\nset other 0 0 1\r\n1\r\n");
  server.sync();
  writer.send("set k 0 0 1\r\n2\r\n");
  waits.send("get k\r\n");
  goes.send("get other\r\n");
  server.pass_ms(30);
  EXPECT_EQ(server.timed(command_kind::get), 1U);
  EXPECT_LT(server.longest_ns(command_kind::get), kMs);
  server.sync();
  EXPECT_EQ(server.timed(command_kind::get), 2U);
  EXPECT_GE(server.longest_ns(command_kind::get), 30 * kMs);
}

// Each request of a pipeline waits for its own epoch, and replies without a wait stay behind held ones.
TEST(ReplyTimes, OfAPipelineEachTakesUntilItsOwnReplyLeaves) {
  TimingServer server;
  Wire client{server};
  client.send("set a 0 0 1\r\n1\r\n");
  server.disk.close();
  server.pass_ms(10);
  client.send("set b 0 0 1\r\n1\r\n");
  server.disk.close();
  server.pass_ms(10);
  server.disk.on_disk = server.disk.current - 2;
  server.run();
  EXPECT_EQ(client.received(), "STORED\r\n");
  EXPECT_EQ(server.timed(command_kind::set), 1U);
  client.send("version\r\n");
  server.pass_ms(10);
  EXPECT_EQ(server.timed(command_kind::other), 0U);
  server.sync();
  ASSERT_EQ(server.slow().size(), 3U);
  std::map<std::string, std::uint64_t> took;
  for (const SlowRequest& one : server.slow()) {
    took[one.key] = one.nanoseconds;
  }
  EXPECT_EQ(took, (std::map<std::string, std::uint64_t>{{"a", 20 * kMs}, {"b", 20 * kMs}, {"", 10 * kMs}}));
}

TEST(ReplyTimes, WhereRepliesNeedNotWaitNothingIsAdded) {
  TimingServer server;
  Wire client{server};
  client.send("set k 0 0 1\r\n1\r\n");
  server.sync();
  server.disk.on_disk = ~std::uint64_t{0};
  client.send("set k 0 0 1\r\n2\r\n");
  server.pass_ms(50);
  EXPECT_EQ(server.timed(command_kind::set), 2U);
  EXPECT_TRUE(server.slow().empty());
}

/// A client with more replies than its socket takes, which does not read.
class DeafClient {
 public:
  explicit DeafClient(TimingServer& server) : wire(server) {
    wire.send("set large 0 0 100000\r\n" + std::string(100'000, 'x') + "\r\n");
    server.sync();
    EXPECT_EQ(wire.received(), "STORED\r\n");
    for (int i = 0; i < 4; ++i) {
      wire.send("get large\r\n");
    }
  }
  Wire wire;
};

TEST(ReplyTimes, TheTimeThatAClientDoesNotReadIsItsOwn) {
  TimingServer server;
  DeafClient client{server};
  EXPECT_EQ(server.timed(command_kind::get), 4U) << "all may leave";
  server.pass_ms(500);
  EXPECT_TRUE(server.slow().empty());
}

TEST(ReplyTimes, TheTimeThatAReplyIsHeldCountsBehindUnreadReplies) {
  TimingServer server;
  DeafClient client{server};
  client.wire.send("set k 0 0 1\r\n1\r\n");
  server.pass_ms(70);
  EXPECT_EQ(server.timed(command_kind::set), 1U) << "that of the large value";
  server.sync();
  EXPECT_EQ(server.timed(command_kind::set), 2U);
  EXPECT_GE(server.longest_ns(command_kind::set), 70 * kMs);
}

// The unread replies stop the server from reading requests, so the next requests arrive when the client has read.
TEST(ReplyTimes, TheTimeUntilAClientReadsDoesNotCount) {
  TimingServer server;
  config::LimitOptions limits = server.limits;
  limits.output_high_water = 150'000;
  server.net.set_limits(limits);
  DeafClient client{server};
  client.wire.send("get large\r\nget large\r\nget k\r\n");
  server.pass_ms(500);
  EXPECT_LT(server.timed(command_kind::get), 7U) << "some are not taken";
  while (!client.wire.received().empty()) {
    server.run();
  }
  EXPECT_EQ(server.timed(command_kind::get), 7U);
  EXPECT_TRUE(server.slow().empty());
}

TEST(ReplyTimes, ARequestThatWaitsForAFullJournalIsTimedFromItsArrival) {
  TimingServer server;
  Wire client{server};
  Wire later{server};
  server.disk.full = true;
  server.run();
  client.send("get k\r\n");
  server.pass_ms(20);
  client.send("get l\r\n");
  later.send("get m\r\n");
  server.pass_ms(20);
  server.disk.full = false;
  server.run();
  EXPECT_EQ(client.received(), "END\r\nEND\r\n");
  std::map<std::string, std::uint64_t> took;
  for (const SlowRequest& one : server.slow()) {
    took[one.key] = one.nanoseconds;
  }
  EXPECT_EQ(took["k"], 40 * kMs);
  EXPECT_EQ(took["m"], 20 * kMs);
  server.pass_ms(500);
  client.send("get k\r\n");
  EXPECT_EQ(server.slow().size(), 3U) << "what comes later did not wait";
}

TEST(ReplyTimes, TheLastRepliesOfAClientThatLeavesAreTimed) {
  TimingServer server;
  Wire client{server};
  client.send("get a\r\nquit\r\n");
  EXPECT_EQ(client.received(), "END\r\n");
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(server.timed(command_kind::get), 1U);
  Wire writer{server};
  writer.send("set k 0 0 1\r\n1\r\nquit\r\n");
  server.pass_ms(20);
  server.sync();
  EXPECT_TRUE(writer.closed());
  EXPECT_GE(server.longest_ns(command_kind::set), 20 * kMs);
}

TEST(ReplyTimes, RepliesThatNeverLeaveAreNotTimed) {
  TimingServer server;
  Wire client{server};
  client.send("set k 0 0 1\r\n1\r\n");
  server.pass_ms(20);
  server.disk.break_down();
  server.run();
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(server.timed(command_kind::set), 0U);
}

TEST(ReplyTimes, OfTlsTooAWriteTakesUntilItIsOnDisk) {
  const Files files;
  TlsDoor tls{files.options(), files.context()};
  const Door door{.tls = &tls};
  TimingServer server;  // destroyed before the door
  const std::array<int, 2> ends = sockets();
  Peer client{ends[0]};
  server.net.load().fetch_add(1);
  server.shared.connections.open.fetch_add(1);
  server.net.adopt(ends[1], door);
  for (int round = 0; round < 10 && !client.shake_hands(); ++round) {
    server.run();
  }
  server.run();
  client.send("set k 0 0 1\r\n1\r\n");
  server.run();
  server.pass_ms(200);
  EXPECT_EQ(server.timed(command_kind::set), 0U);
  server.sync();
  EXPECT_EQ(client.received(), "STORED\r\n");
  EXPECT_GE(server.longest_ns(command_kind::set), 200 * kMs);
  ASSERT_EQ(server.slow().size(), 1U);
}

TEST(ReplyTimes, SampledRequestsWithoutAPlaceAreCounted) {
  TimingServer server;
  Wire client{server};
  std::string pipeline;
  for (std::size_t i = 0; i < RequestSampler::kMostPending + 10; ++i) {
    pipeline += "set k" + std::to_string(i) + " 0 0 1\r\n1\r\n";
  }
  client.send(pipeline);
  server.pass_ms(10);
  server.sync();
  EXPECT_EQ(server.timed(command_kind::set), RequestSampler::kMostPending);
  EXPECT_EQ(server.net.host().sampler.untimed(), 10U) << "no sample goes without a word";
}

}  // namespace
}  // namespace mxkv::server::test

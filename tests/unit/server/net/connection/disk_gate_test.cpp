// Replies that wait for the disk, and clients that the server refuses or does not read because of the disk.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/net/connection/disk_fixture.hpp"

namespace mxkv::server::test {
namespace {

TEST(CommitGate, AReplyToAWriteLeavesWhenItIsOnDisk) {
  DiskServer server;
  Wire client{server};
  EXPECT_EQ(client.ask("set k 0 0 1\r\n1\r\n"), "");
  EXPECT_TRUE(server.disk.waiting());
  EXPECT_EQ(server.net.counters().held.load(), 1U);
  server.run();
  EXPECT_EQ(client.received(), "");
  server.sync();
  EXPECT_EQ(client.received(), "STORED\r\n");
  EXPECT_FALSE(server.disk.waiting());
  EXPECT_EQ(server.net.counters().held.load(), 0U);
}

// A write without effect waits, too, because it has read an item. If nothing is recorded, nothing waits.
TEST(CommitGate, AWriteWithoutEffectWaitsForTheDataThatItMayHaveSeen) {
  DiskServer server;
  Wire one{server};
  Wire other{server};
  EXPECT_EQ(other.ask("delete k\r\n"), "NOT_FOUND\r\n");
  one.send("set k 0 0 1\r\n1\r\n");
  EXPECT_EQ(other.ask("add k 0 0 1\r\n2\r\n"), "");
  server.sync();
  EXPECT_EQ(other.received(), "NOT_STORED\r\n");
}

TEST(CommitGate, AReadOfDataNotOnDiskWaitsWhileAReadOfAnotherKeyIsAnswered) {
  DiskServer server;
  Wire writer{server};
  Wire reader{server};
  Wire another{server};
  // Far apart, so that each key has a leaf of its own.
  for (int i = 0; i < 200; ++i) {
    writer.send("set key" + std::to_string(1000 + i) + " 0 0 1 noreply\r\n1\r\n");
  }
  server.sync();
  writer.send("set key1000 0 0 1\r\n2\r\n");
  EXPECT_EQ(reader.ask("get key1000\r\n"), "");
  EXPECT_EQ(another.ask("get key1199\r\n"), "VALUE key1199 0 1\r\n1\r\nEND\r\n");
  EXPECT_EQ(another.ask("get key1001\r\n"), "VALUE key1001 0 1\r\n1\r\nEND\r\n")
      << "a put is in its item alone";
  server.sync();
  EXPECT_EQ(reader.received(), "VALUE key1000 0 1\r\n2\r\nEND\r\n");
}

TEST(CommitGate, NothingWaitsWhereRepliesNeedNot) {
  DiskServer server;
  server.disk.reads_wait = false;
  Wire writer{server};
  Wire reader{server};
  writer.send("set k 0 0 1\r\n1\r\n");
  EXPECT_EQ(reader.ask("get k\r\n"), "VALUE k 0 1\r\n1\r\nEND\r\n");
  server.disk.on_disk = server.disk.recorded;
  server.run();
  EXPECT_EQ(writer.ask("set k 0 0 1\r\n1\r\n"), "STORED\r\nSTORED\r\n")
      << "must_wait_for() says what is there";
}

// Many rounds that wait: the replies sent so far are always a prefix, and all of it is on disk.
TEST(CommitGate, RepliesOfManyRoundsLeaveInOrderAndNeverTooEarly) {
  constexpr std::uint64_t kRounds = 12;
  DiskServer server;
  Wire client{server};
  const std::uint64_t first = server.disk.current;
  std::string all;
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    client.send("incr n 1\r\nset n 0 0 2\r\n" + std::to_string(10 + i) + "\r\n");
    all += (i == 0 ? std::string{"NOT_FOUND"} : std::to_string(10 + i)) + "\r\nSTORED\r\n";
    server.disk.close();
  }
  std::string got;
  std::size_t steps = 0;
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    server.disk.on_disk = first + i;
    server.run();
    const std::string more = client.received();
    got += more;
    steps += more.empty() ? 0 : 1;
    const auto replies = static_cast<std::uint64_t>(std::count(got.begin(), got.end(), '\n'));
    EXPECT_LE(replies, 2 * (i + 1)) << "a reply left before it was on disk";
  }
  EXPECT_EQ(got.size(), all.size());
  EXPECT_GT(steps, 2U) << "the first ones do not wait for the last";
}

// Replies that need no wait stay behind replies that wait.
TEST(CommitGate, LaterRepliesStayBehindOnesThatWait) {
  DiskServer server;
  Wire client{server};
  client.send("set k 0 0 1\r\n1\r\n");
  EXPECT_EQ(client.ask("version\r\n"), "");
  server.sync();
  EXPECT_EQ(client.received().substr(0, 16), "STORED\r\nVERSION ");
}

TEST(CommitGate, ANoopBehindAQuietWriteWaitsForIt) {
  DiskServer server;
  Wire client{server};
  client.send("ms k 1 q\r\n1\r\n");
  EXPECT_EQ(client.ask("mn\r\n"), "");
  server.sync();
  EXPECT_EQ(client.received(), "MN\r\n");
}

TEST(CommitGate, AClientThatQuitsIsAnsweredFirst) {
  DiskServer server;
  Wire client{server};
  client.send("set k 0 0 1\r\n1\r\nquit\r\n");
  EXPECT_FALSE(client.closed());
  server.sync();
  EXPECT_EQ(client.received(), "STORED\r\n");
  EXPECT_TRUE(client.closed());
}

TEST(CommitGate, AClientThatLeavesHoldsNothingUp) {
  DiskServer server;
  Wire client{server};
  client.send("set k 0 0 1\r\n1\r\n");
  client.leave();
  server.sync();
  server.run();
  EXPECT_EQ(server.replies.directory.entries(), 0U);
  EXPECT_EQ(server.shared.connections.open.load(), 0U);
  EXPECT_FALSE(server.disk.waiting());
}

TEST(CommitGate, TheEndOfTheServerWaitsForHeldReplies) {
  DiskServer server;
  Wire client{server};
  client.send("set k 0 0 1\r\n1\r\n");
  server.net.drain();
  server.run();
  EXPECT_FALSE(client.closed());
  server.sync();
  EXPECT_EQ(client.received(), "STORED\r\n");
  EXPECT_TRUE(client.closed());
}

TEST(CommitGate, HeldRepliesAreNeverSentAfterTheDiskFails) {
  DiskServer server;
  Wire writer{server};
  Wire reader{server};
  EXPECT_EQ(reader.ask("get l\r\n"), "END\r\n");
  writer.send("set k 0 0 1\r\n1\r\n");
  server.disk.break_down();
  server.run();
  EXPECT_EQ(writer.received(), "");
  EXPECT_TRUE(writer.closed());
  EXPECT_FALSE(reader.closed());
  EXPECT_EQ(server.net.counters().journal_closed.load(), 1U);
  server.sync();
  EXPECT_EQ(reader.ask("get k\r\n"), "VALUE k 0 1\r\n1\r\nEND\r\n");
}

/// Clients ask a server that is `steps` steps on its way to the answer when a shard's memory is about to be dropped.
/// Returns how many clients have no answer; expects that exactly these are closed.
int unanswered_after_a_drop(const Door& door, const CommitGate::Drops& drops) {
  int unanswered = 0;
  for (int steps = 0; steps < 40; ++steps) {
    DiskServer server{1};  // so that a count takes many rounds
    Wire client{server, door};
    for (int i = 0; i < 200; ++i) {
      client.send("set key" + std::to_string(1000 + i) + " 0 0 1 noreply\r\n1\r\n");
    }
    server.sync();
    client.put("mc - e\r\n");
    for (int i = 0; i < steps; ++i) {
      static_cast<void>(server.machine[0].step());
    }
    std::string reply = client.received();
    server.disk.drops_now = drops;
    server.run();
    reply += client.received();
    EXPECT_EQ(client.closed(), reply.empty()) << reply;
    unanswered += reply.empty() ? 1 : 0;
  }
  return unanswered;
}

constexpr Door kReplicaDoor{.takes_stale = true};

TEST(CommitGate, ReadsUnderWayAreNotAnsweredWhenMemoryIsDropped) {
  EXPECT_GT(unanswered_after_a_drop(kUsualDoor, {.all = 1}), 0);
  EXPECT_GT(unanswered_after_a_drop(kReplicaDoor, {.all = 1}), 0);
}

TEST(CommitGate, ADroppedCopyConcernsClientsThatTakeAReplicasAnswers) {
  EXPECT_GT(unanswered_after_a_drop(kReplicaDoor, {.of_copies = 1}), 0);
  EXPECT_EQ(unanswered_after_a_drop(kUsualDoor, {.of_copies = 1}), 0);
}

TEST(CommitGate, ConnectionsAreNotReadWhileTheJournalIsFull) {
  DiskServer server;
  Wire client{server};
  server.disk.full = true;
  server.run();
  EXPECT_EQ(client.ask("get k\r\n"), "");
  EXPECT_EQ(client.ask("get l\r\n"), "");
  EXPECT_EQ(server.net.counters().journal_pauses.load(), 1U);
  EXPECT_TRUE(server.disk.waiting());
  server.disk.full = false;
  server.run();
  EXPECT_EQ(client.received(), "END\r\nEND\r\n");
  EXPECT_FALSE(server.disk.waiting());
}

TEST(CommitGate, AClientThatLeavesWhileTheJournalIsFullIsForgotten) {
  DiskServer server;
  server.disk.full = true;
  {
    Wire client{server};
    client.send("get k\r\n");
  }
  server.disk.full = false;
  server.run();
  EXPECT_EQ(server.shared.connections.open.load(), 0U);
}

// The time that replies are held does not count as the client's idle time.
TEST(CommitGate, NoClientIsIdleWhileItsReplyIsHeld) {
  DiskServer server;
  config::LimitOptions limits = server.limits;
  limits.idle_timeout_ms = 1000;
  server.net.set_limits(limits);
  Wire client{server};
  client.send("set k 0 0 1\r\n1\r\n");
  server.pass_s(60);
  EXPECT_FALSE(client.closed());
  server.sync();
  EXPECT_EQ(client.received(), "STORED\r\n");
  EXPECT_FALSE(client.closed());
  const std::uint64_t now_ns = server.machine.clock.monotonic_ns();
  std::vector<std::uint64_t> idle_seconds;
  server.net.clients().walk(
      0, [&](const auto& each) { idle_seconds.push_back(facts_of(each, now_ns, -1).idle_seconds); });
  EXPECT_EQ(idle_seconds, std::vector<std::uint64_t>{60}) << "since its last request";
}

constexpr std::string_view kGivenUp = "SERVER_ERROR outcome unknown\r\n";

/// Gives replies up after ten seconds, and closes their connections.
struct ImpatientServer : DiskServer {
  ImpatientServer() {
    disk.most_ns = 10'000'000'000;
    disk.line = kGivenUp;
  }
};

TEST(CommitGate, AReplyThatWaitsForTooLongBecomesAnError) {
  ImpatientServer server;
  Wire writer{server};
  Wire idle{server};
  writer.send("set k 0 0 1\r\n1\r\nset l 0 0 1\r\n2\r\n");
  server.pass_s(9);
  EXPECT_EQ(writer.received(), "");
  server.pass_s(2);
  EXPECT_EQ(writer.received(), kGivenUp);
  EXPECT_TRUE(writer.closed());
  EXPECT_EQ(server.net.counters().journal_closed.load(), 1U);
  EXPECT_FALSE(server.disk.waiting());
  server.sync();
  EXPECT_EQ(idle.ask("get k\r\n"), "VALUE k 0 1\r\n1\r\nEND\r\n") << "it was done all the same";
}

TEST(CommitGate, AClientWhoseRepliesLeaveOneAfterTheOtherIsNotGivenUp) {
  ImpatientServer server;
  Wire client{server};
  for (int i = 0; i < 5; ++i) {
    client.send("set k 0 0 1\r\n1\r\n");
    server.pass_s(8);
    server.disk.close();
    client.send("set k 0 0 1\r\n2\r\n");
    server.disk.on_disk = server.disk.current - 1;  // only the first of the two
    server.run();
    EXPECT_EQ(client.received(), "STORED\r\n");
    server.pass_s(8);
    server.sync();
    EXPECT_EQ(client.received(), "STORED\r\n");
  }
  EXPECT_FALSE(client.closed());
}

TEST(CommitGate, PacketsAreNotMixedWithALineOfText) {
  ImpatientServer server;
  Wire client{server};
  const std::string set{
      "\x80\x01\x00\x01\x08\x00\x00\x00\x00\x00\x00\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
      "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00kv",
      34};
  client.send(set);
  server.pass_s(11);
  EXPECT_EQ(client.received(), "");
  EXPECT_TRUE(client.closed());
}

TEST(CommitGate, AClientThatIsNotReadForTooLongGetsAnError) {
  ImpatientServer server;
  Wire client{server};
  server.disk.full = true;
  server.run();
  EXPECT_EQ(client.ask("get k\r\n"), "");
  server.pass_s(11);
  EXPECT_EQ(client.received(), kGivenUp);
  EXPECT_TRUE(client.closed());
  EXPECT_FALSE(server.disk.waiting());
}

TEST(CommitGate, RepliesHeldWhenTheDiskFailedBecomeOutcomeUnknown) {
  ImpatientServer server;
  Wire writer{server};
  writer.send("set k 0 0 1\r\n1\r\n");
  server.disk.break_down();
  server.run();
  EXPECT_EQ(writer.received(), kGivenUp);
  EXPECT_TRUE(writer.closed());
}

TEST(CommitGate, AWorkerParksAfterTheEndOfItsRoundUnlessBytesHaveArrived) {
  DiskServer server;
  runtime::Worker& worker = server.machine[0];
  EXPECT_EQ(server.disk.unparks, 1) << "the first round";
  const int rounds = server.disk.ended_rounds;
  server.net.block(worker, 1000);
  EXPECT_EQ(server.disk.parks, 1);
  EXPECT_GT(server.disk.ended_rounds, rounds);
  server.net.block(worker, 1000);
  EXPECT_EQ(server.disk.parks, 1) << "it is parked already";
  Wire client{server};
  client.send("set k 0 0 1\r\n1\r\n");
  EXPECT_EQ(server.disk.unparks, 2);
  server.disk.sync();
  server.net.block(worker, runtime::Poller::kForever);  // it would block for ever
  EXPECT_EQ(server.disk.parks, 1);
  server.run();
  EXPECT_EQ(client.received(), "STORED\r\n");
}

}  // namespace
}  // namespace mxkv::server::test

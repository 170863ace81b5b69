// Listeners with `reads: replica`: a replica that is fresh enough replies; otherwise, and for every change, the owner
// does.
#include <gmock/gmock.h>

#include <chrono>
#include <string>

#include "tests/unit/server/net/peers/routed_nodes.hpp"

namespace mxkv::server::test {
namespace {

using namespace std::chrono_literals;

/// Node 0 has a lagging replica of shard 1: it has old values of `key` and `lion`.
class ReplicaReads : public ::testing::Test {
 protected:
  ReplicaReads() {
    nodes.give(1, 0);
    BlockingClient{nodes[0].port()}.ask(set("key", "old") + set("lion", "old"));
    nodes.give(1, 1);
    BlockingClient{nodes[1].port()}.ask(set("key", "new") + set("kiwi", "new") + "delete lion\r\n");
    BlockingClient{nodes[2].port()}.ask(set("pear", "x"));
  }
  [[nodiscard]] std::uint64_t answered_here() { return nodes[0].cluster().forwarded().replica_reads; }

  Nodes nodes{{.staleness_ns = 5'000'000'000}};
};

std::string value(const std::string& key, const std::string& text) {
  return "VALUE " + key + " 0 " + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

TEST_F(ReplicaReads, AReplicaAnswersWhereItIsFresh) {
  nodes[0].follow(1, 1s);
  BlockingClient takes{nodes[0].stale_port()};
  EXPECT_EQ(takes.ask("get key\r\n"), value("key", "old") + "END\r\n");
  EXPECT_EQ(takes.ask("mg key v\r\n"), "VA 3\r\nold\r\n");
  EXPECT_EQ(takes.ask("get kiwi\r\n"), "END\r\n");
  EXPECT_EQ(takes.ask("get lion pear key\r\n"),
            value("lion", "old") + value("pear", "x") + value("key", "old") + "END\r\n");
  EXPECT_EQ(takes.ask("scan [i (o 10\r\n"), BlockingClient{nodes[0].stale_port()}.ask("scan [i (o 10\r\n"));
  EXPECT_THAT(takes.ask("scan [i (o 10\r\n"), testing::HasSubstr("lion"));
  EXPECT_EQ(answered_here(), 8U);
  EXPECT_EQ(BlockingClient{nodes[0].port()}.ask("get key lion\r\n"), value("key", "new") + "END\r\n");
  EXPECT_EQ(answered_here(), 8U) << "nobody else gets them";
}

TEST_F(ReplicaReads, AReplicaThatIsNotFreshAsksTheOwner) {
  BlockingClient takes{nodes[0].stale_port()};
  const std::string now = value("key", "new") + "END\r\n";
  EXPECT_EQ(takes.ask("get key lion\r\n"), now) << "nothing is known of it";
  nodes[0].follow(1, 6s);
  EXPECT_EQ(takes.ask("get key lion\r\n"), now);
  EXPECT_THAT(takes.ask("scan [i (o 10\r\n"), testing::Not(testing::HasSubstr("lion")));
  nodes[0].follow(1, 4s);
  EXPECT_EQ(takes.ask("get key\r\n"), value("key", "old") + "END\r\n");
  nodes[0].routes.set_fresh_from(1, 0);
  EXPECT_EQ(takes.ask("get key lion\r\n"), now);
  EXPECT_EQ(answered_here(), 1U);
}

TEST_F(ReplicaReads, ChangesGoToTheOwner) {
  nodes[0].follow(1, 1s);
  BlockingClient takes{nodes[0].stale_port()};
  EXPECT_EQ(takes.ask("add key 0 0 1\r\nx\r\n"), "NOT_STORED\r\n");
  EXPECT_EQ(takes.ask("replace lion 0 0 1\r\nx\r\n"), "NOT_STORED\r\n");
  EXPECT_EQ(takes.ask("gat 0 key\r\n"), value("key", "new") + "END\r\n");
  EXPECT_EQ(takes.ask("mg key v T0\r\n"), "VA 3\r\nnew\r\n");
  EXPECT_EQ(takes.ask("mg lion v N30\r\n"), "VA 0 W\r\n\r\n");
  EXPECT_EQ(takes.ask("mg key v R30\r\n"), "VA 3\r\nnew\r\n");
  EXPECT_EQ(takes.ask("mc [i (o\r\n"), BlockingClient{nodes[1].port()}.ask("mc [i (o\r\n"));
  EXPECT_EQ(takes.ask("delete kiwi\r\n"), "DELETED\r\n");
  EXPECT_EQ(answered_here(), 0U);
}

// Only one client wins the renewal, whichever node it asked.
TEST_F(ReplicaReads, TheOwnerGrantsTheRenewalOfAStaleItem) {
  nodes.give(1, 0);
  BlockingClient{nodes[0].port()}.ask("md key I T300\r\n");
  nodes.give(1, 1);
  BlockingClient{nodes[1].port()}.ask("md key I T300\r\n");
  nodes[0].follow(1, 1s);
  EXPECT_EQ(BlockingClient{nodes[1].port()}.ask("mg key v\r\n"), "VA 3 X W\r\nnew\r\n");
  BlockingClient takes{nodes[0].stale_port()};
  EXPECT_EQ(takes.ask("mg key v\r\n"), "VA 3 Z X\r\nnew\r\n");
  EXPECT_EQ(takes.ask("mg key v k q\r\nmg key s\r\nget key\r\n"),
            "VA 3 kkey Z X\r\nnew\r\nHD s3 Z X\r\n" + value("key", "old") + "END\r\n");
}

TEST_F(ReplicaReads, RequestsOfPeersAreNeverAnsweredByAReplica) {
  nodes[0].follow(1, 1s);
  BlockingClient peer{nodes[0].peer_port()};
  EXPECT_EQ(peer.ask("get key\r\n"), "SERVER_ERROR moved " + nodes[1].peer_address() + "\r\n");
}

}  // namespace
}  // namespace mxkv::server::test

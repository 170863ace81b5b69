// Batches and flush_all in a cluster: one node executes a whole batch or nothing of it; a flush reaches all nodes.
#include <gmock/gmock.h>

#include <string>

#include "tests/unit/server/net/peers/routed_nodes.hpp"

namespace mxkv::server::test {
namespace {

TEST(ForwardedBatches, ABatchOfOneNodeIsDoneThere) {
  Nodes nodes;
  BlockingClient owner{nodes[1].port()};
  BlockingClient other{nodes[0].port()};
  const std::string batch = "mb 4\r\nms key 2 c Oa\r\n10\r\nma key v\r\nmg key v q\r\nmd lion q\r\n";
  const std::string rest = "VA 2\r\n11\r\nVA 2\r\n11\r\nNF\r\nHD\r\n";
  EXPECT_TRUE(owner.ask(batch).ends_with(rest));
  EXPECT_TRUE(other.ask(batch).ends_with(rest));
  EXPECT_EQ(other.ask("mb 2\r\nms key 1 ME\r\nx\r\nma lion\r\n"),
            owner.ask("mb 2\r\nms key 1 ME\r\nx\r\nma lion\r\n"));
  EXPECT_EQ(other.ask("mb 2\r\nms kiwi 3\r\nabc\r\nma lion\r\n"), "EX 2 NF\r\n");
  EXPECT_EQ(owner.ask("get kiwi\r\n"), "END\r\n");
  EXPECT_EQ(other.ask("mb 2\r\nget key\r\nmg key\r\n"), owner.ask("mb 2\r\nget key\r\nmg key\r\n"));
  EXPECT_EQ(other.ask("mb 2\r\nmg key v\r\nget key\r\n"), owner.ask("mb 2\r\nmg key v\r\nget key\r\n"));
  const std::string large(100'000, 'x');
  EXPECT_EQ(
      other.ask("mb 2\r\nms kiwi 100000\r\n" + large + "\r\nms lion 100000 F3 T90\r\n" + large + "\r\n"),
      "HD\r\nHD\r\nHD\r\n");
  EXPECT_EQ(owner.ask("mg lion f s\r\nmg kiwi v\r\n"), "HD f3 s100000\r\nVA 100000\r\n" + large + "\r\n");
}

TEST(ForwardedBatches, ABatchOfSeveralShardsIsRefusedWhereverTheseAre) {
  Nodes nodes;
  for (std::size_t node = 0; node < 3; ++node) {
    BlockingClient client{nodes[node].port()};
    EXPECT_EQ(client.ask("mb 3\r\nms key 1\r\nx\r\nms abc 1\r\ny\r\nmg key v\r\nget abc\r\n"),
              "SERVER_ERROR batch spans shards 1 and 0: send one for the keys of each shard\r\nEND\r\n");
    EXPECT_EQ(client.ask("get key abc\r\n"), "END\r\n");
  }
  nodes.give(2, 1);
  nodes[2].know(2, nodes[1]);
  for (std::size_t node = 0; node < 3; ++node) {
    BlockingClient client{nodes[node].port()};
    EXPECT_EQ(client.ask("mb 2\r\nms key 1\r\nx\r\nms zoo 1\r\ny\r\n"),
              "SERVER_ERROR batch spans shards 1 and 2: send one for the keys of each shard\r\n");
    EXPECT_EQ(client.ask("get key zoo\r\n"), "END\r\n");
  }
}

TEST(ForwardedBatches, APeerIsSentToTheOwnerOfTheBatchsKeys) {
  Nodes nodes;
  BlockingClient peer{nodes[0].peer_port()};
  EXPECT_EQ(peer.ask("mb 2\r\nms key 1\r\nx\r\nmg key v\r\n"),
            "SERVER_ERROR moved " + nodes[1].peer_address() + "\r\n");
}

TEST(ForwardedBatches, AShardThatLeavesAmongItsLinesTakesTheBatchWithIt) {
  Nodes nodes;
  BlockingClient client{nodes[1].port()};
  BlockingClient owner{nodes[2].port()};
  const std::string large(100'000, 'x');
  client.send("mb 4\r\nms key 2 c Oa F7\r\n10\r\nms kiwi 100000 T90\r\n" + large + "\r\nma key v\r\n");
  EXPECT_EQ(BlockingClient{nodes[1].port()}.ask("get key\r\n"), "END\r\n");
  nodes.give(1, 2);
  client.send("mg kiwi s f q\r\nmn\r\n");
  EXPECT_THAT(client.read_to("MN\r\n"),
              testing::HasSubstr("\r\nHD\r\nVA 2\r\n11\r\nHD s100000 f0\r\nHD\r\nMN\r\n"));
  EXPECT_EQ(owner.ask("mg key v f\r\nmg kiwi s\r\n"), "VA 2 f7\r\n11\r\nHD s100000\r\n");
}

// Replies of batches count as memory, on whichever node their keys are.
TEST(ForwardedBatches, UnfinishedOnesTakeNoMoreMemoryThanThereIs) {
  const std::string value(1'000'000, 'x');
  std::string lines = "mb 4\r\n";
  for (const char* const key : {"key", "kiwi", "lion"}) {
    lines += std::string("ms ") + key + " 1000000\r\n" + value + "\r\n";
  }
  for (const std::size_t node : {std::size_t{1}, std::size_t{0}}) {
    Nodes nodes{{}, 1, std::size_t{24} << 20U};
    std::vector<std::unique_ptr<BlockingClient>> clients;
    for (int i = 0; i < 16; ++i) {
      clients.push_back(std::make_unique<BlockingClient>(nodes[node].port()));
      clients.back()->send(lines);
    }
    int refused = 0;
    for (const auto& client : clients) {
      const std::string reply = client->ask("mg kept\r\n");
      refused += reply.find("SERVER_ERROR out of memory storing object") != std::string::npos ? 1 : 0;
    }
    EXPECT_GE(refused, 5) << node;
    clients.clear();
    BlockingClient one{nodes[node].port()};
    std::string reply;
    for (int i = 0; i < 500 && !reply.starts_with("HD");
         ++i) {  // until the server notices the clients that left
      std::this_thread::sleep_for(std::chrono::milliseconds{2});
      reply = one.ask(lines + "mg kept\r\n");
    }
    EXPECT_EQ(reply, "HD\r\nHD\r\nHD\r\nEN\r\nHD\r\n") << node;
  }
}

TEST(ForwardedBatches, AFlushReachesAllNodes) {
  Nodes nodes;
  BlockingClient client{nodes[0].port()};
  std::string requests;
  for (int i = 0; i < 5000; ++i) {
    requests += "set " + std::string(1, static_cast<char>('a' + i % 26)) + std::to_string(i) +
                " 0 0 1 noreply\r\nx\r\n";
  }
  EXPECT_EQ(client.ask(requests), "");
  for (std::size_t node = 0; node < 3; ++node) {
    BlockingClient other{nodes[node].port()};
    EXPECT_THAT(other.ask("mr - A1\r\n"), testing::HasSubstr("EN A1 G"));
    EXPECT_EQ(other.ask("flush_all 10\r\n"),
              "SERVER_ERROR flush_all with a delay is not possible in a cluster\r\n");
  }
  for (const char* const now : {"flush_all", "flush_all 0", "flush_all -1", "flush_all 2592001"}) {
    EXPECT_EQ(client.ask(set("key", "x") + now + "\r\nget key\r\n"), "STORED\r\nOK\r\nEND\r\n") << now;
  }
  for (std::size_t node = 0; node < 3; ++node) {
    BlockingClient other{nodes[node].port()};
    EXPECT_EQ(other.ask("mc a Hh e\r\nmc h Hp e\r\nmc p e\r\n"), "HD A0 B0\r\nHD A0 B0\r\nHD A0 B0\r\n");
    EXPECT_EQ(other.ask("flush_all noreply\r\n"), "");
  }
}

TEST(ForwardedBatches, AFlushNamesAShardWithoutAnOwner) {
  Nodes nodes{{.patience_ms = 50}};
  nodes[0].forget(2);
  BlockingClient client{nodes[0].port()};
  EXPECT_EQ(client.ask(set("key", "x") + "flush_all\r\nget key\r\n"),
            "STORED\r\nSERVER_ERROR shard 2 has no owner\r\nEND\r\n");
}

}  // namespace
}  // namespace mxkv::server::test

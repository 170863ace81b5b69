// Requests at a node without their keys: the replies are byte for byte those of the owner.
#include "server/net/peers/forwarder.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/unit/server/net/peers/routed_nodes.hpp"

namespace mxkv::server::test {
namespace {

/// One conversation about the key `%`, which has no item at the beginning.
const std::vector<std::string> kConversation = {"get %\r\n",
                                                "set % 5 0 3\r\nabc\r\n",
                                                "get %\r\n",
                                                "add % 0 0 1\r\nx\r\n",
                                                "replace % 7 0 4\r\nMN\r\n\r\n",
                                                "gat 100 %\r\n",
                                                "touch % 0\r\n",
                                                "append % 0 0 2\r\nEN\r\n",
                                                "prepend % 0 0 1\r\n>\r\n",
                                                "get % %\r\n",
                                                "cas % 0 0 1 1\r\nz\r\n",
                                                "incr % 5\r\n",
                                                "set % 0 0 2\r\n41\r\n",
                                                "incr % 1\r\n",
                                                "decr % 50\r\n",
                                                "delete %\r\n",
                                                "delete %\r\n",
                                                "touch % 5\r\n",
                                                "incr % 1\r\n",
                                                "cas % 0 0 1 1\r\nz\r\n",
                                                "append % 0 0 2\r\nEN\r\n",
                                                "set % 0 0 0\r\n\r\n",
                                                "get %\r\n",
                                                "mg % v\r\n",
                                                "mg % k f s t v Oabc\r\n",
                                                "mg %x v\r\n",
                                                "mg %x v q\r\n",
                                                "mg %x k Oabc\r\n",
                                                "ms % 3 T0 F9 k\r\nabc\r\n",
                                                "ms % 3 q\r\nabd\r\n",
                                                "ms % 1 ME q k O1\r\nx\r\n",
                                                "ms % 2 MA\r\nM\n\r\n",
                                                "mg % v q f\r\n",
                                                "mn\r\n",
                                                "ms %n 2\r\n10\r\n",
                                                "ma %n v\r\n",
                                                "ma %n MD D3 v q\r\n",
                                                "ma %n MD D3 v\r\n",
                                                "ma %m\r\n",
                                                "ma %m N0 J7 v\r\n",
                                                "md %n q\r\n",
                                                "md %n\r\n",
                                                "md %m k Ox\r\n",
                                                "mg % E77 N30 v\r\n",
                                                "set % 0 0 3 noreply\r\nnew\r\n",
                                                "get %\r\n",
                                                "incr % 1 noreply\r\n",
                                                "delete % noreply\r\n",
                                                "get %\r\n",
                                                "touch % 1 noreply\r\n",
                                                "set % 0 -1 1\r\nx\r\n",
                                                "get %\r\n",
                                                "set % 0 0 3 noreply\r\nnew\r\n",
                                                "md % I T30\r\n",
                                                "mg % s v\r\n",
                                                "mg % s v\r\n",
                                                "md % x\r\n",
                                                "mg % f v\r\n",
                                                "me %nothing\r\n",
                                                "delete %\r\n"};

std::string about(std::string request, const std::string& key) {
  for (std::size_t at = 0; (at = request.find('%', at)) != std::string::npos; at += key.size()) {
    request.replace(at, 1, key);
  }
  return request;
}

TEST(Forwarder, EveryRequestIsAnsweredAsByTheOwner) {
  Nodes nodes;
  BlockingClient owner{nodes[1].port()};
  BlockingClient other{nodes[0].port()};
  std::vector<std::string> direct;
  for (const std::string& request : kConversation) {
    direct.push_back(owner.ask(about(request, "key")));
  }
  owner.ask("delete key\r\ndelete keyx\r\ndelete keyn\r\ndelete keym\r\n");
  for (std::size_t i = 0; i < kConversation.size(); ++i) {
    EXPECT_EQ(other.ask(about(kConversation[i], "key")), direct[i]) << kConversation[i];
  }
  EXPECT_EQ(owner.ask("get key\r\n"), "END\r\n");
}

TEST(Forwarder, APipelineIsAnsweredInItsOrder) {
  Nodes nodes;
  BlockingClient owner{nodes[1].port()};
  BlockingClient other{nodes[2].port()};
  std::string requests;
  for (const std::string& request : kConversation) {
    requests += request == "mn\r\n" ? "" : about(request, "key");  // mn would look like the end
  }
  const std::string direct = owner.ask(requests + requests);
  owner.ask("delete key\r\ndelete keyx\r\ndelete keyn\r\ndelete keym\r\n");
  EXPECT_EQ(other.ask(requests + requests), direct);
}

TEST(Forwarder, CasValuesAreTheOwners) {
  Nodes nodes;
  BlockingClient owner{nodes[1].port()};
  BlockingClient other{nodes[0].port()};
  other.ask(set("key", "one"));
  const std::string got = owner.ask("gets key\r\n");
  EXPECT_EQ(other.ask("gets key\r\n"), got);
  EXPECT_EQ(other.ask("gats 0 key\r\n"), got);
  const std::string cas = got.substr(got.find(" 3 ") + 3, got.find('\r') - got.find(" 3 ") - 3);
  EXPECT_EQ(other.ask("cas key 0 0 3 " + cas + "\r\ntwo\r\n"), "STORED\r\n");
  EXPECT_EQ(other.ask("cas key 0 0 3 " + cas + "\r\ntwo\r\n"), "EXISTS\r\n");
  EXPECT_EQ(other.ask("mg key v C" + cas + "\r\n"), owner.ask("mg key v C" + cas + "\r\n"));
  EXPECT_EQ(other.ask("ms a2V5 3 b C" + cas + "\r\ntwo\r\n"), "EX\r\n");
  EXPECT_EQ(other.ask("mg a2V5 b k c v\r\n"), owner.ask("mg a2V5 b k c v\r\n"));
  EXPECT_EQ(other.ask("ms AAE= 3 b\r\ntwo\r\n"), "HD\r\n");  // shard 0, the node's own
  EXPECT_EQ(owner.ask("mg AAE= b k v\r\n"), "VA 3 kAAE= b\r\ntwo\r\n");
}

TEST(Forwarder, AGetOfManyKeysGathersThemInOrder) {
  Nodes nodes;
  BlockingClient client{nodes[2].port()};
  std::string all;
  std::string line = "get";
  for (const char* key : {"zoo", "abc", "lion", "missing", "azure", "kiwi", "nothing", "pear", "zebra"}) {
    line += std::string(" ") + key;
    if (std::string_view{key} != "missing" && std::string_view{key} != "nothing") {
      const std::string value = std::string("value of ") + key;
      client.send(set(key, value));
      EXPECT_EQ(client.read_to("\r\n"), "STORED\r\n");
      all += std::string("VALUE ") + key + " 0 " + std::to_string(value.size()) + "\r\n" + value + "\r\n";
    }
  }
  for (RoutedNode* node : {&nodes[0], &nodes[1], &nodes[2]}) {
    BlockingClient one{node->port()};
    EXPECT_EQ(one.ask(line + "\r\n"), all + "END\r\n");
    EXPECT_EQ(one.ask("gat 0" + line.substr(3) + "\r\n"), all + "END\r\n");
    EXPECT_EQ(one.ask("get missing nothing amiss\r\n"), "END\r\n");
    EXPECT_EQ(one.ask("get zebra abc\r\nget abc zebra\r\nget abc\r\n"),
              "VALUE zebra 0 14\r\nvalue of zebra\r\nVALUE abc 0 12\r\nvalue of abc\r\nEND\r\n"
              "VALUE abc 0 12\r\nvalue of abc\r\nVALUE zebra 0 14\r\nvalue of zebra\r\nEND\r\n"
              "VALUE abc 0 12\r\nvalue of abc\r\nEND\r\n");
  }
}

TEST(Forwarder, LargeValuesGoBothWays) {
  Nodes nodes;
  BlockingClient other{nodes[0].port()};
  BlockingClient owner{nodes[1].port()};
  for (const std::size_t bytes :
       {std::size_t{8192}, std::size_t{8193}, std::size_t{100'000}, std::size_t{1} << 20U}) {
    std::string value;
    while (value.size() < bytes) {
      value += "MN\nEND\r\n" + std::to_string(value.size());
    }
    value.resize(bytes);
    EXPECT_EQ(other.ask(set("large", value)), "STORED\r\n");
    EXPECT_EQ(owner.ask("get large\r\n"), other.ask("get large\r\n"));
    EXPECT_EQ(other.ask("mg large v\r\n"), "VA " + std::to_string(bytes) + "\r\n" + value + "\r\n");
    EXPECT_EQ(other.ask("get amiss large also\r\n"),
              "VALUE large 0 " + std::to_string(bytes) + "\r\n" + value + "\r\nEND\r\n");
  }
}

// Whatever bytes the key has, it is forwarded as one request.
TEST(Forwarder, AValueThatIsTooLargeDeletesTheOldValue) {
  Nodes nodes;
  BlockingClient owner{nodes[1].port()};
  BlockingClient other{nodes[0].port()};
  const std::string large = " 1048577";
  const std::string block = "\r\n" + std::string(1'048'577, 'x') + "\r\n";
  const std::string refused = "SERVER_ERROR object too large for cache\r\n";
  EXPECT_EQ(other.ask(set("key", "x") + "ms keys 1\r\nx\r\n" + set("kept", "x")),
            "STORED\r\nHD\r\nSTORED\r\n");
  EXPECT_EQ(other.ask("set key 0 0" + large + block + "ms keys" + large + block + "get key keys\r\n"),
            refused + refused + "END\r\n");
  const std::string key = "a2V5DQpkZWxldGUga2VwdA==";  // "key\r\ndelete kept"
  EXPECT_EQ(other.ask("ms " + key + " 1 b\r\nx\r\nmg " + key + " b v\r\n"), "HD\r\nVA 1\r\nx\r\n");
  EXPECT_EQ(other.ask("ms " + key + large + " b" + block + "mg " + key + " b v\r\n"), refused + "EN\r\n");
  EXPECT_EQ(owner.ask("mg " + key + " b v\r\n"), "EN\r\n");
  EXPECT_EQ(other.ask("get kept\r\n"), "VALUE kept 0 1\r\nx\r\nEND\r\n");
  EXPECT_EQ(nodes[0].cluster().forwarded().lost, 0U);
}

TEST(Forwarder, ClientsThatLeaveDisturbNoOthers) {
  Nodes nodes;
  for (int i = 0; i < 50; ++i) {
    BlockingClient leaves{nodes[0].port()};
    leaves.send(set("key", "x") + "get key zoo\r\nget key\r\nmg zoo v\r\n" +
                set("zoo", std::string(20'000, 'z')));
  }
  // No client waited for these writes, so they may still be in flight.
  BlockingClient client{nodes[0].port()};
  std::string found;
  for (int i = 0; i < 1000 && found.empty(); ++i) {
    const std::string reply = client.ask("get key\r\n");
    found = reply == "END\r\n" ? "" : reply;
  }
  EXPECT_EQ(found, "VALUE key 0 1\r\nx\r\nEND\r\n");
}

}  // namespace
}  // namespace mxkv::server::test

// Nodes that use TLS among each other, and refuse peers whose certificate is not one of theirs.
#include <gmock/gmock.h>

#include <string>

#include "tests/unit/server/net/peers/routed_nodes.hpp"

namespace mxkv::server::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Kinds = Nodes::Kinds;

RoutedNode::Options speaking(const config::TlsOptions& tls, std::uint32_t patience_ms = 20'000) {
  return {.splits = {"h", "p"}, .cluster = {.patience_ms = patience_ms}, .tls = tls};
}

constexpr std::uint32_t kShortMs = 300;
/// The reply of a node that cannot reach the owner.
std::string unreached(int shard, const RoutedNode& owner) {
  return "SERVER_ERROR shard " + std::to_string(shard) + ": its owner " + owner.peer_address() +
         " cannot be reached\r\n";
}

TEST(ForwardedTls, ForwardedRequestsUseTls) {
  const Files files;
  Nodes nodes{Kinds{{speaking(files.options_of_node("unit"))}}};
  BlockingClient client{nodes[0].port()};
  EXPECT_EQ(client.ask(set("key", "x") + "get key\r\n" + set("zoo", "y") + "get zoo key\r\n"),
            "STORED\r\nVALUE key 0 1\r\nx\r\nEND\r\nSTORED\r\n"
            "VALUE zoo 0 1\r\ny\r\nVALUE key 0 1\r\nx\r\nEND\r\n");
  EXPECT_EQ(client.ask("scan [a 10 keys\r\n"), BlockingClient{nodes[1].port()}.ask("scan [a 10 keys\r\n"));
  for (const std::size_t asked : {1U, 2U}) {
    const NetStats sockets = nodes[asked].sockets();
    EXPECT_GE(sockets.handshakes, 2U) << "reads and writes go by two connections";
    EXPECT_EQ(sockets.tls_connections, sockets.handshakes) << "they stay";
    EXPECT_EQ(nodes[asked].failed_handshake(), "");
  }
  EXPECT_EQ(nodes[0].failed_handshake(), "");
}

TEST(ForwardedTls, LargeValuesComeWholeBothWays) {
  const Files files;
  Nodes nodes{Kinds{{speaking(files.options_of_node())}}};
  std::string value(std::size_t{1} << 20U, '\0');
  for (std::size_t i = 0; i < value.size(); ++i) {
    value[i] = static_cast<char>('a' + (i * i + i / 1000) % 26);
  }
  std::string sets;
  std::string gets;
  std::string stored;
  std::string found;
  for (int i = 0; i < 8; ++i) {
    const std::string key = "key" + std::to_string(i);
    sets += set(key, value);
    gets += "get " + key + "\r\n";
    stored += "STORED\r\n";
    found += "VALUE " + key + " 0 " + std::to_string(value.size()) + "\r\n" + value + "\r\nEND\r\n";
  }
  BlockingClient client{nodes[0].port()};
  EXPECT_EQ(client.ask(sets), stored);
  EXPECT_EQ(client.ask(gets) == found, true);
}

TEST(ForwardedTls, ANodeThatStartedAnewIsAskedAgain) {
  const Files files;
  Nodes nodes{Kinds{{speaking(files.options_of_node())}}};
  BlockingClient client{nodes[0].port()};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.ask("get key\r\n" + set("key", "x") + "get key\r\n"),
              "END\r\nSTORED\r\nVALUE key 0 1\r\nx\r\nEND\r\n");
    nodes.start_again(1);  // connections end by close_notify, with no request in flight
    nodes.give(1, 1);
  }
  EXPECT_EQ(nodes[0].failed_handshake(), "");
}

TEST(ForwardedTls, ANodeWithACertificateOfAnotherAuthorityIsNotAsked) {
  const Files files;
  const Files others{"other"};
  Nodes nodes{Kinds{{speaking(files.options_of_node(), kShortMs), speaking(others.options_of_node()),
                     speaking(files.options_of_node())}}};
  BlockingClient client{nodes[0].port()};
  EXPECT_EQ(client.ask("get key\r\n" + set("key", "x")), unreached(1, nodes[1]) + unreached(1, nodes[1]));
  EXPECT_THAT(nodes[0].failed_handshake(),
              AllOf(HasSubstr("node " + nodes[1].peer_address()), HasSubstr("self-signed certificate")));
  EXPECT_THAT(nodes[1].failed_handshake(), HasSubstr("unknown ca"));
  EXPECT_EQ(client.ask(set("zoo", "y")), "STORED\r\n");
}

TEST(ForwardedTls, ANodeWithACertificateForAnotherNameIsNotAsked) {
  const Files files;
  Nodes nodes{Kinds{{speaking(files.options_of_node("nodes"), kShortMs), speaking(files.options_of_node())}}};
  EXPECT_EQ(BlockingClient{nodes[0].port()}.ask("get key\r\n"), unreached(1, nodes[1]));
  EXPECT_THAT(nodes[0].failed_handshake(),
              AllOf(HasSubstr("node " + nodes[1].peer_address()), HasSubstr("hostname mismatch")));
}

TEST(ForwardedTls, ANodeWithACertificateForAnotherNameIsNotAnswered) {
  const Files files;
  Nodes nodes{Kinds{{speaking(files.options_of_node(), kShortMs), speaking(files.options_of_node("nodes"))}}};
  EXPECT_EQ(BlockingClient{nodes[0].port()}.ask("get key\r\n"), unreached(1, nodes[1]));
  EXPECT_THAT(nodes[1].failed_handshake(), HasSubstr("hostname mismatch"));
  EXPECT_THAT(nodes[0].failed_handshake(), HasSubstr("node " + nodes[1].peer_address()));
}

TEST(ForwardedTls, AClientThatSpeaksNoTlsDoesNotGetIn) {
  const Files files;
  Nodes nodes{Kinds{{speaking(files.options_of_node(), kShortMs),
                     {.splits = {"h", "p"}, .cluster = {.patience_ms = kShortMs}},
                     speaking(files.options_of_node())}}};
  EXPECT_EQ(BlockingClient{nodes[0].port()}.ask("get key\r\n"), unreached(1, nodes[1]));
  EXPECT_THAT(nodes[0].failed_handshake(), HasSubstr("perhaps because it does not speak TLS"));
  EXPECT_EQ(BlockingClient{nodes[1].port()}.ask("get zoo\r\n"), unreached(2, nodes[2]));
  EXPECT_THAT(nodes[1].failed_handshake(), HasSubstr("it speaks TLS only"));
}

}  // namespace
}  // namespace mxkv::server::test

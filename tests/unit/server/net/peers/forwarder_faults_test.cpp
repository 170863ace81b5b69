// Requests whose shard has no owner for a while, whose owner changes, or whose connection breaks: they are executed once, or
// refused so that the client knows the outcome.
#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/server/net/peers/routed_nodes.hpp"
#include "tests/unit/server/net/sockets/loopback_listener.hpp"

namespace mxkv::server::test {
namespace {

TEST(ForwarderFaults, AShardWithoutAnOwnerIsWaitedForAndThenRefused) {
  Nodes nodes{{.patience_ms = 50}};
  nodes[0].forget(1);
  BlockingClient client{nodes[0].port()};
  EXPECT_EQ(client.ask("get key\r\n"), "SERVER_ERROR shard 1 has no owner\r\n");
  EXPECT_EQ(client.ask(set("key", "x") + "mg key v\r\nms key 1\r\nx\r\nincr key 1\r\n"),
            "SERVER_ERROR shard 1 has no owner\r\nSERVER_ERROR shard 1 has no owner\r\n"
            "SERVER_ERROR shard 1 has no owner\r\nSERVER_ERROR shard 1 has no owner\r\n");
  EXPECT_EQ(client.ask(set("abc", "x") + "get abc\r\n"), "STORED\r\nVALUE abc 0 1\r\nx\r\nEND\r\n");
  EXPECT_GE(nodes[0].cluster().forwarded().no_owner, 5U);
  // A client could not tell half a reply from a miss.
  EXPECT_EQ(client.ask("get key abc\r\n"), "");
  EXPECT_TRUE(client.closed());
}

TEST(ForwarderFaults, HeldRequestsContinueWhenThereIsAnOwner) {
  Nodes nodes{{.patience_ms = 20'000}};
  nodes[0].forget(1);
  nodes[0].forget(2);
  BlockingClient client{nodes[0].port()};
  client.send(set("key", "x") + "get key\r\n" + set("zoo", "y") + "get zoo\r\nmn\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds{60});
  nodes[0].know(1, nodes[1]);
  nodes.give(2, 0);  // the shard comes to this node
  EXPECT_EQ(client.read_to("MN\r\n"),
            "STORED\r\nVALUE key 0 1\r\nx\r\nEND\r\nSTORED\r\nVALUE zoo 0 1\r\ny\r\nEND\r\nMN\r\n");
  EXPECT_EQ(client.ask("get zoo\r\n"), "VALUE zoo 0 1\r\ny\r\nEND\r\n");
  EXPECT_GE(nodes[0].cluster().forwarded().held, 2U);
}

// A shard of this node is left only when its writes have ended, also one that waits for a forwarded one.
TEST(ForwarderFaults, TheEndOfWritesThatBeganHereIsKnown) {
  Nodes nodes{{.patience_ms = 20'000}, 1};
  ChangePeriods& changes = nodes[0].routes.changes();
  const auto wait_for_end = [&changes](std::uint64_t period) {
    while (!changes.has_ended(period)) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
  };
  BlockingClient client{nodes[0].port()};
  client.ask(set("abc", "1") +
             "incr abc 1\r\nmg abc T60 v\r\ngat 60 abc\r\ntouch abc 9\r\nms abc 1\r\ny\r\n");
  client.ask("mb 1\r\nmd abc\r\nmt a T5 Hb\r\nmx a Hb\r\n");
  wait_for_end(changes.ask());
  nodes[0].forget(1);
  client.send(set("key", "y") + set("abc", "z"));
  while (nodes[0].cluster().forwarded().held == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  const std::uint64_t period = changes.ask();
  BlockingClient other{nodes[0].port()};
  EXPECT_EQ(other.ask("get abc\r\n"), "END\r\n");
  EXPECT_FALSE(changes.has_ended(period)) << "the write of abc waits for the write of key";
  nodes[0].know(1, nodes[1]);
  wait_for_end(period);
  EXPECT_EQ(client.ask(""), "STORED\r\nSTORED\r\n");
}

TEST(ForwarderFaults, AnOwnerThatHasLeftNamesTheNewOwner) {
  Nodes nodes;
  nodes[1].know(1, nodes[2]);
  nodes[2].own(1);
  BlockingClient client{nodes[0].port()};  // this node only knows the former owner
  EXPECT_EQ(client.ask(set("key", "x") + "get key\r\n"), "STORED\r\nVALUE key 0 1\r\nx\r\nEND\r\n");
  EXPECT_EQ(nodes[0].routes.route(1),
            (Route{Route::to::peer, nodes[0].routes.peer(nodes[2].peer_address())}));
  BlockingClient peer{nodes[1].peer_port()};
  EXPECT_EQ(peer.ask("get key\r\n"), "SERVER_ERROR moved " + nodes[2].peer_address() + "\r\n");
  EXPECT_EQ(peer.ask("mg key v\r\n"), "SERVER_ERROR moved " + nodes[2].peer_address() + "\r\n");
  EXPECT_EQ(peer.ask(set("key", "z")), "SERVER_ERROR moved " + nodes[2].peer_address() + "\r\n");
  nodes[1].forget(1);
  EXPECT_EQ(peer.ask("get key\r\n"), "SERVER_ERROR moved -\r\n");
  EXPECT_EQ(client.ask("get key\r\n"), "VALUE key 0 1\r\nx\r\nEND\r\n");
}

TEST(ForwarderFaults, AnOwnerWhoseLeaseIsOverDoesNotReply) {
  Nodes nodes{{.patience_ms = 50}};
  BlockingClient client{nodes[1].port()};
  EXPECT_EQ(client.ask(set("key", "x")), "STORED\r\n");
  nodes[1].routes.set_lease(1, 1);
  EXPECT_EQ(client.ask("get key\r\n"), "SERVER_ERROR shard 1 has no owner\r\n");
  nodes[1].routes.set_lease(1, ~std::uint64_t{0});
  EXPECT_EQ(client.ask("get key\r\n"), "VALUE key 0 1\r\nx\r\nEND\r\n");
}

TEST(ForwarderFaults, ClientsMayBeToldInsteadWhereAKeyIs) {
  Nodes nodes{{.forwards = false}};
  BlockingClient client{nodes[0].port()};
  const std::string line = "SERVER_ERROR not here: " + nodes[1].peer_address() + "\r\n";
  EXPECT_EQ(client.ask("get key\r\n"), line);
  EXPECT_EQ(client.ask(set("key", "x")), line);
  EXPECT_EQ(client.ask("ms key 1\r\nx\r\nmg key v\r\ndelete key\r\n"), line + line + line);
  EXPECT_EQ(client.ask(set("abc", "x")), "STORED\r\n");
  nodes[0].forget(1);
  EXPECT_EQ(client.ask("get key\r\n"), "SERVER_ERROR not here: -\r\n");
}

TEST(ForwarderFaults, APeerThatComesBackIsFound) {
  Nodes nodes{{.patience_ms = 20'000}};
  BlockingClient client{nodes[0].port()};
  EXPECT_EQ(client.ask(set("key", "x")), "STORED\r\n");
  nodes.start_again(1);
  nodes[1].own(1);
  EXPECT_EQ(client.ask("get key\r\n" + set("key", "y") + "get key\r\n"),
            "END\r\nSTORED\r\nVALUE key 0 1\r\ny\r\nEND\r\n");
}

/// Accepts one connection, reads its bytes, and replies as the test says.
class FalsePeer {
 public:
  ~FalsePeer() { hang_up(); }
  [[nodiscard]] std::string address() const { return listener_.address(); }
  /// Returns the next connection's bytes, up to this end.
  std::string take(std::string_view end) {
    if (socket_ < 0) {
      socket_ = ::accept(listener_.socket(), nullptr, nullptr);
    }
    std::string all;
    std::array<char, 4096> buffer{};
    while (!all.ends_with(end)) {
      const ssize_t got = ::recv(socket_, buffer.data(), buffer.size(), 0);
      if (got <= 0) {
        break;
      }
      all.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return all;
  }
  void answer(std::string_view bytes) const {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void hang_up() {
    if (socket_ >= 0) {
      ::close(std::exchange(socket_, -1));
    }
  }

 private:
  LoopbackListener listener_;
  int socket_ = -1;
};

TEST(ForwarderFaults, TheOutcomeOfASentWriteIsUnknownWhenTheConnectionBreaks) {
  Nodes nodes{{.patience_ms = 20'000}, 1};
  FalsePeer peer;
  nodes[0].routes.set(1, {Route::to::peer, nodes[0].routes.peer(peer.address())});
  BlockingClient client{nodes[0].port()};
  client.send(set("keys", "one") + "delete kiwi\r\n");
  EXPECT_EQ(peer.take("delete kiwi\r\n"), "set keys 0 0 3\r\none\r\ndelete kiwi\r\n");
  peer.hang_up();
  const std::string lost = "SERVER_ERROR outcome unknown: connection to the owner of shard 1 was lost\r\n";
  EXPECT_EQ(client.read_to(lost + lost), lost + lost);
  // Reads are sent again.
  client.send("get key\r\nmg lion v\r\n");
  EXPECT_EQ(peer.take("mg lion v\r\n"), "get key\r\nmg lion v\r\n");
  peer.hang_up();
  EXPECT_EQ(peer.take("mg lion v\r\n"), "get key\r\nmg lion v\r\n");
  peer.answer("VALUE key 0 1\r\n");
  peer.answer("?\r\nEND\r\nVA 2\r\n??\r\n");
  EXPECT_EQ(client.read_to("??\r\n"), "VALUE key 0 1\r\n?\r\nEND\r\nVA 2\r\n??\r\n");
  EXPECT_EQ(nodes[0].cluster().forwarded().lost, 2U);
}

// Until the first request is done, its owner may still refuse it and accept the second one.
TEST(ForwarderFaults, OfTwoWritesToOneKeyTheSecondIsSentWhenTheFirstHasEnded) {
  Nodes nodes{{.patience_ms = 20'000}, 1};
  FalsePeer peer;
  nodes[0].routes.set(1, {Route::to::peer, nodes[0].routes.peer(peer.address())});
  BlockingClient client{nodes[0].port()};
  client.send("delete key\r\nadd key 0 0 1\r\nx\r\nincr key 1 noreply\r\n" + set("kiwi", "y"));
  EXPECT_EQ(peer.take("y\r\n"), "delete key\r\n" + set("kiwi", "y"));
  peer.answer("SERVER_ERROR moved -\r\nSTORED\r\n");
  EXPECT_EQ(peer.take("\r\n"), "delete key\r\n");
  peer.answer("NOT_FOUND\r\n");
  EXPECT_EQ(peer.take("x\r\n"), "add key 0 0 1\r\nx\r\n");
  peer.answer("STORED\r\n");
  EXPECT_EQ(peer.take("\r\n"), "incr key 1\r\n");
  peer.answer("7\r\n");
  EXPECT_EQ(client.read_to("STORED\r\nSTORED\r\n"), "NOT_FOUND\r\nSTORED\r\nSTORED\r\n");
}

TEST(ForwarderFaults, AWriteIsSentOnWhenThoseBeforeItHaveEndedHere) {
  Nodes nodes{{.patience_ms = 20'000}, 1};
  FalsePeer peer;
  const Route there{Route::to::peer, nodes[0].routes.peer(peer.address())};
  nodes[0].routes.set(1, there);
  nodes[0].routes.set(2, there);
  BlockingClient client{nodes[0].port()};
  BlockingClient other{nodes[0].port()};
  // The one worker has read these bytes, or will before it reads any others.
  const auto send_whole = [&](const std::string& bytes) {
    const std::uint64_t before = nodes[0].sockets().read_bytes;
    client.send(bytes);
    for (int i = 0; i < 60'000 && nodes[0].sockets().read_bytes < before + bytes.size(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
  };
  client.send("delete key\r\n");
  EXPECT_EQ(peer.take("\r\n"), "delete key\r\n");
  send_whole(set("abc", "x"));
  EXPECT_EQ(other.ask("get abc\r\n"), "END\r\n") << "it is here, behind what is on its way";
  nodes[0].routes.set(0, there);
  send_whole("append abc 0 0 1\r\ny\r\n");
  other.send(set("zoo", "z"));
  EXPECT_EQ(peer.take("z\r\n"), set("zoo", "z")) << "what came before it on the other connection waits";
  peer.answer("NOT_FOUND\r\nSTORED\r\n");
  EXPECT_EQ(other.read_to("STORED\r\n"), "STORED\r\n");
  EXPECT_EQ(peer.take("y\r\n"), "append abc 0 0 1\r\ny\r\n");
  peer.answer("STORED\r\n");
  EXPECT_EQ(client.read_to("STORED\r\nSTORED\r\n"), "NOT_FOUND\r\nSTORED\r\nSTORED\r\n");
}

TEST(ForwarderFaults, WritesBehindOneThatIsGivenUpAreGivenUpWithIt) {
  Nodes nodes{{.patience_ms = 50}};
  nodes[0].forget(1);
  BlockingClient client{nodes[0].port()};
  std::string refused;
  std::string requests;
  for (int i = 0; i < 20; ++i) {
    requests += "incr key 1\r\n";
    refused += "SERVER_ERROR shard 1 has no owner\r\n";
  }
  EXPECT_EQ(client.ask(requests), refused);
  EXPECT_EQ(nodes[0].cluster().forwarded().held, 1U) << "the others did not wait anew";
}

TEST(ForwarderFaults, APeerThatIsSilentIsGivenUp) {
  Nodes nodes{{.patience_ms = 100, .answer_ms = 100}, 1};
  FalsePeer peer;
  nodes[0].routes.set(1, {Route::to::peer, nodes[0].routes.peer(peer.address())});
  BlockingClient client{nodes[0].port()};
  EXPECT_EQ(client.ask("delete key\r\n"),
            "SERVER_ERROR outcome unknown: connection to the owner of shard 1 was lost\r\n");
  EXPECT_EQ(client.ask("get key\r\n"),
            "SERVER_ERROR shard 1: its owner " + peer.address() + " cannot be reached\r\n");
}

TEST(ForwarderFaults, AnOwnerThatCannotBeReachedIsNotCalledNone) {
  Nodes nodes{{.patience_ms = 50}};
  const std::string dead = "127.0.0.1:1";  // no process listens there
  nodes[0].routes.set(1, {Route::to::peer, nodes[0].routes.peer(dead)});
  nodes[0].routes.set(2, {Route::to::peer, nodes[0].routes.peer(dead)});
  BlockingClient client{nodes[0].port()};
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(client.ask("get key\r\n" + set("zoo", "x")),
              "SERVER_ERROR shard 1: its owner 127.0.0.1:1 cannot be reached\r\n"
              "SERVER_ERROR shard 2: its owner 127.0.0.1:1 cannot be reached\r\n");
  }
  nodes[0].forget(1);
  EXPECT_EQ(client.ask("get key\r\n"), "SERVER_ERROR shard 1 has no owner\r\n");
  nodes[0].know(1, nodes[1]);
  nodes[1].forget(1);  // reachable, but it does not serve the shard
  EXPECT_EQ(client.ask("get key\r\n"), "SERVER_ERROR shard 1 has no owner\r\n");
  nodes[1].own(1);
  EXPECT_EQ(client.ask("get key\r\n"), "END\r\n");
}

TEST(ForwarderFaults, AMalformedReplyEndsTheConnection) {
  Nodes nodes{{.patience_ms = 20'000}, 1};
  FalsePeer peer;
  nodes[0].routes.set(1, {Route::to::peer, nodes[0].routes.peer(peer.address())});
  BlockingClient client{nodes[0].port()};
  client.send("get key\r\n");
  peer.take("get key\r\n");
  peer.answer("VALUE key 0 many\r\n");
  EXPECT_EQ(peer.take("get key\r\n"), "");
  peer.hang_up();
  EXPECT_EQ(peer.take("get key\r\n"), "get key\r\n");
  peer.answer("END\r\n");
  EXPECT_EQ(client.read_to("END\r\n"), "END\r\n");
}

// The peer refuses the connection before it reads: its line is not the reply to a request.
TEST(ForwarderFaults, APeerThatRefusesAConnectionIsAskedAgain) {
  Nodes nodes{{.patience_ms = 20'000}, 1};
  FalsePeer peer;
  nodes[0].routes.set(1, {Route::to::peer, nodes[0].routes.peer(peer.address())});
  BlockingClient client{nodes[0].port()};
  client.send(set("key", "x") + "delete kiwi\r\n");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(peer.take("delete kiwi\r\n"), "set key 0 0 1\r\nx\r\ndelete kiwi\r\n");
    peer.answer("ERROR Too many open connections\r\n");
    peer.hang_up();
  }
  EXPECT_EQ(peer.take("delete kiwi\r\n"), "set key 0 0 1\r\nx\r\ndelete kiwi\r\n");
  peer.answer("STORED\r\nERROR\r\n");
  EXPECT_EQ(client.read_to("ERROR\r\n"), "STORED\r\nERROR\r\n");
}

TEST(ForwarderFaults, NoMoreIsOnItsWayThanMayBe) {
  Nodes nodes{{.patience_ms = 20'000, .forward_bytes = 10'000}, 1};
  FalsePeer peer;
  nodes[0].routes.set(1, {Route::to::peer, nodes[0].routes.peer(peer.address())});
  BlockingClient client{nodes[0].port()};
  client.send(set("key", std::string(7000, 'x')));
  client.send(set("other", std::string(7000, 'x')) + "get abc\r\n");
  peer.take(std::string(7000, 'x') + "\r\n");
  BlockingClient second{nodes[0].port()};
  EXPECT_EQ(second.ask(set("other", std::string(7000, 'x'))), "SERVER_ERROR out of memory forwarding\r\n");
  peer.answer("STORED\r\n");
  EXPECT_EQ(client.read_to("END\r\n"), "STORED\r\nSERVER_ERROR out of memory forwarding\r\nEND\r\n");
}

// Clients cannot use up the connections of the other nodes.
TEST(ForwarderFaults, ANodeThatIsFullOfClientsIsThereForItsPeers) {
  RoutedNode::Options options{.splits = {"h"}};
  options.limits.connections = 4;
  RoutedNode owner{options};
  RoutedNode asked{options};
  owner.own(0);
  asked.know(0, owner);
  std::vector<std::unique_ptr<BlockingClient>> crowd;
  for (int i = 0; i < 4; ++i) {
    crowd.push_back(std::make_unique<BlockingClient>(owner.port()));
    EXPECT_EQ(crowd.back()->ask("get abc\r\n"), "END\r\n");
  }
  BlockingClient client{asked.port()};
  EXPECT_EQ(client.ask("get abc\r\n" + set("abc", "x") + "get abc\r\n"),
            "END\r\nSTORED\r\nVALUE abc 0 1\r\nx\r\nEND\r\n");
  EXPECT_EQ(BlockingClient{owner.port()}.read_to("\n"), "ERROR Too many open connections\r\n");
}

TEST(ForwarderFaults, AValueThatIsLargerThanAllMayBeHasItsWay) {
  Nodes nodes{{.forward_bytes = 10'000}, 1};
  BlockingClient client{nodes[0].port()};
  EXPECT_EQ(client.ask(set("key", std::string(20'000, 'x'))), "STORED\r\n");
  EXPECT_EQ(client.ask("mg key s\r\n"), "HD s20000\r\n");
}

/// Increments keys of all shards in turn. Returns whether each reply was right.
bool counts_up(std::uint16_t port, int client, int rounds, std::string& wrong) {
  BlockingClient own{port};
  std::map<std::string, int> counts;
  for (int round = 0; round < rounds; ++round) {
    std::string requests;
    std::string expected;
    for (const char* letter : {"a", "k", "z"}) {
      const std::string key = std::string(letter) + std::to_string(client);
      for (int i = 0; i < 4; ++i) {
        const std::string value = std::to_string(++counts[key]);
        requests += set(key, value) + "get " + key + "\r\n";
        expected +=
            "STORED\r\nVALUE " + key + " 0 " + std::to_string(value.size()) + "\r\n" + value + "\r\nEND\r\n";
      }
    }
    const std::string reply = own.ask(requests);
    if (reply != expected) {
      wrong = reply;
      return false;
    }
  }
  return true;
}

// All nodes share one store here: a shard moves, but its keys do not. So each client uses shards of its own node.
TEST(ForwarderFaults, ClientsOfAllNodesGetTheirOwnValues) {
  Nodes nodes;
  std::vector<std::thread> clients;
  std::vector<std::string> wrong(6);
  std::atomic<int> right{0};
  for (int i = 0; i < 6; ++i) {
    clients.emplace_back([&, i] {
      const auto at = static_cast<std::size_t>(i);
      right += counts_up(nodes[at % 3].port(), i, 60, wrong[at]) ? 1 : 0;
    });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_EQ(right, 6) << testing::PrintToString(wrong);
}

// The route to a shard's owner changes under load, and is missing for moments; the owner itself stays.
TEST(ForwarderFaults, RoutesThatChangeLoseNothing) {
  Nodes nodes{{.patience_ms = 20'000}};
  std::vector<std::thread> clients;
  std::vector<std::string> wrong(6);
  std::atomic<int> right{0};
  std::atomic<int> left{6};
  for (int i = 0; i < 6; ++i) {
    clients.emplace_back([&, i] {
      const auto at = static_cast<std::size_t>(i);
      right += counts_up(nodes[at % 3].port(), i, 40, wrong[at]) ? 1 : 0;
      --left;
    });
  }
  nodes.change_ways_while(left);
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_EQ(right, 6) << testing::PrintToString(wrong);
}

}  // namespace
}  // namespace mxkv::server::test

// Connections move between workers in any state, and their clients do not notice.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/net/worker/two_workers.hpp"

namespace mxkv::server::test {
namespace {

std::string repeated(std::size_t count, const std::string& text) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    all += text;
  }
  return all;
}

TEST(Moves, AnIdleConnectionIsServedByTheOther) {
  TwoWorkers server;
  WorkerClient client{server, 0};
  EXPECT_EQ(client.ask("set k 0 0 1\r\nv\r\n"), "STORED\r\n");
  server.move(0, 1);
  EXPECT_EQ(server.connections(0), 0U);
  EXPECT_EQ(server.connections(1), 1U);
  EXPECT_EQ(client.ask("get k\r\n"), "VALUE k 0 1\r\nv\r\nEND\r\n");
  EXPECT_EQ(server.nets[1].counters().taken_in.load(), 1U);
  EXPECT_EQ(server.shared.connections.open.load(), 1U);
}

TEST(Moves, BytesThatArrivedWhileNoWorkerHadTheSocketAreRead) {
  TwoWorkers server;
  WorkerClient client{server, 0};
  server.nets[0].give_all(server.nets[1]);
  server.step(0);  // the connection is on its way
  EXPECT_EQ(server.listed(), 1U);
  client.put("get k\r\n");
  server.run();
  EXPECT_EQ(client.received(), "END\r\n");
  EXPECT_EQ(server.listed(), 1U);
}

TEST(Moves, AClientThatLeftMeanwhileIsClosed) {
  TwoWorkers server;
  WorkerClient client{server, 0};
  server.nets[0].give_all(server.nets[1]);
  server.step(0);
  client.leave();
  server.run();
  EXPECT_EQ(server.shared.connections.open.load(), 0U);
  EXPECT_EQ(server.connections(0) + server.connections(1), 0U);
}

TEST(Moves, ALineThatIsNotWholeGoesWithIt) {
  TwoWorkers server;
  WorkerClient client{server, 0};
  client.send("set key 0 0 3\r\nabc\r\nget k");
  server.move(0, 1);
  client.send("e");
  server.move(1, 0);
  EXPECT_EQ(client.ask("y\r\n"), "STORED\r\nVALUE key 0 3\r\nabc\r\nEND\r\n");
}

TEST(Moves, ASmallValueThatIsNotWholeGoesWithIt) {
  TwoWorkers server;
  WorkerClient client{server, 0};
  client.send("set k 0 0 10\r\n01234");
  server.move(0, 1);
  EXPECT_EQ(server.connections(1), 1U);
  client.send("56789\r\nget k\r\n");
  EXPECT_EQ(client.received(), "STORED\r\nVALUE k 0 10\r\n0123456789\r\nEND\r\n");
}

TEST(Moves, AValueIsReceivedToItsEndFirst) {
  TwoWorkers server;
  WorkerClient client{server, 0};
  const std::string half(1000, 'h');
  client.send("set k 0 0 2000\r\n" + half);
  server.move(0, 1);
  EXPECT_EQ(server.connections(0), 1U) << "the value's item is of this worker";
  client.send(half + "\r\nget k\r\n");
  EXPECT_EQ(server.connections(1), 1U);
  EXPECT_EQ(client.received(), "STORED\r\nVALUE k 0 2000\r\n" + half + half + "\r\nEND\r\n");
}

TEST(Moves, AValueThatDoesNotComeKeepsItWhereItIs) {
  TwoWorkers server;
  WorkerClient client{server, 0};
  const std::string half(1000, 'h');
  client.send("set k 0 0 2000\r\n" + half);
  server.move(0, 1);
  server.pass_ms(200);
  client.send(half + "\r\nget k\r\n");
  EXPECT_EQ(server.connections(0), 1U);
  EXPECT_EQ(client.received(), "STORED\r\nVALUE k 0 2000\r\n" + half + half + "\r\nEND\r\n");
}

TEST(Moves, ABatchIsWholeBeforeItGoes) {
  TwoWorkers server;
  WorkerClient client{server, 0};
  client.send("mb 2\r\nms a 1\r\n1\r\n");
  server.move(0, 1);
  EXPECT_EQ(server.connections(0), 1U);
  client.send("ms b 1\r\n2\r\n");
  EXPECT_EQ(server.connections(1), 1U);
  EXPECT_EQ(client.received().substr(0, 2), "HD");
  EXPECT_EQ(client.ask("get a b\r\n"), "VALUE a 0 1\r\n1\r\nVALUE b 0 1\r\n2\r\nEND\r\n");
}

TEST(Moves, OneThatWatchesStays) {
  TwoWorkers server;
  WorkerClient client{server, 0};
  EXPECT_EQ(client.ask("watch mutations\r\n"), "OK\r\n");
  server.move(0, 1);
  server.pass_ms(200);
  EXPECT_EQ(server.connections(0), 1U);
  WorkerClient writer{server, 1};
  EXPECT_EQ(writer.ask("set k 0 0 1\r\nv\r\n"), "STORED\r\n");
  server.run();
  EXPECT_NE(client.received().find("key=k"), std::string::npos);
}

TEST(Moves, ADeepPipelineIsAnsweredInOrderThroughManyMoves) {
  TwoWorkers server;
  WorkerClient client{server, 0};
  std::string expected;
  std::size_t at = 0;
  for (int round = 0; round < 40; ++round) {
    std::string requests;
    for (int i = 0; i < 200; ++i, ++at) {
      const std::string value = std::to_string(at);
      requests += "set k 0 0 " + std::to_string(value.size()) + "\r\n" + value + "\r\nget k\r\n";
      expected += "STORED\r\nVALUE k 0 " + std::to_string(value.size()) + "\r\n" + value + "\r\nEND\r\n";
    }
    client.put(requests);
    const auto giver = static_cast<std::size_t>(round % 2);
    server.step(giver);
    server.nets[giver].give_all(server.nets[1 - giver]);
    server.run();
    EXPECT_EQ(server.connections(1 - giver), 1U);
    EXPECT_EQ(client.received(), std::exchange(expected, {}));
  }
}

TEST(Moves, RequestsWithoutRepliesEndBeforeItGoes) {
  TwoWorkers server;
  WorkerClient client{server, 0};
  client.put(repeated(500, "incr n 1 noreply\r\n") + "set n 0 0 1 noreply\r\n0\r\n" +
             repeated(700, "incr n 1 noreply\r\n"));
  server.step(0);
  server.nets[0].give_all(server.nets[1]);
  server.run();
  EXPECT_EQ(server.connections(1), 1U);
  EXPECT_EQ(client.ask("get n\r\n"), "VALUE n 0 3\r\n700\r\nEND\r\n");
}

TEST(Moves, RepliesThatAreNotTakenKeepItWhereItIs) {
  TwoWorkers server;
  WorkerClient client{server, 0};
  EXPECT_EQ(client.ask("set k 0 0 100000\r\n" + std::string(100'000, 'v') + "\r\n"), "STORED\r\n");
  client.send(repeated(40, "get k\r\n"));
  server.move(0, 1);
  EXPECT_EQ(server.connections(0), 1U);
  std::string all;
  for (std::string part; !(part = client.received()).empty(); server.run()) {
    all += part;
  }
  EXPECT_EQ(all, repeated(40, "VALUE k 0 100000\r\n" + std::string(100'000, 'v') + "\r\nEND\r\n"));
}

TEST(Moves, OneThatIsDrainedMeanwhileIsAnsweredAndClosed) {
  for (const std::size_t drained : {0U, 1U}) {
    TwoWorkers server;
    WorkerClient client{server, 0};
    server.nets[0].give_all(server.nets[1]);
    client.put("get k\r\nget k\r\n");
    if (drained == 1) {
      server.step(0);  // the connection leaves
    }
    server.nets[drained].drain();
    server.run();
    EXPECT_EQ(client.received(), "END\r\nEND\r\n");
    EXPECT_TRUE(client.closed());
    EXPECT_EQ(server.shared.connections.open.load(), 0U);
  }
}

TEST(Moves, OneThatLoggedInNeedNotAgain) {
  TwoWorkers server{"user:secret"};
  WorkerClient client{server, 0};
  EXPECT_EQ(client.ask("get k\r\n"), "CLIENT_ERROR unauthenticated\r\n");
  server.move(0, 1);
  EXPECT_EQ(server.connections(0), 1U) << "who has not logged in stays";
  EXPECT_EQ(client.ask("set auth 0 0 11\r\nuser secret\r\n"), "STORED\r\n");
  EXPECT_EQ(server.connections(1), 1U);
  EXPECT_EQ(client.ask("get k\r\n"), "END\r\n");
}

TEST(Moves, OneOfAListenerWithoutLoginIsNeverAskedForIt) {
  TwoWorkers server{"ann:secret\n"};
  constexpr Door kOpen{.asks_login = false};
  WorkerClient open{server, 0, kOpen};
  WorkerClient other{server, 0};
  EXPECT_EQ(open.ask("set k 0 0 1\r\nv\r\n"), "STORED\r\n");
  EXPECT_EQ(other.ask("get k\r\n"), "CLIENT_ERROR unauthenticated\r\n");
  server.move(0, 1);
  EXPECT_EQ(open.ask("get k\r\n"), "VALUE k 0 1\r\nv\r\nEND\r\n");
}

TEST(Moves, ConnectionsAreNeverToldOfTwiceNorMissed) {
  TwoWorkers server;
  WorkerClient one{server, 0};
  WorkerClient two{server, 1};
  EXPECT_EQ(server.listed(), 2U);
  EXPECT_EQ(one.ask("mn\r\n"), "MN\r\n");  // from here on its protocol is known
  server.nets[0].give_all(server.nets[1]);
  server.step(0);
  EXPECT_EQ(server.listed(), 2U);
  server.step(1);
  EXPECT_EQ(server.listed(), 2U);
  EXPECT_EQ(server.connections(1), 2U);
}

}  // namespace
}  // namespace mxkv::server::test

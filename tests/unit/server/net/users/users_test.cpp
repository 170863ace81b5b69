// Users on connections: refused requests in pieces of any size, logins of connections that move, connections that a
// review closes, and rates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "tests/unit/server/net/session/session_fixture.hpp"
#include "tests/unit/server/net/worker/two_workers.hpp"

namespace mxkv::server::test {
namespace {

constexpr const char* kUsers = R"(users:
  - {name: r, password: x}
  - {name: w, password: x, role: writer}
  - {name: p, password: x, role: writer, prefixes: ["p:"]}
  - {name: a, password: x, role: administrator}
  - {name: two, password: x, connections: 2}
  - {name: slow, password: x, requests: 10}
  - {name: thin, password: x, role: writer, bytes: 1KiB}
)";
constexpr std::string_view kForbids = "CLIENT_ERROR forbidden\r\n";

std::string login(const std::string& name) {
  return "set a 0 0 " + std::to_string(name.size() + 2) + "\r\n" + name + " x\r\n";
}

class Known : public Client {
 public:
  explicit Known(const std::string& name) {
    credentials.replace(users_of(kUsers));
    host.credentials = &credentials;
    session = std::make_unique<Session>(host, *this);
    EXPECT_EQ(ask(login(name)), "STORED\r\n");
  }
  ~Known() { session.reset(); }
  Credentials credentials;
};

TEST(SessionUsers, ForbiddenRequestsAreRefusedInPiecesOfAnySizeAndTheOthersExecuted) {
  const std::string requests =
      "set k 0 0 1\r\nv\r\nset p:1 0 0 1\r\nv\r\nms k 1\r\nv\r\nget k\r\nget p:1\r\nget p:1 k p:2\r\nmg k "
      "v\r\nmg p:1 v\r\n"
      "delete k noreply\r\nflush_all\r\nset k 0 0 1 noreply\r\nv\r\nmn\r\n";
  const std::string hit = "VALUE p:1 0 1\r\nv\r\nEND\r\n";
  const std::string no{kForbids};
  const std::string expected =
      no + "STORED\r\n" + no + no + hit + no + no + "VA 1 O\r\nv\r\n" + no + no + no + "MN\r\n";
  for (const std::size_t part : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
    Known client{"p"};
    client.send(requests, part);
    EXPECT_EQ(client.settle(part), expected) << "in pieces of " << part;
    EXPECT_EQ(client.credentials.forbidden(), 8U);
  }
}

TEST(SessionUsers, ABatchWithAForbiddenLineIsRefusedWithItsNumber) {
  Known client{"p"};
  EXPECT_EQ(client.ask("mb 2\r\nms p:1 1\r\nv\r\nms k 1\r\nv\r\nmn\r\n"),
            "EX 2 CLIENT_ERROR forbidden\r\nMN\r\n");
  Known reader{"r"};
  EXPECT_EQ(reader.ask("mb 2\r\nmg k v\r\nmd k\r\nmn\r\n"), "EX 2 CLIENT_ERROR forbidden\r\nMN\r\n");
}

TEST(SessionUsers, AValueThatIsTooLargeTakesNothingAwayThatIsForbidden) {
  Known reader{"r"};
  const std::string large = "set k 0 0 2000000\r\n" + std::string(2'000'000, 'x') + "\r\n";
  EXPECT_EQ(reader.ask(large), "SERVER_ERROR object too large for cache\r\n");
  EXPECT_EQ(reader.ask("mn\r\n"), "MN\r\n");
}

TEST(UsersOnWorkers, AConnectionThatMovesKeepsItsUserAndIsCountedOnce) {
  TwoWorkers server{kUsers};
  WorkerClient first{server, 0};
  WorkerClient second{server, 0};
  WorkerClient third{server, 0};
  EXPECT_EQ(first.ask(login("two")), "STORED\r\n");
  EXPECT_EQ(second.ask(login("two")), "STORED\r\n");
  server.move(0, 1);
  EXPECT_EQ(server.connections(1), 2U);
  EXPECT_EQ(first.ask("set k 0 0 1\r\nv\r\n"), kForbids);
  EXPECT_EQ(third.ask(login("two")), "SERVER_ERROR too many connections of this user\r\n");
  first.leave();
  WorkerClient fourth{server, 0};
  EXPECT_EQ(fourth.ask(login("two")), "STORED\r\n");
}

TEST(UsersOnWorkers, AReviewClosesConnectionsOfRemovedUsersAlsoWhileTheyMove) {
  TwoWorkers server{kUsers};
  WorkerClient stays{server, 0};
  WorkerClient leaves{server, 0};
  EXPECT_EQ(stays.ask(login("a")), "STORED\r\n");
  EXPECT_EQ(leaves.ask(login("w")), "STORED\r\n");
  std::string fewer{kUsers};
  const std::size_t begin = fewer.find("  - {name: w");
  fewer.erase(begin, fewer.find('\n', begin) + 1 - begin);
  server.nets[0].give_all(server.nets[1]);
  server.step(0);
  server.credentials.replace(users_of(fewer));
  EXPECT_EQ(server.nets[0].review(), 0U) << "both are on their way";
  EXPECT_EQ(server.nets[1].review(), 0U);
  server.run();
  EXPECT_EQ(leaves.received(), "");
  EXPECT_TRUE(leaves.closed());
  EXPECT_EQ(stays.ask("mn\r\n"), "MN\r\n");
}

TEST(UsersOnWorkers, AUserThatHadItsShareOfASecondWaitsAndDoesNotFail) {
  TwoWorkers server{kUsers};
  server.pass_ms(10'000);
  WorkerClient one{server, 0};
  WorkerClient other{server, 1};
  EXPECT_EQ(one.ask(login("slow")), "STORED\r\n");
  EXPECT_EQ(other.ask(login("slow")), "STORED\r\n");
  std::string many;
  for (int i = 0; i < 25; ++i) {
    many += "mn\r\n";
  }
  const auto count = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  auto answered = count(one.ask(many));
  EXPECT_GE(answered, 8);
  EXPECT_LE(answered, 10);
  EXPECT_EQ(count(other.ask("mn\r\n")), 0) << "it is of the user, whichever connection and worker";
  server.pass_ms(500);
  const auto later = count(one.received()) + count(other.received());
  EXPECT_GE(later, 4);
  EXPECT_LE(later, 6);
  answered += later;
  for (int second = 0; second < 3; ++second) {
    server.pass_ms(1000);
    answered += count(one.received()) + count(other.received());
  }
  EXPECT_EQ(answered, 26);
  EXPECT_TRUE(server.nets[0].host().rate_waiters.empty());
}

TEST(UsersOnWorkers, ARoundGivesRoomToAPageOfThoseThatWaitForTheirRate) {
  constexpr std::size_t kWaiting = 3 * ClientTable::kPage;
  TwoWorkers server{kUsers};
  server.pass_ms(10'000);
  const std::vector<ConnectionState*>& waiters = server.nets[0].host().rate_waiters;
  std::deque<WorkerClient> clients;
  while (waiters.size() < kWaiting) {
    EXPECT_EQ(clients.emplace_back(server, 0).ask(login("slow")), "STORED\r\n");
    static_cast<void>(clients.back().ask("mn\r\n"));
  }
  std::string faster{kUsers};
  const std::string limit = "requests: 10";
  faster.replace(faster.find(limit), limit.size(), limit + "000");
  server.credentials.replace(users_of(faster));
  EXPECT_EQ(server.nets[0].review(), 0U);
  server.machine.clock.advance_us(1'000'000);
  for (std::size_t page = 1; page <= 3; ++page) {
    server.step(0);
    EXPECT_EQ(waiters.size(), kWaiting - page * ClientTable::kPage);
  }
  server.run();
  for (WorkerClient& client : clients) {
    EXPECT_THAT(client.received(), testing::AnyOf("", "MN\r\n"));
  }
}

TEST(UsersOnWorkers, BytesOfALargeValueAreADebtThatIsWaitedFor) {
  TwoWorkers server{kUsers};
  server.pass_ms(10'000);
  WorkerClient client{server, 0};
  EXPECT_EQ(client.ask(login("thin")), "STORED\r\n");
  EXPECT_EQ(client.ask("set k 0 0 4000\r\n" + std::string(4000, 'v') + "\r\nmn\r\n"), "");
  server.pass_ms(1000);
  EXPECT_EQ(client.received(), "");
  for (int second = 0; second < 5; ++second) {
    server.pass_ms(1000);
  }
  EXPECT_EQ(client.received(), "STORED\r\nMN\r\n");
}

TEST(UsersOnWorkers, ClientsAreListedByNumberUntilTheyLeave) {
  TwoWorkers server{kUsers};
  ClientTable& clients = server.shared.clients;
  const auto names = [&clients] {
    std::string text;
    clients.walk(0, [&text](const ::mxkv::server::Client& one) {
      text += one.user + "/" + one.name + "/" + std::to_string(one.worker.load()) + "/" +
              std::to_string(one.requests.load()) + " ";
    });
    return text;
  };
  WorkerClient one{server, 0};
  WorkerClient two{server, 0};
  EXPECT_EQ(one.ask(login("r")), "STORED\r\n");
  EXPECT_EQ(one.ask("client name batch\r\nclient name a\x01\r\nget a\r\nget a\r\n"),
            "OK\r\nCLIENT_ERROR a client name has at most 64 letters, digits and signs\r\nEND\r\nEND\r\n");
  EXPECT_EQ(names(), "r/batch/0/5 //0/0 ") << "each request counts";
  server.move(0, 1);
  EXPECT_EQ(one.ask("get a\r\n"), "END\r\n");
  EXPECT_EQ(names(), "r/batch/1/6 //0/0 ");
  std::size_t killed = 0;
  clients.kill(0, [&killed](const auto& each) {
    killed += each.user == "r" ? 1 : 0;
    return each.user == "r";
  });
  server.run();
  EXPECT_EQ(killed, 1U);
  EXPECT_EQ(names(), "//0/0 ");
  two.leave();
  EXPECT_EQ(names(), "");
}

}  // namespace
}  // namespace mxkv::server::test

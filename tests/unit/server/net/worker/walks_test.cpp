// Work that grows with the number of connections is not done anew for each request.
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <string>

#include "tests/unit/server/net/worker/two_workers.hpp"

namespace mxkv::server::test {
namespace {

TEST(Walks, ASessionThatWaitsForPageRoomIsWokenWhenThereIsRoomForItsPage) {
  constexpr std::size_t kWaiting = 40;
  TwoWorkers server;
  WorkerClient writer{server, 0};
  EXPECT_EQ(writer.ask("set k 0 0 1\r\nv\r\n"), "STORED\r\n");
  SessionHost& host = server.nets[0].host();
  MemoryShare& share = host.directory.share();
  const std::size_t all = share.bytes();
  share.take(all);
  std::deque<WorkerClient> clients;
  for (std::size_t i = 0; i < kWaiting; ++i) {
    clients.emplace_back(server, 0).send("scan a 10\r\n");
  }
  ASSERT_EQ(host.starved.size(), kWaiting);
  ASSERT_EQ(host.page_pauses, kWaiting);
  const std::size_t for_one = all / 4 + host.page_bytes() / 2 * 3;
  share.give(for_one);
  server.run();
  EXPECT_EQ(host.page_pauses, kWaiting) << "none was woken in vain";
  EXPECT_TRUE(host.starved.empty());
  for (WorkerClient& client : clients) {
    EXPECT_NE(client.received(), "");
  }
  share.give(all - for_one);
}

TEST(Walks, OneLookAtAllFindsManyWhoseUnfinishedInputHasToGo) {
  constexpr std::size_t kHolders = 100;
  TwoWorkers server;
  server.machine.runtime.budget().set_limit_bytes(std::size_t{16} << 20U);
  server.run();
  SessionHost& host = server.nets[0].host();
  std::deque<WorkerClient> holders;
  for (std::size_t i = 0; i < kHolders; ++i) {
    holders.emplace_back(server, 0).send("get " + std::string(500, 'k'));
  }
  const std::size_t much = 5 * host.input.share().bytes();
  host.input.share().take(much);
  WorkerClient newcomer{server, 0};
  newcomer.send("get k");
  EXPECT_EQ(server.nets[0].counters().input_full.load(), kHolders + 1)
      << "nothing that leaves is enough here";
  EXPECT_LE(server.nets[0].walks(), 3U);
  host.input.share().give(much);
}

TEST(Walks, ABatchThatFindsNoRoomIsRefusedAndClosesNobodyWhoSends) {
  TwoWorkers server;
  server.machine.runtime.budget().set_limit_bytes(std::size_t{16} << 20U);
  server.run();
  MemoryShare& share = server.nets[0].host().input.share();
  constexpr std::size_t kRoom = 120'000;  // one batch of the two fits
  const std::size_t others = share.bytes() - kRoom;
  share.take(others);
  const auto lines = [](std::size_t count) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) {
      all += "md k" + std::to_string(i) + "\r\n";
    }
    return all;
  };
  WorkerClient first{server, 0};
  first.send("mb 151\r\n" + lines(150));
  WorkerClient second{server, 0};
  const std::size_t walks = server.nets[0].walks();
  EXPECT_EQ(second.ask("mb 150\r\n" + lines(150) + "mn\r\n").substr(0, 3), "EX ");
  EXPECT_LE(server.nets[0].walks(), walks + 1);
  EXPECT_EQ(first.ask("md k\r\n").substr(0, 4), "NF\r\n") << "it is served";

  first.send("mb 151\r\n" + lines(150));
  server.pass_ms(1000);
  const std::string replies = second.ask("mb 150\r\n" + lines(150) + "mn\r\n");
  EXPECT_EQ(replies.substr(0, 4), "NF\r\n") << "a client that sends nothing leaves for it";
  EXPECT_TRUE(first.closed());
  share.give(others);
}

}  // namespace
}  // namespace mxkv::server::test

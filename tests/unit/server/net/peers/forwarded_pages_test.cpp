// Many pages at once from another node, from more clients than there is room for pages, between writes.
// Requests that wait for room must not block the requests that will free some.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/server/net/peers/routed_nodes.hpp"

namespace mxkv::server::test {
namespace {

constexpr int kClients = 24;
constexpr int kRounds = 20;
constexpr int kDepth = 4;
constexpr int kKeys = 6000;

std::string key_of(int n) {
  return std::string(1, static_cast<char>('a' + n % 26)) + std::to_string(100'000 + n);
}

TEST(ForwardedPages, AllAreAnsweredWhateverElseIsInFlight) {
  Nodes nodes{{.answer_ms = 60'000}, 1, std::size_t{32} << 20U};
  {
    BlockingClient loads{nodes[0].port()};
    std::string all;
    for (int n = 0; n < kKeys; ++n) {
      all += set(key_of(n), std::string(100, 'v'));
    }
    ASSERT_EQ(loads.ask(all).size(), kKeys * std::string_view{"STORED\r\n"}.size());
  }
  std::atomic<int> answered{0};
  std::vector<std::thread> clients;
  for (int id = 0; id < kClients; ++id) {
    clients.emplace_back([&nodes, &answered, id] {
      BlockingClient client{nodes[static_cast<std::size_t>(id) % 3].port()};
      std::mt19937 dice{static_cast<unsigned>(id)};
      for (int round = 0; round < kRounds; ++round) {
        std::string requests;
        for (int n = 0; n < kDepth; ++n) {
          const std::string key = key_of(static_cast<int>(dice() % kKeys));
          requests += dice() % 20 == 0 ? set(key + "x", std::string(100, 'w'))
                                       : "scan [" + key + " + " + std::to_string(1 + dice() % 1000) + "\r\n";
        }
        if (client.ask(requests).empty()) {
          return;
        }
        ++answered;
      }
    });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_EQ(answered, kClients * kRounds);
}

}  // namespace
}  // namespace mxkv::server::test

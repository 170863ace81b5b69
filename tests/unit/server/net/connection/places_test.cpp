// Sampled requests count the NUMA nodes of the memory that they access.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "server/stats/place_stats.hpp"
#include "tests/unit/server/net/worker/two_workers.hpp"

namespace mxkv::server::test {
namespace {

constexpr int kKeys = 4000;

/// Two workers on each node.
runtime::RuntimeOptions two_nodes() {
  runtime::RuntimeOptions options = runtime::testing::unpinned(2);
  options.workers[1].node = runtime::NumaNodeId{1};
  options.os_nodes = {0, 1};
  return options;
}

struct Places : testing::Test {
  [[nodiscard]] PlaceCounters& of(std::uint16_t worker) {
    return *server.store.context(runtime::WorkerId{worker}).places;
  }
  /// Gets or sets of all keys, sent by a client of a worker.
  void ask(std::size_t worker, bool set) {
    WorkerClient client{server, worker};
    for (int i = 0; i < kKeys; ++i) {
      const std::string key = "key" + std::to_string(i * 7919 % kKeys);
      if (set) {
        ASSERT_EQ(client.ask("set " + key + " 0 0 1\r\nx\r\n"), "STORED\r\n");
      } else {
        ASSERT_EQ(client.ask("get " + key + "\r\n"), "VALUE " + key + " 0 1\r\nx\r\nEND\r\n");
      }
    }
  }

  TwoWorkers server{{}, {.mode = config::balance_mode::off}, two_nodes()};
};

TEST_F(Places, ItemsStoredByOneNodeAreRemoteToTheOther) {
  ask(0, true);
  ASSERT_GE(server.store.tree().root_level(), 2U) << "inner nodes count below the near ones only";
  const std::uint64_t before = of(0).all(met_memory::item);
  ask(0, false);
  EXPECT_GE(of(0).all(met_memory::item) - before, kKeys / 128U);
  EXPECT_EQ(of(0).remote(met_memory::item), 0U);
  EXPECT_EQ(of(0).remote(met_memory::leaf), 0U);
  ask(1, false);
  EXPECT_GE(of(1).all(met_memory::item), kKeys / 128U);
  EXPECT_EQ(of(1).remote(met_memory::item), of(1).all(met_memory::item));
  EXPECT_EQ(of(1).remote(met_memory::leaf), of(1).all(met_memory::leaf));
  const std::uint64_t inner = of(1).all(met_memory::inner_node);
  EXPECT_GE(inner, of(1).all(met_memory::leaf));
  EXPECT_EQ(of(0).remote(met_memory::inner_node), 0U);
  EXPECT_EQ(of(1).remote(met_memory::inner_node), inner);
  EXPECT_EQ(of(1).of_node(0), of(1).remote(met_memory::inner_node) + of(1).remote(met_memory::leaf) +
                                  of(1).remote(met_memory::item));
}

TEST_F(Places, TheSumsAreOfAllWorkers) {
  ask(0, true);
  ask(1, false);
  const PlaceSums sums = place_sums(server.machine.runtime, server.store);
  const PlaceSums::Met& items = sums.met[static_cast<std::size_t>(met_memory::item)];
  EXPECT_EQ(items.name, "item");
  EXPECT_EQ(items.all, of(0).all(met_memory::item) + of(1).all(met_memory::item));
  EXPECT_GE(items.remote, kKeys / 128U);
  EXPECT_EQ(items.remote, of(0).remote(met_memory::item) + of(1).remote(met_memory::item));
  ASSERT_EQ(sums.of_nodes.size(), 2U);
  EXPECT_EQ(sums.of_nodes[0], std::pair(0U, of(0).of_node(0) + of(1).of_node(0)));
}

TEST(PlacesOfOneNode, NothingIsCounted) {
  TwoWorkers server;
  EXPECT_EQ(server.store.context(runtime::WorkerId{0}).places, nullptr);
  EXPECT_TRUE(place_sums(server.machine.runtime, server.store).of_nodes.empty());
}

}  // namespace
}  // namespace mxkv::server::test

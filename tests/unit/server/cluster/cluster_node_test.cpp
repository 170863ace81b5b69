// A node's reactions to its board and its logs: by a clock that the test advances, without any broker.
#include "server/cluster/cluster_node.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/cluster/cluster_json.hpp"
#include "tests/unit/server/cluster/node_fakes.hpp"
#include "tests/unit/server/durability/text_store.hpp"

namespace mxkv::server::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Node a of two, which is to own the keys below "m"; the test plays node b.
class ClusterNodeTest : public ::testing::Test {
 protected:
  explicit ClusterNodeTest(std::uint32_t replicas = 1) : replicas_(replicas) {
    node.start([](std::size_t) {});
  }
  ~ClusterNodeTest() override { node.finish(); }

  static ClusterMap two_nodes(std::uint32_t replicas) {
    return first_map(99, replicas, 3000,
                     {{.name = "a", .peer = "10.0.0.1:11311", .address = ""},
                      {.name = "b", .peer = "10.0.0.2:11311", .address = ""}},
                     {"m"})
        .value();
  }
  void pass_ms(std::uint64_t ms) {
    for (; ms > 0; ms -= 50) {
      const std::uint64_t before = board.polls.load();
      store.machine.clock.advance_us(50'000);
      while (board.polls.load() == before) {
        std::this_thread::sleep_for(std::chrono::microseconds{100});
      }
    }
  }
  void other_says(std::vector<ShardPresence> shards) {
    board.put(presence_key("b"),
              write_presence({.name = "b",
                              .process = 7,
                              .address = "",
                              .peer = "10.0.0.2:11311",
                              .version = "1",
                              .map_version = 1,
                              .shards = std::move(shards)}),
              {});
  }
  void other_says_that_it_serves() {
    other_says({{.id = 1, .role = "owns", .term = 1, .position = 1, .serves = true}});
  }

  std::uint32_t replicas_;
  HeardLines infos;
  HeardLines warnings;
  TextStore store;
  ListedEngine engine;
  BoardReader reader;
  ShownBoard board{reader};
  Routes routes{{"m"}};
  ClusterNode node{{.cluster = "c", .name = "a", .address = "", .peer = "10.0.0.1:11311", .version = "1"},
                   two_nodes(replicas_),
                   engine,
                   board,
                   reader,
                   store.machine.runtime,
                   store.store,
                   routes,
                   {.info = [this](const std::string& line) { infos.add(line); },
                    .warn = [this](const std::string& line) { warnings.add(line); }}};
};

TEST_F(ClusterNodeTest, WhileTheBoardIsSilentNoNodeIsKnownToBeGone) {
  other_says_that_it_serves();
  pass_ms(200);
  ASSERT_EQ(routes.route(1).where, Route::to::peer);
  EXPECT_EQ(routes.peer_address(routes.route(1).peer), "10.0.0.2:11311");
  board.silent = true;
  pass_ms(20'000);
  EXPECT_EQ(routes.route(1).where, Route::to::peer) << "this node does not even hear itself";
  EXPECT_TRUE(node.status().board_silent);
  EXPECT_THAT(warnings.all(), Contains(HasSubstr("the brokers are silent")));
  board.silent = false;
  other_says_that_it_serves();
  pass_ms(3000);
  EXPECT_EQ(routes.route(1).where, Route::to::peer);
  EXPECT_FALSE(node.status().board_silent);
  pass_ms(6000);
  EXPECT_EQ(routes.route(1).where, Route::to::nobody) << "others are heard, and it is not";
}

TEST_F(ClusterNodeTest, AnOwnerWithoutALeaseReportsThatItDoesNotServe) {
  pass_ms(6000);
  ASSERT_EQ(node.status().shards.size(), 1U);
  ASSERT_TRUE(node.status().shards[0].presence.serves);
  EXPECT_EQ(node.status().lapsed, 0U);
  EXPECT_TRUE(node.status().complete);
  EXPECT_THAT(warnings.all(), IsEmpty());
  engine.down = true;
  pass_ms(5000);
  EXPECT_EQ(node.status().shards[0].presence.role, "owns");
  EXPECT_FALSE(node.status().shards[0].presence.serves);
  EXPECT_EQ(node.status().lapsed, 1U);
  EXPECT_THAT(warnings.all(),
              ElementsAre("cluster: 1 shard that this node owns is not served: the brokers have not "
                          "acknowledged anything for the length of a lease: nobody there"));
  engine.down = false;
  pass_ms(3000);
  EXPECT_TRUE(node.status().shards[0].presence.serves);
  EXPECT_EQ(node.status().lapsed, 0U);
  EXPECT_THAT(infos.all(), Contains("cluster: all shards that this node owns are served again"));
}

TEST_F(ClusterNodeTest, ALeaseOfTheMapIsTakenUpWithoutARestart) {
  pass_ms(6000);
  ASSERT_TRUE(node.status().shards[0].presence.serves);
  board.put(map_key(2, 1), to_json(with_lease(two_nodes(1), 20'000).value()), {});
  pass_ms(1000);
  EXPECT_EQ(node.status().map_version, 2U);
  engine.down = true;
  pass_ms(15'000);
  EXPECT_TRUE(node.status().shards[0].presence.serves);
  pass_ms(6000);
  EXPECT_FALSE(node.status().shards[0].presence.serves);
}

TEST_F(ClusterNodeTest, AnotherProcessWithItsNameIsLogged) {
  pass_ms(1000);
  EXPECT_THAT(warnings.all(), IsEmpty());
  for (int i = 0; i < 3; ++i) {
    board.put(presence_key("a"),
              write_presence({.name = "a",
                              .process = 77,
                              .address = "",
                              .peer = "10.0.0.9:11311",
                              .version = "1",
                              .map_version = 1,
                              .shards = {}}),
              {});
    pass_ms(1000);
  }
  EXPECT_THAT(warnings.all(), ElementsAre(HasSubstr("another process is node a, too, at 10.0.0.9:11311")));
}

class TwoReplicasTest : public ClusterNodeTest {
 protected:
  TwoReplicasTest() : ClusterNodeTest(2) {}

  void end(int patience_ms) {
    std::thread handing_over{[this, patience_ms] { node.hand_over(patience_ms); }};
    for (int i = 0; i < 20; ++i) {
      pass_ms(50);
    }
    handing_over.join();
  }
};

TEST_F(TwoReplicasTest, ANodeWhoseShardsNoOtherTakesSaysWhy) {
  other_says({{.id = 0, .role = "stranded", .term = 1, .position = 100, .serves = false},
              {.id = 1, .role = "owns", .term = 1, .position = 100, .serves = true}});
  pass_ms(6000);
  ASSERT_TRUE(node.status().shards[0].presence.serves);
  other_says({{.id = 0, .role = "stranded", .term = 1, .position = 100, .serves = false}});
  end(300);
  EXPECT_THAT(warnings.all(),
              Contains(HasSubstr("not handed over to another node in 300 ms: shard 0: b says \"stranded\"")));
}

}  // namespace
}  // namespace mxkv::server::testing

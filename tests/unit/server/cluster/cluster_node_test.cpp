// A node's reactions to its board and its logs: by a clock that the test advances, without any broker.
#include "server/cluster/cluster_node.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/cluster/cluster_json.hpp"
#include "server/cluster/record_body.hpp"
#include "server/cluster/shard_splits.hpp"
#include "tests/unit/server/cluster/node_fakes.hpp"
#include "tests/unit/server/durability/text_store.hpp"

namespace mxkv::server::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Node a of two, which is to own the keys below "m"; the test plays node b.
class ClusterNodeTest : public ::testing::Test {
 protected:
  explicit ClusterNodeTest(std::uint32_t replicas = 1, std::size_t memory_bytes = std::size_t{256} << 20U,
                           std::vector<std::string> splits = {"m"})
      : replicas_(replicas), splits_(std::move(splits)), store(2, memory_bytes) {
    node.start([](std::size_t) {});
  }
  ~ClusterNodeTest() override { node.finish(); }

  static ClusterMap two_nodes(std::uint32_t replicas, const std::vector<std::string>& splits = {"m"}) {
    return first_map(99, replicas, 3000,
                     {{.name = "a", .peer = "10.0.0.1:11311", .address = ""},
                      {.name = "b", .peer = "10.0.0.2:11311", .address = ""}},
                     splits)
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
  std::vector<std::string> splits_;
  HeardLines infos;
  HeardLines warnings;
  TextStore store;
  ListedEngine engine;
  BoardReader reader;
  ShownBoard board{reader};
  Routes routes{splits_};
  ClusterNode node{{.cluster = "c", .name = "a", .address = "", .peer = "10.0.0.1:11311", .version = "1"},
                   two_nodes(replicas_, splits_),
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
  explicit TwoReplicasTest(std::vector<std::string> splits = {"m"})
      : ClusterNodeTest(2, std::size_t{256} << 20U, std::move(splits)) {}

  /// Hands over with a patience of 1 s.
  void end() {
    std::atomic<bool> done{false};
    std::thread handing_over{[&] {
      node.hand_over(1000);
      done = true;
    }};
    while (!done) {
      pass_ms(50);
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
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
  end();
  EXPECT_THAT(warnings.all(),
              Contains(HasSubstr("not handed over to another node: shard 0: b says \"stranded\"")));
}

TEST_F(TwoReplicasTest, ANodeDoesNotWaitForNodesThatEnd) {
  pass_ms(6000);
  ASSERT_TRUE(node.status().shards[0].presence.serves);
  other_says({{.id = 0, .role = "ends", .term = 1, .position = 100, .serves = false}});
  std::atomic<bool> done{false};
  std::thread handing_over{[&] {
    node.hand_over(60'000);
    done = true;
  }};
  for (int i = 0; i < 2000 && !done; ++i) {
    pass_ms(50);
  }
  EXPECT_TRUE(done);
  handing_over.join();
  EXPECT_THAT(warnings.all(),
              Contains(HasSubstr("not handed over to another node: shard 0: b says \"ends\"")));
}

/// As many shards as `mxkvd cluster init` makes, and node b is silent.
class ManyShardsTest : public TwoReplicasTest {
 protected:
  static constexpr std::uint32_t kShards = 256;

  ManyShardsTest() : TwoReplicasTest(even_splits(kShards)) {}

  [[nodiscard]] std::int64_t served() const {
    const NodeStatus status = node.status();
    return std::ranges::count_if(status.shards,
                                 [](const ShardStatus& shard) { return shard.presence.serves; });
  }
};

TEST_F(ManyShardsTest, ANodeServesAllOfThemAndSendsTheirBeatsTogether) {
  for (int seconds = 0; served() < kShards && seconds < 20; ++seconds) {
    pass_ms(1000);
  }
  ASSERT_EQ(served(), kShards);
  constexpr std::uint64_t kLeases = 4;
  const std::uint64_t appends = engine.appends;
  const std::uint64_t bursts = engine.bursts;
  pass_ms(kLeases * 3000);
  EXPECT_LE(engine.appends - appends, kLeases * 4 * kShards);
  EXPECT_LE(engine.bursts - bursts, kLeases * 7) << "of " << kLeases * 60 << " ticks";
  EXPECT_EQ(served(), kShards);
  EXPECT_THAT(warnings.all(), IsEmpty());
}

TEST_F(ManyShardsTest, ANodeThatCannotHandThemOverNamesAFew) {
  for (int seconds = 0; served() < kShards && seconds < 20; ++seconds) {
    pass_ms(1000);
  }
  end();
  EXPECT_THAT(warnings.all(),
              Contains(AllOf(HasSubstr("256 shards were not handed over to another node: shard 0: "),
                             HasSubstr("; shard 7: "), HasSubstr("; and 248 more; they are unavailable"),
                             Not(HasSubstr("shard 8: ")))));
}

/// Node b owns shard 1, and node a replicates it.
class OtherOwnsTest : public ClusterNodeTest {
 protected:
  explicit OtherOwnsTest(std::size_t memory_bytes = std::size_t{256} << 20U)
      : ClusterNodeTest(2, memory_bytes) {
    other_writes({.kind = message_kind::open, .body = claim_});
    beat();
  }

  void other_writes(Message message) {
    message.shard = 1;
    message.cluster = 99;
    message.term = 1;
    message.node = 7;
    engine.write(shards_topic("c"), two_nodes(2).shards[1].partition, write_message(message));
    ++position_;
  }
  void other_writes_group(const std::string& body) {
    ++sequence_;
    other_writes(
        {.kind = message_kind::group, .sequence = sequence_, .epoch = sequence_, .parts = 1, .body = body});
  }
  /// Node b is heard, in its log and on the board.
  void beat() {
    other_writes({.kind = message_kind::beat, .sequence = ++sequence_, .body = {}});
    other_says_of_shard_1("owns", true);
  }
  void other_says_of_shard_1(const std::string& role, bool serves) {
    other_says({{.id = 0, .role = "follows", .term = 1, .position = 1, .serves = false},
                {.id = 1, .role = role, .term = 1, .position = position_, .serves = serves}});
  }
  /// A second of node a.
  void pass_s() {
    for (int i = 0; i < 20; ++i) {
      pass_ms(50);
      work();
    }
  }
  [[nodiscard]] std::string role(std::size_t shard) const {
    const NodeStatus status = node.status();
    return status.shards.at(shard).presence.serves ? "serves" : status.shards.at(shard).presence.role;
  }
  /// Lets time pass, with beats of node b, until the replica of shard 1 has this role.
  bool comes_to(const std::string& wanted, int seconds) {
    for (; role(1) != wanted && seconds > 0; --seconds) {
      beat();
      pass_s();
    }
    return role(1) == wanted;
  }

 private:
  /// Runs tasks, except those that wait for time to pass.
  void work() {
    for (int i = 0, quiet = 0; i < 5000 && quiet < 2; ++i) {
      const bool busy = store.step(0);
      quiet = store.step(1) || busy ? 0 : quiet + 1;
    }
  }

  const std::string claim_ = write_claim({.lease_ns = 3'000'000'000, .address = "10.0.0.2:11311"});
  std::uint64_t sequence_ = 0;
  LogPosition position_ = 0;
};

// An owner that is heard on the board is waited for longer than its lease, unless it has given up the shard.
TEST_F(OtherOwnsTest, AShardWhoseOwnerLoadsItIsClaimedAfterTheLease) {
  ASSERT_TRUE(comes_to("follows", 10));
  int seconds = 0;
  for (; role(1) != "serves" && seconds < 30; ++seconds) {
    other_says_of_shard_1("loads", false);
    pass_s();
  }
  EXPECT_LE(seconds, 7) << "a lease and a half, and the wait for the former lease";
}

/// The items of shard 1 are more than the memory of node a.
class ShortOfMemoryTest : public OtherOwnsTest {
 protected:
  static constexpr std::size_t kLimit = std::size_t{32} << 20U;
  static constexpr std::size_t kElsewhere = std::size_t{20} << 20U;  ///< bytes that have another use
  static constexpr std::uint64_t kItems = 2000;                      ///< of 8 kB each

  ShortOfMemoryTest() : OtherOwnsTest(kLimit) {
    store.machine.runtime.budget().charge_unconditionally(runtime::memory_category::other, kElsewhere);
  }
  ~ShortOfMemoryTest() override {
    if (!is_free_) {
      free_memory();
    }
    pass_s();  // no task waits for memory
  }
  void free_memory() {
    store.machine.runtime.budget().refund(runtime::memory_category::other, kElsewhere);
    is_free_ = true;
  }
  void fill() {
    const std::string value(8000, 'v');
    for (std::uint64_t i = 0; i < kItems; ++i) {
      std::string body;
      RecordBody::add_record(body, PutRecord{.order = i + 1, .key = "z" + std::to_string(i), .value = value});
      other_writes_group(body);
    }
  }

 private:
  bool is_free_ = false;
};

TEST_F(ShortOfMemoryTest, ANodeReplicatesAgainWhenMemoryIsFree) {
  ASSERT_TRUE(comes_to("follows", 10));
  for (int i = 0; i < 8; ++i) {
    beat();
    pass_s();
  }
  ASSERT_EQ(role(0), "serves");
  ASSERT_EQ(role(1), "follows");
  fill();
  ASSERT_TRUE(comes_to("stranded", 20));
  EXPECT_EQ(node.status().lacking, 1U);
  EXPECT_EQ(node.status().lack, "out of memory while applying the log");
  for (int i = 0; i < 70; ++i) {
    beat();
    pass_s();
    ASSERT_EQ(role(0), "serves") << "its own shard is not harmed";
    ASSERT_EQ(role(1), "stranded");
    ASSERT_EQ(routes.route(1).where, Route::to::peer) << "clients of this node still reach the owner";
  }
  EXPECT_THAT(warnings.all(), ::testing::SizeIs(2)) << "not one for each try";
  EXPECT_THAT(warnings.all(), Contains(HasSubstr("this node is no replica of 1 shard: out of memory")));
  EXPECT_LT(store.items().size(), kItems);
  free_memory();
  ASSERT_TRUE(comes_to("follows", 70));
  EXPECT_EQ(store.items().size(), kItems);
  EXPECT_EQ(node.status().lacking, 0U);
  EXPECT_EQ(node.status().lack, "");
  EXPECT_THAT(infos.all(), Contains("cluster: this node replicates all its shards again"));
}

TEST_F(ShortOfMemoryTest, ANodeReplicatesAgainAtOnceWhenItsLimitIsRaised) {
  ASSERT_TRUE(comes_to("follows", 10));
  fill();
  ASSERT_TRUE(comes_to("stranded", 20));
  for (int i = 0; i < 40; ++i) {
    beat();
    pass_s();
  }
  store.machine.runtime.budget().set_limit_bytes(2 * kLimit);
  EXPECT_TRUE(comes_to("follows", 5));
  EXPECT_EQ(store.items().size(), kItems);
}

}  // namespace
}  // namespace mxkv::server::testing

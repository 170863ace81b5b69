// Changing the map over a board in memory, while others write at the same time; and how a cluster is shown.
#include "server/cluster/map_writer.hpp"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "server/cluster/cluster_json.hpp"
#include "server/cluster/shard_splits.hpp"

namespace mxkv::server {
namespace {

using runtime::Result;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The reader gets a written entry at the next poll(), behind entries that others wrote before.
class MemoryBoard final : public Board {
 public:
  explicit MemoryBoard(BoardSink& sink) : sink_(sink) {}

  void put(const std::string& key, std::string value, Done done) override {
    for (auto& [other, text] : std::exchange(before_next, {})) {
      waiting_.push_back({other, text, {}});
    }
    if (!deaf) {
      waiting_.push_back({key, std::move(value), std::move(done)});
    }
  }
  void remove(const std::string& key, Done done) override {
    waiting_.push_back({key, std::nullopt, std::move(done)});
  }
  void poll(int /*wait_ms*/) override {
    for (Message& message : std::exchange(waiting_, {})) {
      all.emplace_back(message.key);
      sink_.put_up(all.size(), message.key, message.value);
      if (message.done) {
        message.done(true);
      }
    }
    if (!std::exchange(told_, true)) {
      sink_.caught_up();
    }
  }
  void wake() noexcept override {}
  [[nodiscard]] std::string last_error() const override { return deaf ? "nobody there" : ""; }

  std::vector<std::pair<std::string, std::string>> before_next;
  std::vector<std::string> all;  ///< keys, in order
  bool deaf = false;

 private:
  struct Message {
    std::string key;
    std::optional<std::string> value;
    Done done;
  };
  BoardSink& sink_;
  std::vector<Message> waiting_;
  bool told_ = false;
};

std::vector<ClusterMap::Node> three_nodes() {
  return {{.name = "a", .peer = "10.0.0.1:1", .address = "10.0.0.1:2"},
          {.name = "b", .peer = "10.0.0.2:1", .address = ""},
          {.name = "c", .peer = "10.0.0.3:1", .address = "10.0.0.3:2"}};
}

struct MapWriterTest : testing::Test {
  MapWriterTest() {
    EXPECT_EQ(read_all(board, view, milliseconds{1000}), "");
    EXPECT_TRUE(write([this](const ClusterMap* current) {
                  EXPECT_EQ(current, nullptr);
                  return first;
                }).ok());
  }
  Result<MapWritten> write(const MapEdit& edit) { return write_map(board, view, edit, 9, milliseconds{50}); }
  Result<MapWritten> write_move(std::uint32_t shard, const char* node) {
    return write([=](const ClusterMap* current) { return moved(*current, shard, node); });
  }

  Result<ClusterMap> first = first_map(5, 2, 3000, three_nodes(), {"g", "p"});
  BoardView view;
  MemoryBoard board{view};
};

TEST_F(MapWriterTest, TheNextVersionIsInForceWhenItReturns) {
  const Result<MapWritten> written = write_move(0, "c");
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(written.value().before, first.value());
  EXPECT_EQ(written.value().map.version, 2U);
  EXPECT_EQ(written.value().lost_races, 0U);
  EXPECT_EQ(*view.history().current(), written.value().map);
  EXPECT_THAT(board.all, ElementsAre("map/1/9", "map/2/9"));
}

TEST_F(MapWriterTest, WhoComesSecondBeginsAnewOnTopOfTheFirst) {
  board.before_next = {{map_key(2, 1), to_json(moved(first.value(), 1, "a").value())}};
  const Result<MapWritten> written = write_move(0, "c");
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(written.value().map.version, 3U);
  EXPECT_EQ(written.value().lost_races, 1U);
  EXPECT_EQ(view.history().current()->shards[0].prefers, "c") << "ours";
  EXPECT_EQ(view.history().current()->shards[1].prefers, "a") << "and theirs";
  EXPECT_THAT(board.all, ElementsAre("map/1/9", "map/2/1", "map/2/9", "map/2/9", "map/3/9"))
      << "ours is gone";
}

TEST_F(MapWriterTest, AnEditThatTheFirstMakesWrongIsRefused) {
  ClusterMap::Node node{.name = "d", .peer = "10.0.0.4:1", .address = ""};
  board.before_next = {{map_key(2, 1), to_json(with_node(first.value(), node).value())}};
  node.name = "e";
  const Result<MapWritten> written =
      write([&](const ClusterMap* current) { return with_node(*current, node); });
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().message, "nodes[4].peer: 10.0.0.4:1 is also the peer of node d");
  EXPECT_EQ(view.history().current()->nodes.size(), 4U);
}

TEST_F(MapWriterTest, TheSameChangeByAnotherWriterIsNoError) {
  board.before_next = {{map_key(2, 1), to_json(moved(first.value(), 0, "c").value())}};
  const Result<MapWritten> written = write_move(0, "c");
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(view.history().key(), map_key(2, 1));
  EXPECT_EQ(written.value().map.version, 2U);
}

TEST_F(MapWriterTest, ThatTheBrokersSayNothingIsSaid) {
  board.deaf = true;
  EXPECT_EQ(write_move(0, "c").error().message,
            "the brokers have not acknowledged the new map, but may still write it: see mxkvd cluster status "
            "before you retry: "
            "nobody there");
}

TEST_F(MapWriterTest, OldVersionsAreTakenDown) {
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(write_move(0, i % 2 == 0 ? "b" : "a").ok());
  }
  EXPECT_EQ(view.history().current()->version, 31U);
  EXPECT_THAT(view.keys_below(11), IsEmpty());
  EXPECT_EQ(view.keys_below(32).size(), 21U);
}

std::string presence(const std::string& name, const std::vector<ShardPresence>& shards) {
  return write_presence({.name = name,
                         .process = 1,
                         .address = "10.9.9.9:2",
                         .peer = "10.9.9.9:1",
                         .version = "1.0",
                         .map_version = 1,
                         .shards = shards});
}

ShardPresence of_shard(std::uint32_t id, const char* role, std::uint64_t position) {
  return {
      .id = id, .role = role, .term = 4, .position = position, .serves = role == std::string_view{"owns"}};
}

TEST_F(MapWriterTest, AClusterIsShownWithItsNodesAndMissingOwners) {
  view.put_up(1, "node/b", presence("b", {of_shard(0, "follows", 90), of_shard(1, "owns", 5)}));
  view.put_up(2, "node/a", presence("a", {of_shard(0, "owns", 100), of_shard(2, "follows", 7)}));
  EXPECT_FALSE(view.all_heard());
  EXPECT_EQ(state_table("shop", view.state()),
            "cluster shop, map 1: 3 shards, 2 replicas each, 3 nodes, lease 3000 ms\n\n"
            "node  state           peer        address     map  owns  keeps  version\n"
            "a     alive           10.9.9.9:1  10.9.9.9:2  1    1     2      1.0\n"
            "b     alive           10.9.9.9:1  10.9.9.9:2  1    1     2      1.0\n"
            "c     never heard of  10.0.0.3:1  10.0.0.3:2  -    0     0      -\n\n"
            "shard  from             owner  term  prefers  replicas  lag\n"
            "0      (the least key)  a      4     a        a, b      b 10 behind\n"
            "1      g                b      4     b        b, c      c silent\n"
            "2      p                NONE   -     c        c, a      c silent\n");
  const std::string json = state_json("shop", view.state());
  EXPECT_THAT(json, HasSubstr(R"("cluster":"shop")"));
  EXPECT_THAT(json, HasSubstr(R"({"from":"","id":0,"owner":"a","prefers":"a","replicas":[)"
                              R"({"behind":0,"node":"a","position":100,"role":"owns","term":4},)"
                              R"({"behind":10,"node":"b","position":90,"role":"follows","term":4}]})"));
  EXPECT_THAT(json, HasSubstr(R"("id":2,"owner":null)"));
  EXPECT_EQ(still_missing(view.state()), "shard 1: node c has no copy of it yet");
  view.put_up(3, "node/c", presence("c", {of_shard(1, "follows", 5), of_shard(2, "follows", 7)}));
  EXPECT_TRUE(view.all_heard());
  EXPECT_EQ(still_missing(view.state()), "shard 2: has no owner yet");
  view.put_up(4, "node/c", presence("c", {of_shard(1, "follows", 5), of_shard(2, "owns", 7)}));
  EXPECT_EQ(still_missing(view.state()), "");
  view.put_up(5, "node/c", presence("c", {of_shard(1, "follows", 5), of_shard(2, "owns", 5000)}));
  EXPECT_EQ(still_missing(view.state()), "shard 2: node a is 4993 messages behind");
  EXPECT_EQ(without_owner(view.state()), "");
  EXPECT_EQ(still_missing(view.state(), 0), "") << "of that shard alone";
  view.forget_who_is_alive();
  EXPECT_EQ(without_owner(view.state()), "3 shards of 3 have no owner: 0, 1, 2");
  EXPECT_THAT(state_table("shop", view.state()), HasSubstr("a     silent"));
}

// As far in the log as its owner, but stranded: its memory is not a copy.
TEST_F(MapWriterTest, AReplicaThatTakesNoMoreIsNone) {
  view.put_up(1, "node/a", presence("a", {of_shard(0, "owns", 100), of_shard(2, "follows", 7)}));
  view.put_up(2, "node/b", presence("b", {of_shard(0, "stranded", 100), of_shard(1, "owns", 5)}));
  view.put_up(3, "node/c", presence("c", {of_shard(1, "loads", 5), of_shard(2, "owns", 7)}));
  const std::string table = state_table("shop", view.state());
  EXPECT_THAT(table, HasSubstr("a, b      b stranded\n"));
  EXPECT_THAT(table, HasSubstr("b, c      c loads\n"));
  EXPECT_EQ(still_missing(view.state()), "shard 0: node b cannot replicate it now (stranded)");
  view.put_up(4, "node/b", presence("b", {of_shard(0, "follows", 100), of_shard(1, "owns", 5)}));
  EXPECT_EQ(still_missing(view.state()), "shard 1: node c loads it");
}

TEST_F(MapWriterTest, ALeaseIsTakenUpOnceAllFollowItsMap) {
  ASSERT_TRUE(write([](const ClusterMap* current) { return with_lease(*current, 5000); }).ok());
  EXPECT_THAT(changes_of(first.value(), *view.history().current()), ElementsAre("lease: 3000 ms -> 5000 ms"));
  EXPECT_EQ(follows_another_map(view.state()), "node a is silent");
  view.put_up(1, "node/a", presence("a", {}));
  EXPECT_EQ(follows_another_map(view.state()), "node a still follows map 1");
}

TEST_F(MapWriterTest, ALeavingReplicaNeedsNoCopy) {
  const ClusterMap map = moved(first.value(), 0, "c").value();
  ClusterState state{.map = map, .nodes = {}};
  const auto says = [&state](const char* name, const std::vector<ShardPresence>& shards) {
    ClusterState::Node& node = state.nodes[name];
    node.said.shards = shards;
    node.alive = true;
  };
  says("b", {of_shard(0, "follows", 5), of_shard(1, "owns", 5)});
  says("c", {of_shard(0, "follows", 5), of_shard(1, "follows", 5), of_shard(2, "owns", 5)});
  says("a", {of_shard(0, "owns", 5), of_shard(2, "follows", 5)});
  EXPECT_EQ(still_missing(state), "shard 0: is still owned by a, not by c");
  says("c", {of_shard(0, "owns", 5), of_shard(1, "follows", 5), of_shard(2, "owns", 5)});
  says("a", {of_shard(2, "follows", 5)});
  EXPECT_EQ(still_missing(state), "");
  EXPECT_THAT(changes_of(first.value(), map),
              ElementsAre("shard 0: a -> c, kept by c, b, and by a until they have it"));
  const ClusterMap more = with_node(map, {.name = "d", .peer = "10.0.0.4:1", .address = ""}).value();
  EXPECT_THAT(changes_of(map, more), ElementsAre("node d joins at 10.0.0.4:1"));
  EXPECT_THAT(changes_of(more, map), ElementsAre("node d leaves"));
}

TEST(TextOfSplitTest, OnlyPrintableBytesComeAsTheyAre) {
  EXPECT_EQ(text_of_split(std::string_view{"a\\ \xff\0~", 6}), "a\\x5c\\x20\\xff\\x00~");
}

}  // namespace
}  // namespace mxkv::server

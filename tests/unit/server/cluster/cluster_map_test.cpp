// The map of shards: invalid maps, edits, and which of several maps is in force.
#include "server/cluster/cluster_map.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/cluster/cluster_json.hpp"
#include "server/cluster/map_history.hpp"
#include "server/cluster/shard_splits.hpp"

namespace mxkv::server {
namespace {

using runtime::Result;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ClusterMap::Node node_of(const std::string& name) {
  const std::string number = std::to_string(static_cast<int>(name.back()));
  return {.name = name, .peer = "10.0.0." + number + ":11311", .address = "10.0.0." + number + ":11211"};
}

ClusterMap map_of(std::uint32_t shards, std::uint32_t replicas, const std::string& names) {
  std::vector<ClusterMap::Node> nodes;
  for (const char name : names) {
    nodes.push_back(node_of(std::string(1, name)));
  }
  return first_map(99, replicas, 3000, std::move(nodes), even_splits(shards)).value();
}

std::string error_of(const Result<ClusterMap>& map) {
  return map.ok() ? "" : map.error().message;
}

/// The number of shards that each node is to own.
std::map<std::string, int> owned(const ClusterMap& map) {
  std::map<std::string, int> counts;
  for (const ClusterMap::Node& node : map.nodes) {
    counts[node.name] = 0;
  }
  for (const ClusterMap::Shard& shard : map.shards) {
    ++counts[shard.prefers];
  }
  return counts;
}

int spread(const std::map<std::string, int>& counts) {
  const auto [least, most] =
      std::ranges::minmax_element(counts, {}, &std::pair<const std::string, int>::second);
  return most->second - least->second;
}

TEST(ClusterMapTest, TheFirstSpreadsShardsAndWhatANodeLeavesEvenly) {
  for (const std::uint32_t shards : {1U, 3U, 12U, 24U, 97U}) {
    const ClusterMap map = map_of(shards, 2, "cadb");
    EXPECT_EQ(map.shards.size(), shards);
    EXPECT_EQ(mistake_of(map), "");
    EXPECT_LE(spread(owned(map)), 1);
  }
  const ClusterMap map = map_of(24, 2, "abcd");
  std::map<std::string, int> heirs_of_a;
  for (const ClusterMap::Shard& shard : map.shards) {
    if (shard.prefers == "a") {
      ++heirs_of_a[shard.replicas.back()];
    }
  }
  EXPECT_EQ(heirs_of_a, (std::map<std::string, int>{{"b", 2}, {"c", 2}, {"d", 2}}));
  EXPECT_EQ(error_of(first_map(1, 3, 3000, {node_of("a"), node_of("b")}, {})),
            "each shard needs 3 replicas, but there are only 2 nodes");
}

TEST(ClusterMapTest, ComesBackFromJsonAsItWas) {
  ClusterMap map = map_of(5, 2, "abc");
  map.shards[4].from = std::string{"\xff\x00 \n", 4};
  map.version = 123456789012345;
  const Result<ClusterMap> again = map_of_json(to_json(map));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again.value(), map);
  EXPECT_THAT(
      to_json(map_of(1, 1, "a")),
      AllOf(HasSubstr(R"("shards":[{"from":"","id":0,"partition":0,"prefers":"a","replicas":["a"]}])"),
            HasSubstr(R"("version":1)")));
}

TEST(ClusterMapTest, WhatIsWrongIsToldWithItsPlace) {
  const ClusterMap good = map_of(4, 2, "abc");
  const auto wrong = [&good](const std::function<void(ClusterMap&)>& spoil) {
    ClusterMap map = good;
    spoil(map);
    const std::string text = mistake_of(map);
    EXPECT_EQ(error_of(map_of_json(to_json(map))), text) << "the text is held against the same rules";
    return text;
  };
  EXPECT_EQ(wrong([](ClusterMap& map) { map.version = 0; }), "version: must be 1 to 2^53 - 1");
  EXPECT_EQ(wrong([](ClusterMap& map) { map.cluster = std::uint64_t{1} << 53U; }),
            "cluster: must be 1 to 2^53 - 1");
  EXPECT_EQ(wrong([](ClusterMap& map) { map.replicas = 0; }), "replicas: must be at least 1");
  EXPECT_EQ(wrong([](ClusterMap& map) { map.lease_ms = 499; }), "lease_ms: must be 500 to 60000");
  EXPECT_EQ(wrong([](ClusterMap& map) { map.lease_ms = 60'001; }), "lease_ms: must be 500 to 60000");
  EXPECT_EQ(wrong([](ClusterMap& map) { map.shards.clear(); }), "shards: is empty");
  EXPECT_EQ(wrong([](ClusterMap& map) { map.nodes[1].name = "a b"; }),
            "nodes[1].name: \"a b\" is not a name (allowed: at most 100 letters, digits, . _ -)");
  EXPECT_EQ(wrong([](ClusterMap& map) { map.nodes[1].peer = "x"; }),
            "nodes[1].peer: \"x\" is not an address and a port");
  EXPECT_EQ(wrong([](ClusterMap& map) { map.nodes[1].address = "x"; }),
            "nodes[1].address: \"x\" is not an address and a port");
  EXPECT_EQ(wrong([](ClusterMap& map) { map.nodes[2].peer = map.nodes[0].peer; }),
            "nodes[2].peer: 10.0.0.97:11311 is also the peer of node a");
  EXPECT_EQ(wrong([](ClusterMap& map) { std::swap(map.nodes[0], map.nodes[1]); }),
            "nodes[1].name: a does not follow b");
  EXPECT_EQ(wrong([](ClusterMap& map) { std::swap(map.shards[1].from, map.shards[2].from); }),
            "shards[2].from: is not greater than the one of shard 1");
  EXPECT_EQ(wrong([](ClusterMap& map) { map.shards[0].from = "a"; }),
            "shards[0].from: must be empty, the least key");
  EXPECT_EQ(wrong([](ClusterMap& map) { map.shards[2].from = ""; }),
            "shards[2].from: is empty, which only the first may be");
  EXPECT_EQ(wrong([](ClusterMap& map) { map.shards[3].from = std::string(251, 'z'); }),
            "shards[3].from: is longer than a key, 250 bytes");
  EXPECT_EQ(wrong([](ClusterMap& map) { map.shards[3].partition = 1; }),
            "shards[3].partition: 1 is also the partition of shard 1");
  EXPECT_EQ(wrong([](ClusterMap& map) { map.shards[1].replicas = {"b"}; }),
            "shards[1].replicas: has 1, and must have 2");
  EXPECT_EQ(wrong([](ClusterMap& map) { map.shards[1].replicas = {"b", "d"}; }),
            "shards[1].replicas: names node d, which is not in nodes");
  EXPECT_EQ(wrong([](ClusterMap& map) { map.shards[1].replicas = {"b", "b"}; }),
            "shards[1].replicas: names node b twice");
  EXPECT_EQ(wrong([](ClusterMap& map) { map.shards[1].prefers = "a"; }),
            "shards[1].prefers: a is not in replicas");
}

TEST(ClusterMapTest, TextsThatAreNoMapAreToldWithTheirPlace) {
  const std::string good = to_json(map_of(2, 1, "ab"));
  const auto replaced = [&good](const std::string& what, const std::string& by) {
    std::string text = good;
    const std::size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return error_of(map_of_json(text.replace(at, what.size(), by)));
  };
  EXPECT_EQ(error_of(map_of_json("{")), "is not JSON");
  EXPECT_EQ(error_of(map_of_json("[]")), "the document: must be an object");
  EXPECT_EQ(replaced("\"version\":1", "\"version\":-1"), "version: must be a non-negative integer");
  EXPECT_EQ(replaced("\"version\":1", "\"v\":1"), "version: is missing");
  EXPECT_EQ(replaced("\"replicas\":1,", "\"replicas\":4294967296,"), "replicas: is too large");
  EXPECT_EQ(replaced("\"prefers\":\"b\"", "\"prefers\":7"), "shards[1].prefers: must be a string");
  EXPECT_EQ(replaced("\"from\":\"\"", "\"from\":\"=\""), "shards[0].from: is not base64");
  EXPECT_EQ(replaced("\"id\":1", "\"id\":2"), "shards[1].id: must be the shard's index in the list");
  EXPECT_EQ(replaced("[\"b\"]", "\"b\""), "shards[1].replicas: must be a list");
  EXPECT_EQ(replaced("\"version\":1", "\"version\":1,\"later\":{}"), "") << "a newer program may say more";
}

TEST(ClusterMapTest, ALeaseIsOfAllNodes) {
  const ClusterMap map = map_of(4, 2, "ab");
  EXPECT_EQ(map.lease_ms, 3000U);
  const ClusterMap longer = with_lease(map, 20'000).value();
  EXPECT_EQ(longer.lease_ms, 20'000U);
  EXPECT_EQ(longer.version, 2U);
  EXPECT_EQ(longer.shards, map.shards);
  EXPECT_EQ(moved(longer, 0, "b").value().lease_ms, 20'000U) << "other edits leave it";
  EXPECT_EQ(error_of(with_lease(longer, 20'000)), "the lease is 20000 ms already");
  EXPECT_EQ(error_of(with_lease(map, 100)), "lease_ms: must be 500 to 60000");
  std::string older = to_json(longer);
  older.replace(older.find("\"lease_ms\":20000,"), 17, "");
  EXPECT_EQ(map_of_json(older).value().lease_ms, 3000U);
}

TEST(ClusterMapTest, NodesComeAndGo) {
  const ClusterMap map = map_of(4, 2, "ac");
  const Result<ClusterMap> more = with_node(map, node_of("b"));
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(more.value().version, 2U);
  EXPECT_EQ(more.value().nodes[1], node_of("b"));
  EXPECT_EQ(more.value().shards, map.shards) << "who comes has nothing yet";
  EXPECT_EQ(error_of(with_node(map, node_of("a"))), "node a is in the map already");
  ClusterMap::Node elsewhere = node_of("a");
  elsewhere.peer = "10.9.9.9:1";
  EXPECT_EQ(with_node(map, elsewhere).value().find_node("a")->peer, "10.9.9.9:1");
  elsewhere.peer = "nowhere";
  EXPECT_EQ(error_of(with_node(map, elsewhere)), "nodes[0].peer: \"nowhere\" is not an address and a port");
  EXPECT_EQ(without_node(more.value(), "b").value().nodes, map.nodes);
  EXPECT_EQ(error_of(without_node(map, "a")), "node a keeps 4 shards: drain it first");
  EXPECT_EQ(error_of(without_node(map, "z")), "node z is not in the map");
}

TEST(ClusterMapTest, AMoveToAReplicaNeedsNoCopyAndOneElsewhereDoes) {
  const ClusterMap map = map_of(3, 2, "abc");
  ASSERT_THAT(map.shards[0].replicas, ElementsAre("a", "b"));
  const ClusterMap near = moved(map, 0, "b").value();
  EXPECT_EQ(near.shards[0].prefers, "b");
  EXPECT_THAT(near.shards[0].replicas, ElementsAre("b", "a"));
  EXPECT_FALSE(has_surplus(near));
  EXPECT_EQ(error_of(settled(near)), "no shard has a replica too many");
  const ClusterMap far = moved(map, 0, "c").value();
  EXPECT_THAT(far.shards[0].replicas, ElementsAre("c", "b", "a")) << "a keeps it until c has it";
  EXPECT_TRUE(has_surplus(far));
  EXPECT_THAT(settled(far).value().shards[0].replicas, ElementsAre("c", "b"));
  EXPECT_EQ(error_of(moved(map, 0, "a")), "shard 0 prefers node a already");
  EXPECT_EQ(error_of(moved(map, 3, "a")), "there is no shard 3: there are 0 to 2");
  EXPECT_EQ(error_of(moved(map, 0, "d")), "node d is not in the map");
}

TEST(ClusterMapTest, ADrainedNodeCanGoWhenTheOthersHaveItsShards) {
  const ClusterMap map = map_of(24, 2, "abcd");
  const ClusterMap drained_one = drained(map, "b").value();
  EXPECT_EQ(owned(drained_one)["b"], 0);
  std::map<std::string, int> others = owned(drained_one);
  others.erase("b");
  EXPECT_LE(spread(others), 1);
  EXPECT_THAT(error_of(without_node(drained_one, "b")),
              HasSubstr("until the others have it: mxkvd cluster settle"));
  const ClusterMap done = settled(drained_one).value();
  EXPECT_TRUE(without_node(done, "b").ok());
  std::map<std::string, int> kept;
  for (const ClusterMap::Shard& shard : done.shards) {
    for (const std::string& name : shard.replicas) {
      ++kept[name];
    }
  }
  EXPECT_LE(spread(kept), 1) << "16 each";
  EXPECT_EQ(error_of(drained(done, "b")), "node b keeps no shard");
  EXPECT_EQ(error_of(drained(map_of(3, 2, "ab"), "a")),
            "without node a there are 1 nodes, and each shard has 2 replicas");
}

TEST(ClusterMapTest, EveryEditOfAnyMapLeavesItRight) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random{seed};
    const auto below = [&random](std::size_t limit) { return static_cast<std::uint32_t>(random() % limit); };
    ClusterMap map = map_of(1 + below(20), 1 + below(3), "mno");
    for (int step = 0; step < 40; ++step) {
      const std::string name(1, static_cast<char>('a' + below(26)));
      const std::string there = map.nodes[below(map.nodes.size())].name;
      const Result<ClusterMap> edited = [&]() -> Result<ClusterMap> {
        switch (below(6)) {
          case 0:
            return with_node(map, node_of(name));
          case 1:
            return without_node(map, there);
          case 2:
            return drained(map, there);
          case 3:
            return settled(map);
          default:
            return moved(map, below(map.shards.size()), there);
        }
      }();
      if (!edited) {
        ASSERT_NE(edited.error().message, "");
        continue;
      }
      ASSERT_EQ(mistake_of(edited.value()), "") << "seed " << seed << ", step " << step;
      ASSERT_EQ(edited.value().version, map.version + 1);
      ASSERT_EQ(edited.value().splits(), map.splits());
      map = edited.value();
    }
  }
}

TEST(MapHistoryTest, OfRacingEditsExactlyOneWinsForWhoeverReads) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random{seed};
    std::vector<std::pair<std::string, std::string>> topic;
    const auto write = [&topic](const ClusterMap& map, std::uint64_t writer) {
      topic.emplace_back(map_key(map.version, writer), to_json(map));
    };
    write(map_of(3, 2, "abc"), 1);
    // Each writer edits the map in force at its position of the topic; its edit is appended at the end.
    struct Writer {
      MapHistory history;
      std::size_t read = 0;
      int won = 0;
      std::string last;
    };
    std::vector<Writer> writers(3);
    int written = 0;
    for (int step = 0; step < 60; ++step) {
      Writer& one = writers[random() % writers.size()];
      if (random() % 3 != 0) {
        for (std::size_t i = random() % 3; i > 0 && one.read < topic.size(); --i) {
          one.history.take(topic[one.read].first, topic[one.read].second);
          ++one.read;
        }
      } else if (one.history.current() != nullptr) {
        const std::string to(1, static_cast<char>('a' + random() % 3));
        if (const Result<ClusterMap> edited =
                moved(*one.history.current(), static_cast<std::uint32_t>(random() % 3), to)) {
          write(edited.value(), 100 + static_cast<std::uint64_t>(++written));
        }
      }
    }
    std::set<std::string> in_force;
    std::vector<std::uint64_t> versions;
    MapHistory all;
    for (const auto& [key, value] : topic) {
      if (all.take(key, value)) {
        versions.push_back(all.current()->version);
      }
    }
    for (std::size_t i = 0; i < versions.size(); ++i) {
      ASSERT_EQ(versions[i], i + 1) << "one of each, in order";
    }
    for (Writer& one : writers) {
      for (; one.read < topic.size(); ++one.read) {
        one.history.take(topic[one.read].first, topic[one.read].second);
      }
      ASSERT_EQ(one.history.key(), all.key());
      ASSERT_EQ(*one.history.current(), *all.current());
    }
    // A reader that starts when old versions are gone finds the same map.
    MapHistory late;
    for (const auto& [key, value] : topic) {
      const std::string prefix = "map/" + std::to_string(all.current()->version);
      late.take(key, key.starts_with(prefix) ? std::optional<std::string_view>{value} : std::nullopt);
    }
    ASSERT_EQ(late.key(), all.key());
  }
}

TEST(MapHistoryTest, WhatIsNoMapIsLeftOutAndSaid) {
  MapHistory history;
  const ClusterMap first = map_of(2, 1, "ab");
  EXPECT_FALSE(history.take("node/a", "{}"));
  EXPECT_FALSE(history.take("map/x/1", to_json(first)));
  EXPECT_FALSE(history.take("map/1", to_json(first)));
  EXPECT_EQ(history.complaint(), "");
  EXPECT_EQ(history.current(), nullptr);
  EXPECT_TRUE(history.take(map_key(1, 0xAB), to_json(first)));
  EXPECT_EQ(history.key(), "map/1/ab");
  EXPECT_FALSE(history.take(map_key(1, 2), to_json(first))) << "the second of a version";
  EXPECT_FALSE(history.take(map_key(1, 0xAB), std::nullopt)) << "what is in force stays so";
  EXPECT_EQ(history.complaint(), "");
  ClusterMap next = moved(first, 0, "b").value();
  EXPECT_FALSE(history.take(map_key(3, 1), to_json(next)));
  EXPECT_EQ(history.complaint(), "map/3/1: version: differs from the record's key");
  EXPECT_FALSE(history.take(map_key(2, 1), "{}"));
  EXPECT_EQ(history.complaint(), "map/2/1: version: is missing");
  next.cluster = 7;
  EXPECT_FALSE(history.take(map_key(2, 1), to_json(next)));
  EXPECT_EQ(history.complaint(), "map/2/1: cluster: is the id of another cluster");
  EXPECT_EQ(*history.current(), first);
}

TEST(MapHistoryTest, ShardsStayWhereTheyAre) {
  const ClusterMap first = map_of(3, 2, "abc");
  const auto refused = [&first](const std::function<void(ClusterMap&)>& change) {
    MapHistory history;
    EXPECT_TRUE(history.take(map_key(1, 1), to_json(first)));
    ClusterMap next = moved(first, 0, "b").value();
    change(next);
    EXPECT_EQ(mistake_of(next), "");
    EXPECT_FALSE(history.take(map_key(2, 2), to_json(next)));
    EXPECT_EQ(*history.current(), first);
    EXPECT_TRUE(history.take(map_key(2, 3), to_json(moved(first, 0, "b").value())));
    return history.complaint();
  };
  const std::string why = "map/2/2: shards: boundaries or log partitions differ from the previous map";
  EXPECT_EQ(refused([](ClusterMap& map) { map.shards[1].from += "x"; }), why);
  EXPECT_EQ(refused([](ClusterMap& map) { map.shards[1].partition = 7; }), why);
  EXPECT_EQ(refused([](ClusterMap& map) { map.shards.pop_back(); }), why);
}

TEST(MapHistoryTest, KeysTellNodesFromMaps) {
  EXPECT_EQ(presence_key("a"), "node/a");
  EXPECT_EQ(node_of_key("node/a.b"), "a.b");
  EXPECT_EQ(node_of_key("map/1/1"), "");
}

TEST(ShardSplitsTest, EvenOnesCutPrintableKeys) {
  EXPECT_THAT(even_splits(1), IsEmpty());
  EXPECT_THAT(even_splits(2), ElementsAre("P"));
  for (const std::uint32_t shards : {3U, 24U, 94U, 100U, kMostShards}) {
    const std::vector<std::string> splits = even_splits(shards);
    ASSERT_EQ(splits.size(), shards - 1);
    EXPECT_TRUE(std::ranges::is_sorted(splits, std::ranges::less_equal{})) << "each above the one before";
    EXPECT_GT(splits.front(), "!");
  }
}

TEST(ShardSplitsTest, OfASampleAreShortAndHaveAsManyKeysInEachShard) {
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) {
    keys.push_back("user" + std::to_string(1000 + i));
  }
  std::shuffle(keys.begin(), keys.end(), std::mt19937{1});
  keys.push_back("user1000");
  const std::vector<std::string> splits = splits_of_sample(keys, 4).value();
  EXPECT_THAT(splits, ElementsAre("user125", "user15", "user175"));
  EXPECT_THAT(splits_of_sample({"a", "b", "ba"}, 3).value(), ElementsAre("b", "ba"));
  EXPECT_EQ(splits_of_sample({"a", "a"}, 2).error().message, "has 1 different keys, too few for 2 shards");
}

}  // namespace
}  // namespace mxkv::server

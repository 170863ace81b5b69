// Counts by prefix in a cluster: they go over all shards, and look as on one server, whichever node is asked and
// wherever the shards are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/server/net/peers/routed_nodes.hpp"

namespace mxkv::server::test {
namespace {

Nodes::Kinds split_at(std::vector<std::string> splits) {
  return {{{.splits = std::move(splits), .workers = 2, .cluster = {.patience_ms = 20'000}}}};
}

void store(const RoutedNode& node, const std::vector<std::string>& keys) {
  BlockingClient client{node.port()};
  for (const std::string& key : keys) {
    EXPECT_EQ(client.ask(set(key, "v")), "STORED\r\n");
  }
}

/// Stores keys with a prefix that replies show in base64: "b\1:a" and "b\1:x".
void store_bytes(const RoutedNode& node) {
  BlockingClient client{node.port()};
  EXPECT_EQ(client.ask("ms YgE6YQ== 1 b\r\nv\r\nms YgE6eA== 1 b\r\nv\r\n"), "HD\r\nHD\r\n");
}

/// All pages of mc with D.
struct Pages {
  std::string lines;  ///< of prefixes
  std::uint64_t single_items = 0;
  std::uint64_t single_bytes = 0;
  std::uint64_t most = 0;  ///< prefixes of a page

  friend bool operator==(const Pages& one, const Pages& other) {
    return one.lines == other.lines && one.single_items == other.single_items &&
           one.single_bytes == other.single_bytes;
  }
  friend void PrintTo(const Pages& pages, std::ostream* out) {
    *out << pages.lines << "K" << pages.single_items << " B" << pages.single_bytes;
  }
};

Pages follow(BlockingClient& client, const std::string& line) {
  Pages all;
  std::string cursor;
  for (int pages = 0; pages < 200; ++pages) {
    const std::string page = client.ask(line + (cursor.empty() ? "" : " G" + cursor) + "\r\n");
    const std::size_t end = page.rfind("EN A");
    if (end == std::string::npos) {
      ADD_FAILURE() << line << ": " << page;
      return all;
    }
    all.lines += page.substr(0, end);
    const std::size_t singles = page.find(" K", end) + 2;
    all.most = std::max<std::uint64_t>(all.most, std::stoull(page.substr(end + 4)));
    all.single_items += std::stoull(page.substr(singles));
    all.single_bytes += std::stoull(page.substr(page.find(" B", singles) + 2));
    const std::size_t at = page.find(" G", singles);
    if (at == std::string::npos) {
      return all;
    }
    cursor = page.substr(at + 2, page.find('\r', at) - at - 2);
  }
  ADD_FAILURE() << line << ": its cursors lead nowhere";
  return all;
}

/// Keys of which those with one prefix lie in all three shards.
class ForwardedPrefixes : public testing::Test {
 protected:
  void store_keys() {
    store(nodes[0],
          {"a:1", "a:2", "plain", "user:a1", "user:a2", "user:m5", "user:n:1", "user:z", "zoo", "zz:1"});
  }
  void expect_all(const char* how) {
    for (std::size_t node = 0; node < 3; ++node) {
      SCOPED_TRACE(std::string{how} + ", at node " + std::to_string(node));
      BlockingClient client{nodes[node].port()};
      EXPECT_EQ(client.ask("mc - D: e\r\n"),
                "HD ka: A2 B8\r\nHD kuser: A5 B40\r\nHD kzz: A1 B5\r\nEN A3 K2 B10\r\n");
      EXPECT_EQ(client.ask("mc - D: e Ox\r\n"),
                "HD ka: A2 B8 Ox\r\nHD kuser: A5 B40 Ox\r\nHD kzz: A1 B5 Ox\r\nEN A3 K2 B10 Ox\r\n");
      EXPECT_EQ(client.ask("mc - D: k\r\n"), "HD ka:\r\nHD kuser:\r\nHD kzz:\r\nEN A3 K2 B10\r\n");
      EXPECT_EQ(client.ask("mc user:a2 Huser:n:1 i D: e\r\n"), "HD kuser: A3 B25\r\nEN A1 K0 B0\r\n");
      EXPECT_EQ(client.ask("mc use p D: e\r\n"), "HD kuser: A5 B40\r\nEN A1 K0 B0\r\n");
      EXPECT_EQ(client.ask("mc user: p D: e\r\n"), "HD kuser:n: A1 B9\r\nEN A1 K4 B31\r\n");
      EXPECT_EQ(client.ask("mc user:b Huser:q D: e A1\r\n"), "HD kuser: A2 B17\r\nEN A1 K0 B0\r\n");
    }
  }

  Nodes nodes{split_at({"user:m", "user:t"})};
};

TEST_F(ForwardedPrefixes, AreCountedOverAllShardsWithOneLineEach) {
  store_keys();
  expect_all("each node has a shard");
}

TEST_F(ForwardedPrefixes, AreTheSameWhereOneNodeHasAllShards) {
  for (std::uint32_t shard = 0; shard < 3; ++shard) {
    nodes.give(shard, 1);
  }
  store_keys();
  expect_all("one node has all");
}

TEST_F(ForwardedPrefixes, ALockedCountByPrefixIsRefusedAsOnOneServer) {
  BlockingClient client{nodes[1].port()};
  EXPECT_EQ(client.ask("mc - D: X\r\n"), "CLIENT_ERROR X excludes D\r\n");
}

TEST_F(ForwardedPrefixes, PagesHaveOneLimitForAllShardsAndLoseNoPrefix) {
  store_keys();
  for (std::size_t node = 0; node < 3; ++node) {
    for (const unsigned limit : {1U, 2U, 3U}) {
      SCOPED_TRACE(std::to_string(node) + " A" + std::to_string(limit));
      BlockingClient client{nodes[node].port()};
      const Pages pages = follow(client, "mc - D: e A" + std::to_string(limit));
      EXPECT_EQ(pages.lines, "HD ka: A2 B8\r\nHD kuser: A5 B40\r\nHD kzz: A1 B5\r\n");
      EXPECT_EQ(pages.single_items, 2U);
      EXPECT_LE(pages.most, limit);
    }
  }
}

TEST_F(ForwardedPrefixes, AShardWithoutAnOwnerIsNamed) {
  Nodes impatient{
      Nodes::Kinds{{{.splits = {"user:m", "user:t"}, .workers = 2, .cluster = {.patience_ms = 1}}}}};
  store(impatient[0], {"a:1", "user:a", "user:n", "user:z"});
  impatient[0].forget(2);
  BlockingClient client{impatient[0].port()};
  EXPECT_EQ(client.ask("mc - D: e\r\n"), "SERVER_ERROR shard 2 has no owner\r\n");
  EXPECT_EQ(client.ask("mc a Huser:t D: e\r\n"), "HD ka: A1 B4\r\nHD kuser: A2 B14\r\nEN A2 K0 B0\r\n");
}

/// Random keys of few letters, of which several are delimiters, and bounds of all kinds.
class PrefixesBesideOneServer : public testing::Test {
 protected:
  std::string text(std::size_t most) {
    std::string made;
    for (std::size_t left = 1 + dice() % most; left > 0; --left) {
      made += "abc:;"[dice() % 5];
    }
    return made;
  }
  /// A range of mc, and how it is counted.
  std::string line() {
    std::string made = "mc ";
    switch (dice() % 4) {
      case 0:
        made += "-";
        break;
      case 1:
        made += text(3) + " p";
        break;
      case 2:
        made += text(3) + (dice() % 2 == 0 ? " o" : "");
        break;
      default:
        made += text(3) + " H" + text(3) + (dice() % 2 == 0 ? " i" : "");
        break;
    }
    made += dice() % 4 == 0 ? " D::" : dice() % 4 == 0 ? " D;" : " D:";
    return made + (dice() % 3 == 0 ? " k" : " e");
  }

  std::mt19937 dice{7};
};

TEST_F(PrefixesBesideOneServer, CountsAndPagesAgreeWhateverTheShardsAndBounds) {
  RoutedNode single{{.splits = {}, .workers = 2}};
  single.own(0);
  std::vector<std::string> keys;
  for (int i = 0; i < 150; ++i) {
    keys.push_back(text(6));
  }
  keys.insert(keys.end(), {"b:", "b:a", "b::", "b:;c", "b:c:a", "b:\xFF", "b;", "b;:a"});
  store(single, keys);
  store_bytes(single);
  BlockingClient alone{single.port()};
  const std::vector<std::vector<std::string>> all_splits{{"b:", "b;"}, {"b:a", "b:b:"}, {"a:", "c"},
                                                         {":", ";"},   {"b", "b:\xFF"}, {"b\1:m", "c"}};
  for (const std::vector<std::string>& splits : all_splits) {
    Nodes nodes{split_at(splits)};
    store(nodes[0], keys);
    store_bytes(nodes[0]);
    for (int i = 0; i < 50; ++i) {
      const std::string asked = line();
      SCOPED_TRACE(asked + ", shards begin at " + splits[0] + " " + splits[1]);
      const Pages wanted = follow(alone, asked);
      BlockingClient client{nodes[dice() % 3].port()};
      EXPECT_EQ(follow(client, asked), wanted);
      ASSERT_EQ(follow(client, asked + " A" + std::to_string(1 + dice() % 4)), wanted);
    }
  }
}

}  // namespace
}  // namespace mxkv::server::test

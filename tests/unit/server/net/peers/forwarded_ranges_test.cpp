// Ranges in a cluster: following the cursors yields all keys of all nodes, each once and in order, whichever node
// is asked. Counts and deletes cover all shards. Atomic operations must lie in one shard.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/unit/server/net/peers/routed_nodes.hpp"

namespace mxkv::server::test {
namespace {

std::string range_spans(int one, int other, const std::string& advice = "") {
  return "SERVER_ERROR range spans shards " + std::to_string(one) + " and " + std::to_string(other) + ": " +
         advice + "send one for the keys of each shard\r\n";
}

/// Keys of all three shards: "a00" to "a19", "hx00" to "hx19", which begin with the first key of a
/// shard, and "p", which is the first key of a shard.
class ForwardedRanges : public testing::Test {
 protected:
  ForwardedRanges() {
    BlockingClient client{nodes[1].port()};
    for (const char* prefix : {"a", "g", "hx", "o", "q"}) {
      for (int i = 0; i < 20; ++i) {
        keys.push_back(std::string(prefix) + (i < 10 ? "0" : "") + std::to_string(i));
      }
    }
    keys.insert(keys.begin() + 80, "p");
    std::string requests;
    for (const std::string& key : keys) {
      requests += set(key, "value of " + key);
    }
    std::string stored;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      stored += "STORED\r\n";
    }
    EXPECT_EQ(client.ask(requests), stored);
  }

  static std::string word_behind(const std::string& page, std::string_view before) {
    const std::size_t at = page.rfind(before);
    const std::size_t begin = at + before.size();
    return at == std::string::npos ? "" : page.substr(begin, page.find_first_of(" \r", begin) - begin);
  }
  /// The keys of a page: its lines with this prefix.
  static void take_keys(const std::string& page, std::string_view before, std::vector<std::string>& all) {
    for (std::size_t at = 0; at < page.size(); at = page.find('\n', at) + 1) {
      const std::string_view line = std::string_view{page}.substr(at);
      if (const std::size_t key = line.substr(0, line.find('\r')).find(before);
          key != std::string_view::npos) {
        const std::size_t begin = key + before.size();
        all.emplace_back(line.substr(begin, line.find_first_of(" \r", begin) - begin));
      }
    }
  }
  /// All pages of mr, and their number.
  static std::vector<std::string> follow_mr(BlockingClient& client, const std::string& line, int& pages) {
    std::vector<std::string> all;
    std::string cursor;
    for (pages = 0; pages < 200; ++pages) {
      const std::string page = client.ask("mr " + line + (cursor.empty() ? "" : " G" + cursor) + "\r\n");
      take_keys(page, "HD k", all);
      EXPECT_NE(page.find("EN A"), std::string::npos) << page;
      cursor = word_behind(page, " G");
      if (cursor.empty()) {
        break;
      }
    }
    return all;
  }
  static std::vector<std::string> follow_scan(BlockingClient& client, const std::string& verb,
                                              const std::string& start, const std::string& behind) {
    std::vector<std::string> all;
    std::string from = start;
    for (int pages = 0; pages < 200 && !from.empty(); ++pages) {
      const std::string page = client.ask(verb + " " + from + " " + behind + "\r\n");
      EXPECT_TRUE(page.ends_with("END\r\n")) << page;
      take_keys(page, "VALUE ", all);
      const std::string cursor = word_behind(page, "CURSOR ");
      from = cursor.empty() ? "" : "cursor=" + cursor;
    }
    return all;
  }
  [[nodiscard]] std::vector<std::string> some(std::size_t first, std::size_t last, bool reverse) const {
    std::vector<std::string> wanted{keys.begin() + static_cast<std::ptrdiff_t>(first),
                                    keys.begin() + static_cast<std::ptrdiff_t>(last)};
    if (reverse) {
      std::ranges::reverse(wanted);
    }
    return wanted;
  }

  Nodes nodes{{.patience_ms = 20'000}};
  std::vector<std::string> keys;
};

TEST_F(ForwardedRanges, PagesOfMrLeadOverAllNodes) {
  for (std::size_t node = 0; node < 3; ++node) {
    BlockingClient client{nodes[node].port()};
    for (const bool reverse : {false, true}) {
      const std::string r = reverse ? " r" : "";
      for (const char* limit : {"", " A1", " A7", " A20", " A100"}) {
        int pages = 0;
        EXPECT_EQ(follow_mr(client, "-" + r + limit, pages), some(0, 101, reverse)) << node << limit;
        EXPECT_GE(pages, 2);
        EXPECT_EQ(follow_mr(client, "-" + r + " X" + limit, pages), some(0, 101, reverse)) << node << limit;
      }
      int pages = 0;
      EXPECT_EQ(follow_mr(client, (reverse ? "p Hg10 i" : "g10 Hp i") + r + " A9", pages),
                some(30, 81, reverse));
      EXPECT_EQ(follow_mr(client, (reverse ? "p Hg10 o" : "g10 Hp o") + r + " A9", pages),
                reverse ? some(31, 80, true) : some(31, 80, false));
      EXPECT_EQ(follow_mr(client, "h p" + r + " A3", pages), some(40, 60, reverse));
      EXPECT_EQ(follow_mr(client, "q p" + r, pages), some(81, 101, reverse));
    }
  }
}

TEST_F(ForwardedRanges, PagesOfScanLeadOverAllNodes) {
  for (std::size_t node = 0; node < 3; ++node) {
    BlockingClient client{nodes[node].port()};
    EXPECT_EQ(follow_scan(client, "scan", "a", "13 cursor"), some(0, 101, false));
    EXPECT_EQ(follow_scan(client, "scan", "- +", "13 cursor reverse"), some(0, 101, true));
    EXPECT_EQ(follow_scan(client, "scans", "(a05 (q05", "1000 cursor"), some(6, 86, false));
    EXPECT_EQ(follow_scan(client, "pscan", "hx", "7 cursor"), some(40, 60, false));
    EXPECT_EQ(follow_scan(client, "pscan", "p", "7"), some(80, 81, false));
  }
}

// As at a page's size limit: a client that asked for no cursor gets one if there are more keys below its limit.
TEST_F(ForwardedRanges, AScanWithoutCursorsGetsOneAtTheEndOfItsNodesShards) {
  for (std::size_t node = 0; node < 3; ++node) {
    BlockingClient client{nodes[node].port()};
    EXPECT_EQ(follow_scan(client, "scan", "a", "1000"), some(0, 101, false));
    const std::string page = client.ask("scan g10 10\r\n");
    EXPECT_EQ(page.find("CURSOR"), std::string::npos);
    EXPECT_EQ(client.ask("scan g10 11 keys\r\n").substr(0, 9), "KEY g10\r\n");
    EXPECT_NE(client.ask("scan g10 11 keys\r\n").find("KEY g19\r\nCURSOR "), std::string::npos);
    EXPECT_EQ(client.ask("scan q18 10 keys\r\n"), "KEY q18\r\nKEY q19\r\nEND\r\n");
  }
}

TEST_F(ForwardedRanges, ANodeOfAllShardsAnswersAsASingleServer) {
  for (std::uint32_t shard = 0; shard < 3; ++shard) {
    nodes[1].own(shard);
    nodes.give(shard, 1);
  }
  BlockingClient client{nodes[1].port()};
  EXPECT_EQ(client.ask("mc - e\r\n"), "HD A40 B640\r\n");  // its store has only the keys of its former shard
  EXPECT_EQ(client.ask("scan a 100 keys\r\n").find("CURSOR"), std::string::npos);
  BlockingClient other{nodes[0].port()};
  EXPECT_EQ(other.ask("mc - e\r\n"), "HD A40 B640\r\n");
  EXPECT_EQ(other.ask("scan a 100 keys\r\n"), client.ask("scan a 100 keys\r\n"));
  EXPECT_EQ(other.ask("mx hx00 Hhx10 X Oz\r\n"), "HD A10 Oz\r\n");
}

TEST_F(ForwardedRanges, CountsGoOverAllShards) {
  for (std::size_t node = 0; node < 3; ++node) {
    BlockingClient client{nodes[node].port()};
    EXPECT_EQ(client.ask("mc a Hh00 e Ocount\r\n"), "HD A40 B600 Ocount\r\n");
    EXPECT_EQ(client.ask("mc - e\r\n"), "HD A101 B1551\r\n");
    EXPECT_EQ(client.ask("mc hx10 Hp i e\r\n"), "HD A31 B481\r\n");
    EXPECT_EQ(
        client.ask(set("b1", "18446744073709551615") + set("i1", "5") + set("r1", "7") + "mc - Msnx\r\n"),
        "STORED\r\nSTORED\r\nSTORED\r\nHD A104 B1579 N3 Ms18446744073709551627 Mn5 "
        "Mx18446744073709551615\r\n");
    EXPECT_EQ(client.ask("md b1\r\nmd i1\r\nmd r1\r\n"), "HD\r\nHD\r\nHD\r\n");
  }
}

TEST_F(ForwardedRanges, DeletesGoOverAllShardsPageByPage) {
  BlockingClient client{nodes[0].port()};
  std::string cursor;
  int removed = 0;
  for (int pages = 0; pages < 200; ++pages) {
    const std::string page =
        client.ask("mx a10 Hq10 A7 Opage" + (cursor.empty() ? "" : " G" + cursor) + "\r\n");
    ASSERT_TRUE(page.starts_with("HD A")) << page;
    EXPECT_TRUE(page.ends_with(" Opage\r\n")) << page;
    removed += std::stoi(page.substr(4));
    cursor = word_behind(page, " G");
    if (cursor.empty()) {
      break;
    }
    EXPECT_LE(std::stoi(page.substr(4)), 7) << "one limit for all shards";
  }
  EXPECT_EQ(removed, 81);
  EXPECT_EQ(client.ask("mc - e\r\n"), "HD A20 B300\r\n");
  EXPECT_EQ(client.ask("mx - q\r\nmc - e\r\n"), "HD A0 B0\r\n");
}

// More keys than fit in a page; some have arbitrary bytes, flags and times to live.
TEST_F(ForwardedRanges, DumpsListEachKeyOnceWhicheverNodeIsAsked) {
  std::string requests;
  for (int i = 0; i < 700; ++i) {
    requests += "ms hz" + std::to_string(1000 + i) + " 1 F7 T3600\r\nx\r\n";
  }
  BlockingClient{nodes[0].port()}.ask(requests + "ms /wAB 1 b\r\nx\r\n");
  std::string mgdump;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    mgdump += "mg " + keys[i] + "\r\n";
    for (int more = 0; keys[i] == "hx19" && more < 700; ++more) {
      mgdump += "mg hz" + std::to_string(1000 + more) + "\r\n";
    }
  }
  mgdump += "mg /wAB b\r\nEN\r\n";
  for (std::size_t node = 0; node < 3; ++node) {
    BlockingClient client{nodes[node].port()};
    EXPECT_EQ(client.ask("lru_crawler mgdump all\r\n"), mgdump) << node;
    const std::string cachedump = client.ask("stats cachedump 1 0\r\n");
    EXPECT_TRUE(cachedump.starts_with("ITEM a00 [12 b; 0 s]\r\n")) << cachedump.substr(0, 80);
    EXPECT_EQ(std::ranges::count(cachedump, '\n'), 802) << "keys of bytes have no line there";
    EXPECT_EQ(client.ask("stats cachedump 1 2\r\n"),
              "ITEM a00 [12 b; 0 s]\r\nITEM a01 [12 b; 0 s]\r\nEND\r\n");
    const std::string metadump = client.ask("lru_crawler metadump all\r\n");
    EXPECT_EQ(std::ranges::count(metadump, '\n'), 803);
    EXPECT_TRUE(metadump.starts_with("key=a00 exp=-1 la=")) << metadump.substr(0, 80);
    const std::string line = metadump.substr(metadump.find("key=hz1000 exp="), 200);
    EXPECT_NE(line.find(" fetch=no cls=1 size=27 flags=7\n"), std::string::npos) << line;
    EXPECT_EQ(client.ask("get a00\r\n"), "VALUE a00 0 12\r\nvalue of a00\r\nEND\r\n");
  }
}

TEST_F(ForwardedRanges, AnAtomicOperationMustLieInOneShard) {
  nodes.give(2, 1);
  nodes[2].know(2, nodes[1]);
  for (std::size_t node = 0; node < 3; ++node) {
    BlockingClient client{nodes[node].port()};
    EXPECT_EQ(client.ask("mx o00 Hq X\r\n"), range_spans(1, 2, "omit X, or "));
    EXPECT_EQ(client.ask("mt o00 Hq T30\r\n"), range_spans(1, 2));
    EXPECT_EQ(client.ask("mc o00 Hq X\r\n"), range_spans(1, 2, "omit X, or "));
  }
}

TEST_F(ForwardedRanges, TheOwnerExecutesAtomicOperations) {
  for (std::size_t node = 0; node < 3; ++node) {
    BlockingClient client{nodes[node].port()};
    EXPECT_EQ(client.ask("mc a Hh e\r\n"), client.ask("mc - Hh e\r\n"));
    EXPECT_EQ(client.ask("mc hx p e\r\n"), "HD A20 B340\r\n");
    EXPECT_EQ(client.ask("mx o00 Hq X\r\n"), range_spans(1, 2, "omit X, or "));
    EXPECT_EQ(client.ask("mt o00 Hq T30\r\n"), range_spans(1, 2));
    EXPECT_EQ(client.ask("mt q00 Hq05 T300\r\n"), "HD A5\r\n");
    const std::string first = "q0" + std::to_string(5 + node);
    EXPECT_EQ(client.ask("mx " + first + " H" + first + " i X\r\n"), "HD A1\r\n");
    EXPECT_EQ(client.ask("get " + first + "\r\n"), "END\r\n");
  }
}

TEST_F(ForwardedRanges, WaysThatChangeLoseNoKey) {
  std::atomic<int> left{3};
  std::vector<std::thread> clients;
  for (std::size_t node = 0; node < 3; ++node) {
    clients.emplace_back([&, node] {
      BlockingClient client{nodes[node].port()};
      for (int round = 0; round < 30; ++round) {
        int pages = 0;
        const bool reverse = round % 2 == 1;
        EXPECT_EQ(follow_mr(client, reverse ? "- r A9" : "- A9", pages), some(0, 101, reverse));
        EXPECT_EQ(follow_scan(client, "scan", "- +", reverse ? "13 cursor reverse" : "13 cursor"),
                  some(0, 101, reverse));
        EXPECT_EQ(client.ask("mc hx p e\r\nmc q p e\r\nmc a p e\r\n"),
                  "HD A20 B340\r\nHD A20 B300\r\nHD A20 B300\r\n");
        EXPECT_EQ(client.ask("mt hx p T0\r\nmx hy p\r\nmt q p T0 q\r\n"), "HD A20\r\nHD A0\r\n");
      }
      --left;
    });
  }
  nodes.change_ways_while(left);
  for (std::thread& client : clients) {
    client.join();
  }
}

TEST_F(ForwardedRanges, APeerIsSentToTheOwnerOfARangesBegin) {
  BlockingClient peer{nodes[0].peer_port()};
  EXPECT_EQ(peer.ask("mr hx p\r\n"), "SERVER_ERROR moved " + nodes[1].peer_address() + "\r\n");
  EXPECT_EQ(peer.ask("scan q 10\r\n"), "SERVER_ERROR moved " + nodes[2].peer_address() + "\r\n");
  EXPECT_EQ(peer.ask("mx q p\r\n"), "SERVER_ERROR moved " + nodes[2].peer_address() + "\r\n");
}

}  // namespace
}  // namespace mxkv::server::test

// Random streams of requests, pipelined and cut anywhere: a node that owns none or a part of the keys replies byte for
// byte like a node that owns all of them.
#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/server/net/peers/request_stream.hpp"
#include "tests/unit/server/net/peers/routed_nodes.hpp"

namespace mxkv::server::test {
namespace {

/// Parts of replies that depend on the time, or on other items of the server.
std::string without_times(const std::string& replies) {
  static const std::regex kFlags{"( [tlc])-?[0-9]+"};
  static const std::regex kCasValues{"(VALUE [^ \r]+ [0-9]+ [0-9]+) [0-9]+\r"};
  static const std::regex kDebug{"(exp|la|cas)=-?[0-9]+"};
  std::string told = std::regex_replace(replies, kFlags, "$1#");
  told = std::regex_replace(told, kCasValues, "$1 #\r");
  return std::regex_replace(told, kDebug, "$1=#");
}

std::string word_behind(const std::string& replies, const std::string& before) {
  const std::size_t at = replies.rfind(before);
  const std::size_t begin = at + before.size();
  return at == std::string::npos ? "" : replies.substr(begin, replies.find_first_of(" \r", begin) - begin);
}

/// The replies to any requests, sent in pieces.
std::string ask_in_pieces(BlockingClient& client, RequestStream& dice, std::string_view requests) {
  const std::string last = "ms \x7f 0 Olast\r\n\r\n";
  const std::string all = std::string{requests} + last;
  for (std::string_view rest = all; !rest.empty();) {
    const std::size_t part =
        std::min<std::size_t>(rest.size(), 1 + dice.below(dice.below(4) == 0 ? 40 : 5000));
    client.send(rest.substr(0, part));
    rest.remove_prefix(part);
  }
  return client.read_to("HD Olast\r\n");
}

/// Streams of each kind; MXKV_STREAMS overrides the number.
unsigned seeds() {
  const char* const more = std::getenv("MXKV_STREAMS");
  return more == nullptr ? 3 : static_cast<unsigned>(std::atoi(more));
}

/// Runs one stream on both. Returns false if a reply differed.
bool run_stream(unsigned seed, const std::string& prefix, RequestStream::Kinds kinds, std::uint16_t alone,
                std::uint16_t routed) {
  RequestStream stream{seed, prefix, kinds};
  RequestStream cuts{seed + 1000, prefix, kinds};
  BlockingClient direct{alone};
  BlockingClient other{routed};
  for (int round = 0; round < 25; ++round) {
    std::vector<std::string> requests(round % 3 == 0 ? 1 : 25);
    std::string pipeline;
    for (std::string& request : requests) {
      request = stream.next();
      pipeline += request;
    }
    const std::string raw = ask_in_pieces(direct, cuts, pipeline);
    const std::string got = ask_in_pieces(other, cuts, pipeline);
    const std::string wanted = without_times(raw);
    EXPECT_EQ(without_times(got), wanted) << "seed " << seed << " round " << round << "\n"
                                          << pipeline.substr(0, 3000);
    if (without_times(got) != wanted || direct.closed()) {
      return without_times(got) == wanted;
    }
    if (const std::string cursor = word_behind(raw, "CURSOR "); !cursor.empty()) {
      stream.know_cursor(cursor, false);
    }
    if (const std::string cursor = word_behind(raw, " G"); !cursor.empty()) {
      stream.know_cursor(cursor, true);
    }
  }
  return true;
}

RoutedNode::Options alone_options() {
  RoutedNode::Options options{.splits = {"h", "p"}};
  options.ranges.time_ns = 60'000'000'000;
  return options;
}

TEST(ForwardedStreams, ANodeWithoutKeysAnswersAsOneThatHasAll) {
  for (unsigned seed = 1; seed <= seeds(); ++seed) {
    RoutedNode alone{alone_options()};
    RoutedNode owner{alone_options()};
    RoutedNode asked{alone_options()};
    for (std::uint32_t shard = 0; shard < 3; ++shard) {
      alone.own(shard);
      owner.own(shard);
      asked.know(shard, owner);
    }
    ASSERT_TRUE(run_stream(seed, "", {}, alone.port(), asked.port()));
  }
}

TEST(ForwardedStreams, ANodeOfSomeKeysAnswersAsOneThatHasAll) {
  for (unsigned seed = 101; seed <= 100 + seeds(); ++seed) {
    RoutedNode alone{alone_options()};
    for (std::uint32_t shard = 0; shard < 3; ++shard) {
      alone.own(shard);
    }
    Nodes nodes;
    ASSERT_TRUE(
        run_stream(seed, "", {.ranges = false, .batches = false}, alone.port(), nodes[seed % 3].port()));
  }
}

/// Six clients, two of each node, beside one node that owns all keys; `meanwhile(left)` runs until all clients are done.
template <class Meanwhile>
void expect_six_answered(unsigned seed, Nodes& nodes, const Meanwhile& meanwhile) {
  RoutedNode alone{alone_options()};
  for (std::uint32_t shard = 0; shard < 3; ++shard) {
    alone.own(shard);
  }
  std::atomic<int> right{0};
  std::atomic<int> left{6};
  std::vector<std::thread> clients;
  for (unsigned id = 0; id < 6; ++id) {
    clients.emplace_back([&, id] {
      const std::string prefix{static_cast<char>("akz"[id % 3]), static_cast<char>('0' + id)};
      const RequestStream::Kinds kinds{.ranges = false, .batches = true, .flushes = false};
      right += run_stream(seed * 10 + id, prefix, kinds, alone.port(), nodes[id / 2].port()) ? 1 : 0;
      --left;
    });
  }
  meanwhile(left);
  for (std::thread& client : clients) {
    client.join();
  }
  ASSERT_EQ(right, 6);
}

TEST(ForwardedStreams, ManyClientsAreAnsweredAsByOneNode) {
  for (unsigned seed = 201; seed <= 200 + seeds() && !HasFailure(); ++seed) {
    Nodes nodes;
    expect_six_answered(seed, nodes, [](const std::atomic<int>& /*left*/) {});
  }
}

// The route to a shard changes all the time, and its owner is unreachable for moments: no request is lost, executed twice, or
// answered to another client.
TEST(ForwardedStreams, WaysThatChangeChangeNoAnswer) {
  for (unsigned seed = 301; seed <= 300 + seeds() && !HasFailure(); ++seed) {
    Nodes nodes{{.patience_ms = 20'000}};
    expect_six_answered(seed, nodes,
                        [&nodes](const std::atomic<int>& left) { nodes.change_ways_while(left); });
  }
}

}  // namespace
}  // namespace mxkv::server::test

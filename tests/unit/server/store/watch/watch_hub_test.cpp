// The lines that watchers get. A slow watcher loses lines and learns how many. Counts by prefix.
#include "server/store/watch/watch_hub.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/store/watch/prefix_counts.hpp"
#include "tests/unit/server/durability/text_store.hpp"

namespace mxkv::server::testing {
namespace {

/// The words of a line that describe the event: without its time and number.
std::vector<std::string> told(Watcher& watcher) {
  std::vector<std::string> lines;
  std::string text = watcher.take();
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
    std::string line = text.substr(0, end);
    text.erase(0, end + 1);
    const std::size_t type = line.find("type=");
    lines.push_back(type == std::string::npos ? line : line.substr(type));
  }
  return lines;
}

class WatchedStore : public ::testing::Test {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < store.machine.runtime.worker_count(); ++i) {
      store.store.watch_hub().add_waker(
          {this, [](void* test, runtime::Worker& /*from*/) { ++static_cast<WatchedStore*>(test)->woken; }});
    }
  }

  TextStore store{2};
  int woken = 0;
};

TEST_F(WatchedStore, SendsEachKindToTheWatchersThatWantIt) {
  WatchHub& hub = store.store.watch_hub();
  const auto mutations = hub.add(watched::kMutations, 0);
  const auto fetchers = hub.add(watched::kFetchers, 1);
  const auto deletions = hub.add(watched::kDeletions, 0);
  EXPECT_TRUE(hub.wants(watched::kDeletions));
  EXPECT_FALSE(hub.wants(watched::kEvictions));
  store.ask("set k 0 0 3\r\nabc\r\nget k\r\nget none\r\ndelete k\r\n");
  const auto stored = told(*mutations);
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_TRUE(stored[0].starts_with("type=item_store key=k status=stored cmd=set ttl=0 ")) << stored[0];
  EXPECT_NE(stored[0].find(" size=3"), std::string::npos) << stored[0];
  const auto gone = told(*deletions);
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_TRUE(gone[0].starts_with("type=deleted key=k cmd=delete ")) << gone[0];
  std::vector<std::string> gets;
  for (const std::string& line : told(*fetchers)) {
    gets.push_back(line.substr(0, line.find(" clsid")));
  }
  EXPECT_NE(std::find(gets.begin(), gets.end(), "type=item_get key=k status=found"), gets.end());
  EXPECT_NE(std::find(gets.begin(), gets.end(), "type=item_get key=none status=not_found"), gets.end());
  EXPECT_GE(woken, 3);
}

TEST_F(WatchedStore, SendsNothingToWatchersThatHaveGone) {
  WatchHub& hub = store.store.watch_hub();
  const auto watcher = hub.add(watched::kMutations, 0);
  hub.remove(watcher);
  EXPECT_FALSE(hub.wants(watched::kMutations));
  EXPECT_EQ(hub.watchers(), 0U);
  store.ask("set k 0 0 1\r\nx\r\n");
  EXPECT_TRUE(told(*watcher).empty());
  EXPECT_EQ(hub.sent(), 0U);
}

TEST_F(WatchedStore, TakesAsManyWatchersAsMemcached) {
  WatchHub& hub = store.store.watch_hub();
  std::vector<std::shared_ptr<Watcher>> watchers;
  for (std::size_t i = 0; i < WatchHub::kMostWatchers; ++i) {
    watchers.push_back(hub.add(watched::kFetchers, 0));
    ASSERT_NE(watchers.back(), nullptr);
  }
  EXPECT_EQ(hub.add(watched::kFetchers, 0), nullptr);
  hub.remove(watchers.back());
  EXPECT_NE(hub.add(watched::kFetchers, 0), nullptr);
}

TEST(Watcher, LosesLinesWithoutRoomAndCountsThem) {
  Watcher watcher{watched::kMutations, 0};
  const std::string line = std::string(1023, 'x') + "\n";
  std::size_t kept = 0;
  std::size_t lost = 0;
  for (int i = 0; i < 300; ++i) {
    const Watcher::offered offered = watcher.offer(line);
    EXPECT_EQ(offered == Watcher::offered::kept_wake, i == 0) << "one call is enough until it takes them";
    (offered == Watcher::offered::lost ? lost : kept) += 1;
  }
  EXPECT_EQ(kept, Watcher::kMostBytes / line.size());
  EXPECT_EQ(watcher.take().size(), kept * line.size());
  EXPECT_EQ(watcher.offer("next\n"), Watcher::offered::kept_wake);
  EXPECT_EQ(watcher.take(), "skipped=" + std::to_string(lost) + "\nnext\n");
}

TEST(PrefixCounts, CountTheTextBeforeTheFirstColon) {
  PrefixCounts counts;
  using enum PrefixCounts::command;
  counts.count("user:1:name", hit);
  counts.count("user:2", miss);
  counts.count("user:2", set);
  counts.count("shop:3", remove);
  counts.count("none", hit);
  EXPECT_EQ(counts.text(),
            "PREFIX shop get 0 hit 0 set 0 del 1\r\nPREFIX user get 2 hit 1 set 1 del 0\r\nEND\r\n");
  counts.clear();
  EXPECT_EQ(counts.text(), "END\r\n");
}

TEST(PrefixCounts, AreBounded) {
  PrefixCounts counts;
  for (std::size_t i = 0; i < PrefixCounts::kMost + 10; ++i) {
    counts.count("p" + std::to_string(i) + ":", PrefixCounts::command::set);
  }
  std::size_t lines = 0;
  const std::string text = counts.text();
  for (const char byte : text) {
    lines += byte == '\n' ? 1 : 0;
  }
  EXPECT_EQ(lines, PrefixCounts::kMost + 1);
}

}  // namespace
}  // namespace mxkv::server::testing

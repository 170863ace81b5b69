// What goes of a leaf goes under one latch, and only items that are still there.
#include "server/store/upkeep/leaf_evictions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/server/durability/text_store.hpp"

namespace mxkv::server::testing {
namespace {

class LeafEvictionsTest : public ::testing::Test {
 protected:
  static constexpr unsigned kItems = 20;

  LeafEvictionsTest() {
    for (unsigned n = 0; n < kItems; ++n) {
      set(key(n));
    }
  }
  static std::string key(unsigned n) { return std::string{"k"} + static_cast<char>('a' + n); }
  void set(const std::string& name) { EXPECT_EQ(store.ask("set " + name + " 0 0 1\r\nv\r\n"), "STORED\r\n"); }
  /// The first one.
  [[nodiscard]] ItemNode& leaf() {
    auto* node = static_cast<ItemNode*>(store.store.tree().root().object());
    while (!node->leaf()) {
      node = index::detail::node_of<ItemNode>(node->value(false, index::Position{}));
    }
    return *node;
  }
  [[nodiscard]] std::uint64_t version() { return runtime::OptimisticRead{leaf()}.version(); }
  [[nodiscard]] std::uint64_t total(counter which) const { return store.store.total(which); }
  [[nodiscard]] std::uint64_t in_flight() const {
    return total(counter::seen_started) - total(counter::seen_ended);
  }
  /// Starts to remove each third item.
  void start() {
    index::Entries entries;
    leaf().copy_entries(leaf().meta(), false, entries);
    LeafEvictions removals;
    EXPECT_TRUE(removals.empty());
    for (unsigned n = 0; n < entries.count; n += 3) {
      removals.add(entries.values[n]);
      going.emplace_back(ItemRecord::item(entries.values[n])->key());
    }
    ASSERT_GT(going.size(), 2U) << "some go of the first leaf, and some stay";
    removals.start(leaf(), nullptr, store.machine[0]);
  }
  void expect_gone() {
    const ItemsSeen items = store.items();
    for (unsigned n = 0; n < kItems; ++n) {
      EXPECT_NE(items.contains(key(n)), std::ranges::count(going, key(n)) > 0) << n;
    }
  }

  TextStore store;
  std::vector<std::string> going;
};

TEST_F(LeafEvictionsTest, AllGoUnderOneLatch) {
  const std::uint64_t before = version();
  start();
  EXPECT_EQ(in_flight(), going.size());
  store.run_until_idle();
  EXPECT_EQ(version(), before + 2) << "one change of the leaf";
  expect_gone();
  EXPECT_EQ(total(counter::evictions), going.size());
  EXPECT_EQ(total(counter::items_removed), going.size());
  EXPECT_EQ(total(counter::evicted_unfetched), going.size());
  EXPECT_EQ(in_flight(), 0U);
}

TEST_F(LeafEvictionsTest, AnItemThatWentMeanwhileIsNotCounted) {
  start();
  store.ask("delete " + going[1] + "\r\n");
  store.run_until_idle();
  expect_gone();
  EXPECT_EQ(total(counter::evictions) + total(counter::delete_hits), going.size());
  EXPECT_EQ(total(counter::items_removed), going.size());
  EXPECT_EQ(in_flight(), 0U);
}

TEST_F(LeafEvictionsTest, ExpiredItemsCountAsExpired) {
  ASSERT_EQ(store.ask("touch " + key(0) + " 1\r\n"), "TOUCHED\r\n");
  store.machine.clock.advance_us(5'000'000);
  start();
  store.run_until_idle();
  expect_gone();
  EXPECT_EQ(total(counter::evictions), going.size() - 1);
  EXPECT_EQ(total(counter::reclaimed), 1U);
}

TEST_F(LeafEvictionsTest, ALeafThatAllLeaveIsUnlinked) {
  for (unsigned n = 0; n < 1'000; ++n) {
    set("m" + std::to_string(100'000 + n));
  }
  store.run_until_idle();
  const std::uint64_t unlinked = store.store.tree().unlinks().leaves.load();
  auto& second = *index::detail::node_of<ItemNode>(leaf().right());
  index::Entries entries;
  second.copy_entries(second.meta(), false, entries);
  LeafEvictions removals;
  for (unsigned n = 0; n < entries.count; ++n) {
    removals.add(entries.values[n]);
  }
  removals.start(second, nullptr, store.machine[0]);
  store.run_until_idle();
  EXPECT_EQ(total(counter::evictions), entries.count);
  EXPECT_EQ(store.store.tree().unlinks().leaves.load(), unlinked + 1);
}

}  // namespace
}  // namespace mxkv::server::testing

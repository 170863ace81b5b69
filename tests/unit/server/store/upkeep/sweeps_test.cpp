// Expired items go without a request, and sparse memory is given back, while live items do not change.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/durability/text_store.hpp"

namespace mxkv::server::testing {
namespace {

void keep_up(TextStore& store, bool defragments) {
  store.store.set_upkeep({.defragments = defragments, .evicts = false});
  store.ends_round = [&store](std::size_t worker) { store.store.maintain(store.machine[worker]); };
}

void pass(TextStore& store, std::uint64_t seconds) {
  for (std::uint64_t step = 0; step < seconds * 10; ++step) {
    store.machine.clock.advance_us(100'000);
    for (std::size_t i = 0; i < store.machine.runtime.worker_count(); ++i) {
      store.step(i);
    }
  }
}

TEST(ExpirySweep, RemovesExpiredItemsThatNoClientAsksFor) {
  TextStore store{2};
  keep_up(store, false);
  for (int i = 0; i < 500; ++i) {
    const std::string seconds = i % 2 == 0 ? "30" : "0";
    ASSERT_EQ(store.ask("set k" + std::to_string(i) + " 0 " + seconds + " 1\r\nx\r\n"), "STORED\r\n");
  }
  EXPECT_TRUE(store.store.sweep().expects());
  pass(store, 120);
  EXPECT_EQ(store.store.total(counter::swept_items), 250U);
  EXPECT_EQ(store.store.total(counter::items_added) - store.store.total(counter::items_removed), 250U);
  EXPECT_EQ(store.items().size(), 250U);
  EXPECT_FALSE(store.store.sweep().expects()) << "nothing else expires";
}

TEST(ExpirySweep, ComesAgainForItemsThatExpireLater) {
  TextStore store{2};
  keep_up(store, false);
  ASSERT_EQ(store.ask("set early 0 30 1\r\nx\r\n"), "STORED\r\n");
  ASSERT_EQ(store.ask("set late 0 1000 1\r\nx\r\n"), "STORED\r\n");
  pass(store, 120);
  EXPECT_EQ(store.store.total(counter::swept_items), 1U);
  EXPECT_TRUE(store.store.sweep().expects());
  pass(store, 1100);
  EXPECT_EQ(store.store.total(counter::swept_items), 2U);
}

TEST(ExpirySweep, ComesAgainForItemsThatExpireLaterInTheFirstLeavesOfMany) {
  TextStore store{2};
  keep_up(store, false);
  constexpr int kItems = 40'000;  // a sweep over their leaves takes several slices
  const auto set = [&store](int i, const std::string& seconds) {
    const std::string number = std::to_string(100'000 + i);
    ASSERT_EQ(store.ask("set k" + number + " 0 " + seconds + " 1\r\nx\r\n"), "STORED\r\n");
  };
  for (int i = 0; i < kItems; ++i) {
    set(i * 7919 % kItems, i % 2 == 0 ? "30" : "70");
  }
  set(10, "150");
  pass(store, 140);
  ASSERT_EQ(store.store.total(counter::swept_items), kItems - 1U);
  pass(store, 160);
  EXPECT_EQ(store.store.total(counter::swept_items), std::uint64_t{kItems});
  EXPECT_FALSE(store.store.sweep().expects()) << "nothing else expires";
}

TEST(ExpirySweep, ItemsTouchedMeanwhileStay) {
  TextStore store{2};
  keep_up(store, false);
  ASSERT_EQ(store.ask("set k 0 30 1\r\nx\r\n"), "STORED\r\n");
  ASSERT_EQ(store.ask("touch k 0\r\n"), "TOUCHED\r\n");
  pass(store, 120);
  EXPECT_EQ(store.store.total(counter::swept_items), 0U);
  EXPECT_EQ(store.items().size(), 1U);
}

TEST(LeafMerger, FillsLeavesAgainThatDeletesThinned) {
  TextStore store{2};
  keep_up(store, false);
  constexpr int kItems = 6'000;
  for (int i = 0; i < kItems; ++i) {
    ASSERT_EQ(store.ask("set k" + std::to_string(i * 7919 % kItems) + " 0 0 1\r\nx\r\n"), "STORED\r\n");
  }
  pass(store, 1);
  index::UnlinkCounters& unlinks = store.store.tree().unlinks();
  EXPECT_EQ(unlinks.merges.load(), 0U) << "no item was removed";
  for (int i = 0; i < kItems; ++i) {
    if (i % 3 != 0) {
      store.ask("delete k" + std::to_string(i) + " noreply\r\n");
    }
  }
  const ItemsSeen before = store.items();
  ASSERT_EQ(before.size(), kItems / 3);
  pass(store, 3);
  EXPECT_GT(unlinks.merges.load(), kItems / 3U / 48U);
  EXPECT_EQ(store.items(), before);
}

TEST(Defragmenter, EmptiesSparseSpansAndChangesNoItem) {
  TextStore store{2};
  keep_up(store, true);
  constexpr int kItems = 20'000;
  for (int i = 0; i < kItems; ++i) {
    ASSERT_EQ(store.ask("set k" + std::to_string(i) + " 7 0 600\r\n" + std::string(600, 'x') + "\r\n"),
              "STORED\r\n");
  }
  for (int i = 0; i < kItems; ++i) {
    if (i % 10 != 0) {
      store.ask("delete k" + std::to_string(i) + " noreply\r\n");
    }
  }
  const ItemsSeen before = store.items();
  ASSERT_EQ(before.size(), kItems / 10);
  const std::size_t spans = store.machine.runtime.item_space().span_bytes();
  pass(store, 60);
  EXPECT_GT(store.store.total(counter::items_moved), 0U);
  EXPECT_LT(store.machine.runtime.item_space().span_bytes(), spans / 2);
  EXPECT_EQ(store.items(), before);
}

}  // namespace
}  // namespace mxkv::server::testing

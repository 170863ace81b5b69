// A full store makes room: sets go on, items that are read stay, and the budget holds.
#include "server/store/upkeep/eviction.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/durability/text_store.hpp"

namespace mxkv::server::testing {
namespace {

constexpr std::size_t kLimit = std::size_t{24} << 20U;

/// Workers do the upkeep in each round, and a round takes some microseconds.
void evict_or_not(TextStore& store, bool evicts) {
  store.store.set_upkeep({.defragments = false, .evicts = evicts});
  store.ends_round = [&store](std::size_t worker) {
    store.store.maintain(store.machine[worker]);
    store.machine.clock.advance_us(20);
  };
}

std::string set_text(const std::string& key, std::size_t bytes) {
  return "set " + key + " 0 0 " + std::to_string(bytes) + "\r\n" + std::string(bytes, 'x') + "\r\n";
}

TEST(Eviction, SetsGoOnInAFullStore) {
  TextStore store{2, kLimit};
  evict_or_not(store, true);
  for (int i = 0; i < 25'000; ++i) {
    ASSERT_EQ(store.ask(set_text("key" + std::to_string(i), 2000)), "STORED\r\n") << i;
    ASSERT_LE(store.machine.runtime.budget().used_bytes(), kLimit);
  }
  EXPECT_GT(store.store.total(counter::evictions), 12'000U);
  EXPECT_GT(store.store.total(counter::idle_walks), 0U);
  EXPECT_GT(store.items().size(), 4'000U) << "as much stays as there is room for";
}

TEST(Eviction, ItemsThatAreReadNowAndThenStay) {
  TextStore store{2, kLimit};
  evict_or_not(store, true);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(store.ask(set_text("hot" + std::to_string(i), 2000)), "STORED\r\n");
  }
  for (int i = 0; i < 25'000; ++i) {
    ASSERT_EQ(store.ask(set_text("cold" + std::to_string(i), 2000)), "STORED\r\n");
    if (i % 2'500 == 0) {
      store.machine.clock.advance_us(5'000'000);
      for (int n = 0; n < 1000; ++n) {
        store.ask("get hot" + std::to_string(n) + "\r\n");
      }
    }
  }
  std::size_t hot = 0;
  for (const auto& [key, item] : store.items()) {
    hot += key.starts_with("hot") ? 1 : 0;
  }
  EXPECT_GT(hot, 950U);
}

TEST(Eviction, WithoutItASetIsRefusedAndNothingIsLost) {
  TextStore store{2, kLimit};
  evict_or_not(store, false);
  int stored = 0;
  std::string answer;
  while ((answer = store.ask(set_text("key" + std::to_string(stored), 2000))) == "STORED\r\n") {
    ASSERT_LT(++stored, 25'000) << "the limit holds";
  }
  EXPECT_EQ(answer, "SERVER_ERROR out of memory storing object\r\n");
  EXPECT_EQ(store.items().size(), static_cast<std::size_t>(stored));
  EXPECT_EQ(store.store.total(counter::evictions), 0U);
}

}  // namespace
}  // namespace mxkv::server::testing

// Ranges that are deleted, touched and counted: against a model, and all or nothing where that was wanted.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "tests/unit/server/durability/text_store.hpp"

namespace mxkv::server::testing {
namespace {

void fill(TextStore& store, const std::string& prefix, int items) {
  for (int i = 0; i < items; ++i) {
    const std::string number = std::to_string(i);
    ASSERT_EQ(
        store.ask("ms " + prefix + number + " " + std::to_string(number.size()) + "\r\n" + number + "\r\n"),
        "HD\r\n");
  }
}

std::size_t count(TextStore& store, const std::string& prefix) {
  std::size_t found = 0;
  for (const auto& [key, item] : store.items()) {
    found += key.starts_with(prefix) ? 1 : 0;
  }
  return found;
}

TEST(RangeDelete, TakesThePrefixAndNothingBesideIt) {
  TextStore store{2};
  fill(store, "user:", 40);
  fill(store, "user", 3);
  fill(store, "uses:", 5);
  EXPECT_EQ(store.ask("mx user: p\r\n"), "HD A40\r\n");
  EXPECT_EQ(count(store, ""), 8U);
  EXPECT_EQ(store.ask("mx user: p X\r\n"), "HD A0\r\n");
}

TEST(RangeDelete, InPagesTakesAllInTheEnd) {
  TextStore store{2};
  fill(store, "k", 25);
  std::string cursor;
  int pages = 0;
  std::uint64_t removed = 0;
  do {
    const std::string reply = store.ask("mx k p A4" + (cursor.empty() ? "" : " G" + cursor) + "\r\n");
    ASSERT_TRUE(reply.starts_with("HD A")) << reply;
    removed += std::stoull(reply.substr(4));
    const std::size_t at = reply.find(" G");
    cursor = at == std::string::npos ? "" : reply.substr(at + 2, reply.size() - at - 4);
    ++pages;
    EXPECT_EQ(count(store, "k"), 25 - removed);
  } while (!cursor.empty());
  EXPECT_EQ(removed, 25U);
  EXPECT_GE(pages, 7);
}

TEST(RangeDelete, HeldDoesNothingWhereItMayNotDoAll) {
  TextStore store{2};
  fill(store, "k", 30);
  const ItemsSeen before = store.items();
  EXPECT_EQ(store.ask("mx k p X A29\r\n"), "CLIENT_ERROR too many keys in the range\r\n");
  EXPECT_EQ(store.items(), before);
  EXPECT_EQ(store.ask("mx k p X A30\r\n"), "HD A30\r\n");
  EXPECT_EQ(count(store, "k"), 0U);
}

TEST(RangeTouch, GivesEachItemTheTime) {
  TextStore store{2};
  fill(store, "k", 20);
  fill(store, "other", 2);
  EXPECT_EQ(store.ask("mt k p T30 A19\r\n"), "CLIENT_ERROR too many keys in the range\r\n");
  store.machine.clock.advance_us(40'000'000);
  EXPECT_EQ(count(store, "k"), 20U) << "nothing was touched";
  EXPECT_EQ(store.ask("mt k p T30\r\n"), "HD A20\r\n");
  store.machine.clock.advance_us(29'000'000);
  EXPECT_EQ(count(store, "k"), 20U);
  store.machine.clock.advance_us(2'000'000);
  EXPECT_EQ(count(store, ""), 2U);
  EXPECT_EQ(store.ask("mt k p T30\r\n"), "HD A0\r\n") << "what has expired is not there";
}

TEST(RangeTouch, ForEverIsAsGood) {
  TextStore store{2};
  ASSERT_EQ(store.ask("ms k1 1 T5\r\n1\r\n"), "HD\r\n");
  EXPECT_EQ(store.ask("mt k p T0\r\n"), "HD A1\r\n");
  store.machine.clock.advance_us(100'000'000);
  EXPECT_EQ(store.ask("mg k1 t v\r\n"), "VA 1 t-1\r\n1\r\n");
}

TEST(RangeCount, ExactCountsTheItemsOfTheModel) {
  std::mt19937_64 random{7};
  TextStore store{2};
  std::map<std::string, std::string> model;
  for (int i = 0; i < 300; ++i) {
    const std::string key = "k" + std::to_string(random() % 100);
    if (random() % 4 == 0) {
      store.ask("md " + key + "\r\n");
      model.erase(key);
    } else {
      const std::string value = std::to_string(random() % 1000);
      store.ask("ms " + key + " " + std::to_string(value.size()) + "\r\n" + value + "\r\n");
      model[key] = value;
    }
  }
  std::uint64_t bytes = 0;
  std::uint64_t sum = 0;
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t greatest = 0;
  for (const auto& [key, value] : model) {
    bytes += key.size() + value.size();
    sum += std::stoull(value);
    least = std::min<std::uint64_t>(least, std::stoull(value));
    greatest = std::max<std::uint64_t>(greatest, std::stoull(value));
  }
  const std::string told = "HD A" + std::to_string(model.size()) + " B" + std::to_string(bytes);
  EXPECT_EQ(store.ask("mc k p e\r\n"), told + "\r\n");
  EXPECT_EQ(store.ask("mc k p X\r\n"), told + "\r\n");
  EXPECT_EQ(store.ask("mc k p Msnx\r\n"), told + " N" + std::to_string(model.size()) + " Ms" +
                                              std::to_string(sum) + " Mn" + std::to_string(least) + " Mx" +
                                              std::to_string(greatest) + "\r\n");
}

TEST(RangeCount, ByPrefixTellsEachOnce) {
  TextStore store{2};
  fill(store, "a:", 12);
  fill(store, "b:", 1);
  fill(store, "b:c:", 7);
  fill(store, "plain", 3);
  EXPECT_EQ(store.ask("mc - D: e\r\n"), "HD ka: A12 B52\r\nHD kb: A8 B46\r\nEN A2 K3 B21\r\n");
  EXPECT_EQ(store.ask("mc b: p D: e k\r\n"), "HD kb:c:\r\nEN A1 K1 B4\r\n");
}

TEST(RangeCount, AnEstimateSaysHowFarOffItMayBe) {
  TextStore store{2};
  fill(store, "k", 600);
  const std::string told = store.ask("mc k p\r\n");
  EXPECT_TRUE(told.starts_with("HD A")) << told;
  if (told.find('~') == std::string::npos) {
    EXPECT_TRUE(told.starts_with("HD A600 ")) << told;
  } else {
    const double items = std::stod(told.substr(4));
    const double percent = std::stod(told.substr(told.find('~') + 1));
    EXPECT_NEAR(items, 600, 600 * std::max(5 * percent / 100, 0.01)) << told;
  }
}

}  // namespace
}  // namespace mxkv::server::testing

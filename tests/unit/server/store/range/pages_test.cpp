// Pages of ranges against a model: every page has the model's entries, and cursors lead over all of them.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/server/durability/text_store.hpp"

namespace mxkv::server::testing {
namespace {

using Model = std::map<std::string, std::string>;

std::string set_line(const std::string& key, const std::string& value) {
  return "ms " + key + " " + std::to_string(value.size()) + "\r\n" + value + "\r\n";
}

/// Keys that share prefixes, so that bounds fall between, on and behind them.
std::string some_key(std::mt19937_64& random) {
  std::string key = random() % 2 == 0 ? "a" : "b:";
  for (std::uint64_t left = random() % 3; left-- > 0;) {
    key.push_back(static_cast<char>('a' + random() % 4));
  }
  return key;
}

void change_some(TextStore& store, Model& model, std::mt19937_64& random, int changes) {
  for (int i = 0; i < changes; ++i) {
    const std::string key = some_key(random);
    if (random() % 3 == 0) {
      store.ask("md " + key + " q\r\n");
      model.erase(key);
    } else {
      const std::string value(random() % 30, 'v');
      store.ask(set_line(key, value));
      model[key] = value;
    }
  }
}

struct Page {
  std::vector<std::string> keys;
  std::string cursor;
};

/// "HD k<key>" lines and "EN A<items> [G<cursor>]".
Page page_of(const std::string& reply) {
  Page page;
  std::istringstream lines{reply};
  for (std::string line; std::getline(lines, line);) {
    line.pop_back();
    if (line.starts_with("HD k")) {
      page.keys.push_back(line.substr(4));
    } else {
      EXPECT_TRUE(line.starts_with("EN A" + std::to_string(page.keys.size()))) << line;
      const std::size_t cursor = line.find(" G");
      page.cursor = cursor == std::string::npos ? "" : line.substr(cursor + 2);
    }
  }
  return page;
}

std::vector<std::string> walk(TextStore& store, const std::string& line, std::size_t most) {
  std::vector<std::string> keys;
  std::string cursor;
  do {
    const Page page = page_of(store.ask("mr " + line + (cursor.empty() ? "" : " G" + cursor) + " A" +
                                        std::to_string(most) + "\r\n"));
    EXPECT_LE(page.keys.size(), most) << line;
    EXPECT_TRUE(page.cursor.empty() || !page.keys.empty()) << "a page that goes on has items: " << line;
    keys.insert(keys.end(), page.keys.begin(), page.keys.end());
    cursor = page.cursor;
  } while (!cursor.empty());
  return keys;
}

std::vector<std::string> between(const Model& model, const std::string& low, bool open_low,
                                 const std::string& high, bool inclusive) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : model) {
    if ((open_low ? key > low : key >= low) && (key < high || (inclusive && key == high))) {
      keys.push_back(key);
    }
  }
  return keys;
}

class RangePages : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RangePages, ::testing::Range(0U, 6U));

TEST_P(RangePages, LeadOverTheItemsOfTheModel) {
  std::mt19937_64 random{GetParam()};
  TextStore store{2};
  Model model;
  for (int round = 0; round < 12; ++round) {
    change_some(store, model, random, 20);
    std::string low = some_key(random);
    std::string high = some_key(random);
    if (high < low) {
      std::swap(low, high);
    }
    const bool open = random() % 2 == 0;
    const bool inclusive = random() % 2 == 0;
    const bool reverse = random() % 2 == 0;
    const std::size_t most = 1 + random() % 7;
    const std::string flags = std::string{reverse ? " r" : ""} + (open ? " o" : "") + (inclusive ? " i" : "");
    std::vector<std::string> wanted =
        reverse ? between(model, low, !inclusive, high, !open) : between(model, low, open, high, inclusive);
    if (reverse) {
      std::reverse(wanted.begin(), wanted.end());
    }
    const std::string line = (reverse ? high + " H" + low : low + " H" + high) + flags;
    EXPECT_EQ(walk(store, line, most), wanted) << "mr " << line;
  }
}

TEST_P(RangePages, OfAPrefixHaveAllThatBeginsSo) {
  std::mt19937_64 random{GetParam()};
  TextStore store{2};
  Model model;
  change_some(store, model, random, 200);
  for (const std::string prefix : {"a", "b:", "b:c", "ab", "x"}) {
    std::vector<std::string> wanted;
    for (const auto& [key, value] : model) {
      if (key.starts_with(prefix)) {
        wanted.push_back(key);
      }
    }
    EXPECT_EQ(walk(store, prefix + " p", 3), wanted) << prefix;
    EXPECT_EQ(walk(store, prefix + " p X", 5), wanted) << prefix << ", held";
  }
}

TEST(RangePagesOfBytes, EndWhereTheyAreFull) {
  TextStore store{2};
  for (char letter = 'a'; letter <= 'h'; ++letter) {
    store.ask(set_line(std::string(1, letter), std::string(100, letter)));
  }
  const std::string page = store.ask("mr - v B250\r\n");
  EXPECT_NE(page.find("VA 100 ka\r\n"), std::string::npos) << "a page has an item at least";
  EXPECT_NE(page.find(" G"), std::string::npos);
  EXPECT_EQ(page.find("VA 100 kd\r\n"), std::string::npos);
}

TEST(RangePagesOfExpired, LeaveOutExpiredItems) {
  TextStore store{2};
  store.ask("ms a 1 T5\r\n1\r\n");
  store.ask("ms b 1\r\n2\r\n");
  store.machine.clock.advance_us(6'000'000);
  EXPECT_EQ(walk(store, "-", 10), std::vector<std::string>{"b"});
  EXPECT_EQ(store.ask("mc - e\r\n"), "HD A1 B2\r\n");
}

}  // namespace
}  // namespace mxkv::server::testing

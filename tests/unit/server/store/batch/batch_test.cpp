// Batches against a model: a batch takes effect as a whole or not at all, and the answer names the first line
// that fails.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/server/durability/text_store.hpp"

namespace mxkv::server::testing {
namespace {

using Numbers = std::map<std::string, std::uint64_t>;

/// One line of a batch: the request, its effect on a model, and the answer. Empty: the line fails.
struct Line {
  std::string text;
  std::string answer;
  std::string why;
};

Line some_line(Numbers& numbers, std::mt19937_64& random) {
  const std::string key = "n" + std::to_string(random() % 6);
  const auto found = numbers.find(key);
  switch (random() % 5) {
    case 0: {
      const std::uint64_t number = random() % 90 + 10;
      numbers[key] = number;
      return {"ms " + key + " 2\r\n" + std::to_string(number) + "\r\n", "HD\r\n", ""};
    }
    case 1:
      if (found != numbers.end()) {
        return {"ms " + key + " 2 ME\r\n99\r\n", "", "NS"};
      }
      numbers[key] = 99;
      return {"ms " + key + " 2 ME\r\n99\r\n", "HD\r\n", ""};
    case 2:
      if (found == numbers.end()) {
        return {"ma " + key + " D5 v\r\n", "", "NF"};
      }
      found->second += 5;
      return {"ma " + key + " D5 v\r\n",
              "VA " + std::to_string(std::to_string(found->second).size()) + "\r\n" +
                  std::to_string(found->second) + "\r\n",
              ""};
    case 3: {
      const std::string answer = found == numbers.end() ? "NF\r\n" : "HD\r\n";
      numbers.erase(key);
      return {"md " + key + "\r\n", answer, ""};
    }
    default:
      return {"mg " + key + " v\r\n",
              found == numbers.end() ? "EN\r\n"
                                     : "VA " + std::to_string(std::to_string(found->second).size()) + "\r\n" +
                                           std::to_string(found->second) + "\r\n",
              ""};
  }
}

Numbers numbers_of(TextStore& store) {
  Numbers numbers;
  for (const auto& [key, item] : store.items()) {
    numbers[key] = std::stoull(item.value);
  }
  return numbers;
}

class Batches : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Seeds, Batches, ::testing::Range(0U, 6U));

TEST_P(Batches, HappenAsAWholeOrNotAtAll) {
  std::mt19937_64 random{GetParam()};
  TextStore store{2};
  Numbers numbers;
  int failed = 0;
  for (int round = 0; round < 60; ++round) {
    const std::size_t count = 1 + random() % 5;
    Numbers after = numbers;
    std::string request = "mb " + std::to_string(count) + "\r\n";
    std::string answers;
    std::string refusal;
    for (std::size_t i = 0; i < count; ++i) {
      // Lines behind a failing line change nothing, so their effect on the model is ignored.
      Numbers ignored = after;
      const Line line = some_line(refusal.empty() ? after : ignored, random);
      request += line.text;
      answers += line.answer;
      if (refusal.empty() && !line.why.empty()) {
        refusal = "EX " + std::to_string(i + 1) + " " + line.why + "\r\n";
      }
    }
    if (refusal.empty()) {
      EXPECT_EQ(store.ask(request), answers + "HD\r\n") << request;
      numbers = after;
    } else {
      EXPECT_EQ(store.ask(request), refusal) << request;
      ++failed;
    }
    EXPECT_EQ(numbers_of(store), numbers) << request;
  }
  EXPECT_GT(failed, 5);
  EXPECT_LT(failed, 55);
  EXPECT_EQ(store.store.total(counter::cmd_batch), 60U);
  EXPECT_EQ(store.store.total(counter::batch_failures), static_cast<std::uint64_t>(failed));
}

TEST(Batch, ALineFindsTheItemsOfTheLinesBeforeIt) {
  TextStore store{2};
  EXPECT_EQ(store.ask("mb 4\r\nms k 1\r\n7\r\nma k D3 v\r\nmd k\r\nmg k v\r\n"),
            "HD\r\nVA 2\r\n10\r\nHD\r\nEN\r\nHD\r\n");
  EXPECT_TRUE(store.items().empty());
}

// So a reader of the log may place a batch by its least order.
TEST(Batch, EachOrderInItIsAboveAllEarlierOrdersOfAllItsKeys) {
  TextStore store{2};
  for (int i = 0; i < 5; ++i) {  // the clock stands still, so each order is one above the one before
    EXPECT_EQ(store.ask("ms busy 1\r\n" + std::to_string(i) + "\r\n"), "HD\r\n");
  }
  EXPECT_EQ(store.ask("ms calm 1\r\n0\r\n"), "HD\r\n");
  const std::uint64_t before = store.items().at("busy").order;
  ASSERT_LT(store.items().at("calm").order, before);
  EXPECT_EQ(store.ask("mb 3\r\nms calm 1\r\n1\r\nms new 1\r\n1\r\nms busy 1\r\n9\r\n"),
            "HD\r\nHD\r\nHD\r\nHD\r\n");
  for (const char* key : {"calm", "new", "busy"}) {
    EXPECT_GT(store.items().at(key).order, before) << key;
  }
}

TEST(Batch, ALineThatMayNotStandInItRefusesAll) {
  TextStore store{2};
  EXPECT_EQ(store.ask("mb 2\r\nms k 1\r\n7\r\nget k\r\n"), "EX 2 CLIENT_ERROR not allowed in a batch\r\n");
  EXPECT_TRUE(store.items().empty());
}

TEST(Batch, ACasThatDoesNotMatchRefusesAll) {
  TextStore store{2};
  const std::string told = store.ask("ms k 1 c\r\n7\r\n");
  const std::string cas = told.substr(4, told.size() - 6);
  EXPECT_EQ(store.ask("mb 2\r\nms other 1\r\n1\r\nms k 1 C1\r\n8\r\n"), "EX 2 EX\r\n");
  EXPECT_EQ(store.items().size(), 1U);
  EXPECT_EQ(store.ask("mb 2\r\nms other 1\r\n1\r\nms k 1 C" + cas + "\r\n8\r\n"), "HD\r\nHD\r\nHD\r\n");
  EXPECT_EQ(store.items().at("k").value, "8");
}

}  // namespace
}  // namespace mxkv::server::testing

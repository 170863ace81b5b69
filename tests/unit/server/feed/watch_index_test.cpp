// The index of watches, also beside a search of all spans.
#include "server/feed/watch_index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/random.hpp"

namespace mxkv::server {
namespace {

std::vector<std::uint32_t> found(const WatchIndex& index, std::string_view key) {
  std::vector<std::uint32_t> numbers;
  index.find(key, [&](std::uint32_t number) { numbers.push_back(number); });
  std::ranges::sort(numbers);
  return numbers;
}

TEST(WatchIndex, WithoutSpansNothingIsFound) {
  WatchIndex index;
  index.build({});
  EXPECT_TRUE(found(index, "a").empty());
}

TEST(WatchIndex, FindsNestedAndEndlessSpans) {
  WatchIndex index;
  index.build({{.span = {}, .number = 0},
               {.span = span_of_prefix("user:"), .number = 1},
               {.span = span_of_prefix("user:1"), .number = 2},
               {.span = {.low = "v"}, .number = 3},
               {.span = span_of_prefix("user:1"), .number = 4}});
  EXPECT_EQ(found(index, "a"), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(found(index, "user:12"), (std::vector<std::uint32_t>{0, 1, 2, 4}));
  EXPECT_EQ(found(index, "user:2"), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(found(index, "w"), (std::vector<std::uint32_t>{0, 3}));
}

TEST(WatchIndex, FindsWhatASearchOfAllSpansFinds) {
  runtime::Random random{7};
  const auto text = [&random](std::size_t least) {
    std::string key(least + random.below(12), ' ');
    std::ranges::generate(key, [&random] { return static_cast<char>("\0ab\x80\xFF"[random.below(5)]); });
    return key;
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<WatchIndex::Entry> entries(random.below(40));
    for (std::uint32_t i = 0; i < entries.size(); ++i) {
      KeySpan span{.low = text(0), .high = text(0), .endless = random.below(8) == 0};
      if (span.endless) {
        span.high.clear();
      } else if (span.high < span.low) {
        std::swap(span.low, span.high);
      }
      entries[i] = {.span = span, .number = i};
    }
    WatchIndex index;
    index.build(entries);
    for (int look = 0; look < 50; ++look) {
      const std::string key = text(1);
      std::vector<std::uint32_t> wanted;
      for (const WatchIndex::Entry& entry : entries) {
        if (entry.span.has(key)) {
          wanted.push_back(entry.number);
        }
      }
      EXPECT_EQ(found(index, key), wanted);
    }
  }
}

TEST(WatchIndex, ARangeMeetsSpans) {
  WatchIndex index;
  index.build({{.span = span_of_prefix("a"), .number = 0}, {.span = span_of_prefix("c"), .number = 1}});
  std::vector<std::uint32_t> numbers;
  index.find(KeySpan{.low = "b", .high = "cc", .endless = false},
             [&](std::uint32_t number) { numbers.push_back(number); });
  EXPECT_EQ(numbers, (std::vector<std::uint32_t>{1}));
}

}  // namespace
}  // namespace mxkv::server

// The search for the prefix of a key, and the counts that limits are compared with.
#include "server/store/core/quotas.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace mxkv::server {
namespace {

TEST(QuotaPrefixes, AKeyCountsInTheLongestPrefixThatItBeginsWith) {
  const QuotaPrefixes prefixes{{"a", "ab", "abcdefghijkl", "abcdefghijklm", "b:", "c\xFF"}};
  const auto prefix_of = [&prefixes](std::string_view key) {
    const std::size_t found = prefixes.find(key);
    return found == QuotaPrefixes::kNone ? "none" : std::string{prefixes.at(found)};
  };
  EXPECT_EQ(prefix_of("a"), "a");
  EXPECT_EQ(prefix_of("aa"), "a");
  EXPECT_EQ(prefix_of("ab"), "ab");
  EXPECT_EQ(prefix_of("abcdefghijk"), "ab");
  EXPECT_EQ(prefix_of("abcdefghijkl"), "abcdefghijkl");
  EXPECT_EQ(prefix_of("abcdefghijklz"), "abcdefghijkl");
  EXPECT_EQ(prefix_of("abcdefghijklm9"), "abcdefghijklm");
  EXPECT_EQ(prefix_of("az"), "a") << "behind all that is within its prefix";
  EXPECT_EQ(prefix_of("b"), "none");
  EXPECT_EQ(prefix_of("b:1"), "b:");
  EXPECT_EQ(prefix_of("b;"), "none");
  EXPECT_EQ(prefix_of("c\xFF\xFF"), "c\xFF");
  EXPECT_EQ(prefix_of(""), "none");
  EXPECT_EQ(prefix_of("d"), "none");
}

TEST(QuotaPrefixes, FindWhatALookAtEachPrefixFinds) {
  std::mt19937 random{7};
  const auto text = [&random](std::size_t most) {
    std::string some(random() % (most + 1), ' ');
    std::ranges::generate(some, [&random] { return "ab\xFF"[random() % 4]; });
    return some;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> some(1 + random() % 40);
    std::ranges::generate(some, [&text] { return "a" + text(11); });
    std::ranges::sort(some);
    some.erase(std::unique(some.begin(), some.end()), some.end());
    const QuotaPrefixes prefixes{some};
    for (int i = 0; i < 100; ++i) {
      const std::string key = text(14);
      std::size_t longest = QuotaPrefixes::kNone;
      for (std::size_t at = 0; at < some.size(); ++at) {
        longest = key.starts_with(some[at]) ? at : longest;  // a longer one is behind
      }
      ASSERT_EQ(prefixes.find(key), longest) << key;
    }
  }
}

TEST(Quotas, AWorkersChangesCountAtOnceAndAreCompared) {
  Quotas quotas{{{.prefix = "b", .most_bytes = 1000, .keep_bytes = 500, .evicts = false}, {.prefix = "a"}},
                2};
  ASSERT_EQ(quotas.prefixes().find("b1"), 1U);
  quotas.tally(0).add(1, quota_count::items, 10);
  quotas.tally(0).add(1, quota_count::bytes, 400);
  quotas.tally(1).add(1, quota_count::items, ~std::uint64_t{0});
  quotas.tally(1).add(1, quota_count::bytes, std::uint64_t{0} - 40);
  EXPECT_EQ(quotas.total(1, quota_count::items), 9U);
  EXPECT_EQ(quotas.charge(1), 9 * kBesideItem + 360);
  EXPECT_EQ(quotas.published(1), 0U) << "limits see what was published";
  EXPECT_TRUE(quotas.keeps("b1"));
  EXPECT_FALSE(quotas.keeps("a1")) << "it keeps nothing";
  EXPECT_EQ(quotas.publish(1, quotas.tally(1)), 0U) << "a removal before its item";
  EXPECT_EQ(quotas.publish(1, quotas.tally(0)), 9 * kBesideItem + 360);
  EXPECT_FALSE(quotas.keeps("b1"));
  EXPECT_FALSE(quotas.refuses("b1", quotas.tally(0)));
  quotas.tally(0).add(1, quota_count::bytes, 400);
  EXPECT_TRUE(quotas.refuses("b1", quotas.tally(0))) << "a worker knows its own changes at once";
  EXPECT_FALSE(quotas.refuses("b1", quotas.tally(1)));
  quotas.set_limits({{.prefix = "a"}, {.prefix = "b", .most_bytes = 1000}});
  EXPECT_FALSE(quotas.refuses("b1", quotas.tally(0))) << "its items make room instead";
  EXPECT_TRUE(quotas.evicts(1));
}

}  // namespace
}  // namespace mxkv::server

// Frequently requested keys are found, whatever other keys are requested.
#include "server/net/observe/hot_keys.hpp"

#include <gtest/gtest.h>

#include <map>

namespace mxkv::server {
namespace {

constexpr HotKeys::what kKey = HotKeys::what::key;

std::map<std::string, HotKeys::Count> counts_of(const HotKeys& keys, std::uint64_t now_ns = 0) {
  std::map<std::string, HotKeys::Count> found;
  for (const HotKeys::Count& count : keys.counts(now_ns)) {
    EXPECT_TRUE(found.emplace((count.kind == kKey ? "" : "range ") + count.key, count).second) << count.key;
  }
  return found;
}

TEST(HotKeys, FewKeysAreCountedExactly) {
  HotKeys keys;
  for (int i = 0; i < 60; ++i) {
    for (int n = 0; n <= i; ++n) {
      keys.add(kKey, "key" + std::to_string(i), 0);
    }
  }
  const auto found = counts_of(keys);
  ASSERT_EQ(found.size(), 60U);
  for (int i = 0; i < 60; ++i) {
    const HotKeys::Count& count = found.at("key" + std::to_string(i));
    EXPECT_EQ(count.samples, static_cast<std::uint64_t>(i) + 1);
    EXPECT_EQ(count.error, 0U);
  }
}

TEST(HotKeys, AKeyOfMoreThanOneIn64IsNeverLostAmongOthers) {
  HotKeys keys;
  for (int i = 0; i < 20'000; ++i) {
    keys.add(kKey, "cold" + std::to_string(i), 0);
    if (i % 20 == 0) {
      keys.add(kKey, "hot", 0);
    }
  }
  const auto found = counts_of(keys);
  ASSERT_EQ(found.count("hot"), 1U);
  const HotKeys::Count& hot = found.at("hot");
  EXPECT_GE(hot.samples, 1000U);
  EXPECT_GT(hot.samples - hot.error, hot.error) << "it is known to be hot";
  for (const auto& [key, count] : found) {
    EXPECT_LE(count.samples - count.error, key == "hot" ? 1000U : 1U) << key;
  }
  EXPECT_LE(found.size(), HotKeys::kMost);
}

TEST(HotKeys, TheCurrentWindowAndTheOneBeforeAreReported) {
  HotKeys keys;
  keys.add(kKey, "old", 0);
  keys.add(kKey, "old", HotKeys::kWindowNs - 1);
  keys.add(kKey, "new", HotKeys::kWindowNs);
  keys.add(kKey, "old", HotKeys::kWindowNs);
  EXPECT_EQ(counts_of(keys, HotKeys::kWindowNs).at("old").samples, 3U);
  EXPECT_EQ(counts_of(keys, 2 * HotKeys::kWindowNs).at("old").samples, 1U);
  EXPECT_TRUE(counts_of(keys, 3 * HotKeys::kWindowNs).empty()) << "nothing came since";
  keys.add(kKey, "newest", 3 * HotKeys::kWindowNs);
  EXPECT_EQ(counts_of(keys, 3 * HotKeys::kWindowNs).size(), 1U);
}

TEST(HotKeys, ARangeIsAnotherThanTheKeyOfItsName) {
  HotKeys keys;
  keys.add(kKey, "a", 0);
  keys.add(HotKeys::what::range, "a", 0);
  keys.add(HotKeys::what::range, "", 0);
  EXPECT_EQ(counts_of(keys).size(), 3U);
}

TEST(HotKeys, KeysOfAnyBytesAndLengthsAreDistinguished) {
  HotKeys keys;
  keys.add(kKey, std::string(250, '\0'), 0);
  keys.add(kKey, std::string(249, '\0'), 0);
  keys.add(kKey, "", 0);
  EXPECT_EQ(counts_of(keys).size(), 3U);
  keys.clear();
  EXPECT_TRUE(keys.counts(0).empty());
}

}  // namespace
}  // namespace mxkv::server

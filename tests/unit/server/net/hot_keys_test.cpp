// What is asked for often is found, whatever else comes by.
#include "server/net/hot_keys.hpp"

#include <gtest/gtest.h>

#include <map>

namespace mxkv::server {
namespace {

std::map<std::string, std::uint64_t> counts_of(const HotKeys& keys) {
  std::map<std::string, std::uint64_t> found;
  for (const HotKeys::Count& count : keys.counts()) {
    EXPECT_TRUE(found.emplace(count.key, count.samples).second) << count.key;
  }
  return found;
}

TEST(HotKeys, FewKeysAreCountedExactly) {
  HotKeys keys;
  for (int i = 0; i < 60; ++i) {
    for (int n = 0; n <= i; ++n) {
      keys.add("key" + std::to_string(i));
    }
  }
  const auto found = counts_of(keys);
  ASSERT_EQ(found.size(), 60U);
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(found.at("key" + std::to_string(i)), static_cast<std::uint64_t>(i) + 1);
  }
}

TEST(HotKeys, AKeyOfMoreThanOneIn64IsNeverLostAmongOthers) {
  HotKeys keys;
  for (int i = 0; i < 20'000; ++i) {
    keys.add("cold" + std::to_string(i));
    if (i % 20 == 0) {
      keys.add("hot");
    }
  }
  const auto found = counts_of(keys);
  ASSERT_EQ(found.count("hot"), 1U);
  EXPECT_GE(found.at("hot"), 1000U);
  EXPECT_LE(found.size(), HotKeys::kMost);
}

TEST(HotKeys, OldCountsFade) {
  HotKeys keys;
  for (std::uint64_t i = 0; i < HotKeys::kHalvedEvery - 1; ++i) {
    keys.add("old");
  }
  keys.add("new");
  EXPECT_LT(counts_of(keys).at("old"), HotKeys::kHalvedEvery / 2 + 1);
}

TEST(HotKeys, KeysOfAnyBytesAndLengthsAreToldApart) {
  HotKeys keys;
  keys.add(std::string(250, '\0'));
  keys.add(std::string(249, '\0'));
  keys.add("");
  EXPECT_EQ(counts_of(keys).size(), 3U);
  keys.clear();
  EXPECT_TRUE(keys.counts().empty());
}

}  // namespace
}  // namespace mxkv::server

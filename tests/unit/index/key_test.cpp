// Heads compare as keys do, and separators divide.
#include "index/key.hpp"

#include <gtest/gtest.h>

#include <string>

#include "index/separator.hpp"
#include "tests/unit/index/byte_keys.hpp"

namespace mxkv::index::testing {
namespace {

TEST(Key, HeadsNeverContradictTheOrderOfKeysThatShareThePrefix) {
  for (const key_set set : kAllKeySets) {
    const auto keys = make_keys(set, 300, 23);
    for (std::size_t i = 1; i < keys.size(); ++i) {
      for (std::size_t offset = 0; offset <= common_prefix(keys[i - 1], keys[i]); ++offset) {
        ASSERT_LE(head_of(keys[i - 1], offset), head_of(keys[i], offset));
      }
    }
  }
}

TEST(Key, IsTheSameOnlyIfEachByteIs) {
  std::string key;
  for (std::size_t size = 0; size <= 40; ++size, key += static_cast<char>('a' + size)) {
    std::string other = key;
    EXPECT_TRUE(same_key(key, other));
    EXPECT_FALSE(same_key(key, other + 'x'));
    for (char& byte : other) {
      byte ^= 1;
      EXPECT_FALSE(same_key(key, other)) << size;
      byte ^= 1;
    }
  }
}

TEST(Key, AHeadIsTheNextEightBytesPaddedWithZeros) {
  EXPECT_EQ(head_of("", 0), 0U);
  EXPECT_EQ(head_of("a", 0), 0x6100'0000'0000'0000U);
  EXPECT_EQ(head_of("abcdefghij", 0), 0x6162'6364'6566'6768U);
  EXPECT_EQ(head_of("abcdefghij", 8), 0x696A'0000'0000'0000U);
  EXPECT_EQ(head_of("abc", 2), 0x6300'0000'0000'0000U);
  EXPECT_EQ(head_of("abc", 3), 0U);
  EXPECT_EQ(head_of("abc", 200), 0U);
}

TEST(Key, TheShortestSeparatorLiesAboveTheLowKeyAndNotAboveTheHighOne) {
  for (const key_set set : kAllKeySets) {
    const auto keys = make_keys(set, 300, 29);
    for (std::size_t i = 1; i < keys.size(); ++i) {
      const KeyView separator = shortest_separator(keys[i - 1], keys[i]);
      ASSERT_LT(KeyView{keys[i - 1]}, separator);
      ASSERT_LE(separator, KeyView{keys[i]});
      ASSERT_LE(separator.size(), common_prefix(keys[i - 1], keys[i]) + 1);
    }
  }
}

TEST(Separator, ARecordKeepsItsKeyAndZeroIsTheMinimum) {
  const std::string key("a\0b", 3);
  alignas(8) char memory[16];
  ASSERT_LE(SeparatorRecord::bytes_for(key), sizeof memory);
  const auto* record = SeparatorRecord::construct(memory, key);
  EXPECT_EQ(SeparatorRecord::key_of(reinterpret_cast<std::uint64_t>(record)), key);
  EXPECT_EQ(SeparatorRecord::key_of(0), KeyView{});
}

}  // namespace
}  // namespace mxkv::index::testing

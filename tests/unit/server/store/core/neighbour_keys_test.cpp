// No key lies between a key and its neighbour.
#include "server/store/core/neighbour_keys.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mxkv::server::testing {
namespace {

const std::string kLongest(index::kMaxKeyBytes, '\xFF');

/// Keys of few different bytes, among them the least, the greatest, and the longest ones.
std::vector<std::string> keys() {
  std::vector<std::string> found{{}};
  for (std::size_t from = 0, bytes = 1; bytes <= 3; ++bytes) {
    for (const std::size_t to = found.size(); from < to; ++from) {
      for (const char byte : {'\0', 'a', 'b', '\xFE', '\xFF'}) {
        found.push_back(found[from] + byte);
      }
    }
  }
  found.push_back(kLongest);
  found.push_back(std::string(index::kMaxKeyBytes, 'a'));
  found.push_back(std::string(index::kMaxKeyBytes - 1, 'a') + '\0');
  return found;
}

TEST(NeighbourKeys, NoKeyWithThePrefixIsAboveTheTextBehindIt) {
  for (const std::string& prefix : keys()) {
    KeyRoom room;
    const std::string behind{behind_prefix(prefix, room)};
    const bool none = prefix.find_first_not_of('\xFF') == std::string::npos;
    EXPECT_EQ(behind.empty(), none);
    for (const std::string& key : keys()) {
      if (!none) {
        EXPECT_EQ(key < behind, key < prefix || key.starts_with(prefix));
      }
    }
  }
}

TEST(NeighbourKeys, TheLastKeyOfAPrefixIsBelowTheTextBehindIt) {
  for (const std::string& prefix : keys()) {
    KeyRoom room;
    const std::string last{last_with_prefix(prefix, room)};
    EXPECT_TRUE(last.starts_with(prefix));
    for (const std::string& key : keys()) {
      EXPECT_EQ(key <= last, key < prefix || key.starts_with(prefix));
    }
  }
}

TEST(NeighbourKeys, NothingIsBetweenAKeyAndTheNextOne) {
  for (const std::string& key : keys()) {
    KeyRoom room;
    const std::string behind{behind_key(key, room)};
    EXPECT_EQ(behind.empty(), key == kLongest);
    for (const std::string& other : keys()) {
      if (!behind.empty()) {
        EXPECT_EQ(other > key, other >= behind);
      }
    }
  }
}

TEST(NeighbourKeys, NothingIsBetweenAKeyAndTheOneBefore) {
  for (const std::string& key : keys()) {
    if (!key.empty()) {
      KeyRoom room;
      const std::string before{key_before(key, room)};
      EXPECT_LT(before, key);
      for (const std::string& other : keys()) {
        EXPECT_EQ(other < key, other <= before);
      }
    }
  }
}

}  // namespace
}  // namespace mxkv::server::testing

// Routes: the splits give each key its shard, and written routes can be read back.
#include "server/cluster/routes.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

namespace mxkv::server {
namespace {

/// Short texts of few letters, including the least and the greatest byte: many share prefixes.
std::string random_key(std::mt19937& random, std::size_t most) {
  constexpr std::string_view kLetters{"\0\1am\x7f\xff", 6};
  std::string key(1 + random() % most, '\0');
  for (char& letter : key) {
    letter = kLetters[random() % kLetters.size()];
  }
  return key;
}

TEST(Routes, TheShardOfAKeyIsTheLastThatBeginsAtOrBeforeIt) {
  std::mt19937 random{11};
  for (int round = 0; round < 300; ++round) {
    std::set<std::string> some;
    for (std::size_t n = random() % 40; n > 0; --n) {
      some.insert(random_key(random, 1 + random() % 20));
    }
    const std::vector<std::string> splits{some.begin(), some.end()};
    const Routes routes{splits};
    ASSERT_EQ(routes.shards(), splits.size() + 1);
    std::vector<std::string> keys = splits;
    for (int n = 0; n < 200; ++n) {
      keys.push_back(random_key(random, 24));
    }
    for (const std::string& key : keys) {
      const auto expected = std::upper_bound(splits.begin(), splits.end(), key) - splits.begin();
      const std::uint32_t shard = routes.shard_of(key);
      ASSERT_EQ(shard, static_cast<std::uint32_t>(expected));
      ASSERT_LE(routes.begin_of(shard), key);
      ASSERT_TRUE(routes.end_of(shard).empty() || key < routes.end_of(shard));
    }
  }
}

TEST(Routes, OneShardHasAllKeys) {
  const Routes routes{{}};
  EXPECT_EQ(routes.shards(), 1U);
  EXPECT_EQ(routes.shard_of(std::string(250, '\xff')), 0U);
  EXPECT_EQ(routes.begin_of(0), "");
  EXPECT_EQ(routes.end_of(0), "");
}

TEST(Routes, AShardIsHereWhileItsLeaseRuns) {
  Routes routes{{"m"}};
  EXPECT_FALSE(routes.is_here(0, 0));
  routes.set(0, {Route::to::here, 0});
  EXPECT_FALSE(routes.is_here(0, 0));
  routes.set_lease(0, 100);
  EXPECT_TRUE(routes.is_here(0, 99));
  EXPECT_FALSE(routes.is_here(0, 100));
  EXPECT_FALSE(routes.is_here(1, 99));
  routes.set(0, {Route::to::nobody, 0});
  EXPECT_FALSE(routes.is_here(0, 99));
}

TEST(Routes, AHintIsTakenWhereNothingElseWasLearnt) {
  Routes routes{{"m"}};
  const Route one{Route::to::peer, routes.peer("10.0.0.1:11311")};
  const Route other{Route::to::peer, routes.peer("10.0.0.2:11311")};
  EXPECT_NE(one, other);
  EXPECT_EQ(routes.peer("10.0.0.1:11311"), one.peer);
  EXPECT_EQ(routes.peer_address(other.peer), "10.0.0.2:11311");
  routes.set(1, one);
  routes.hint(1, one, other);
  EXPECT_EQ(routes.route(1), other);
  routes.hint(1, one, {Route::to::nobody, 0});
  EXPECT_EQ(routes.route(1), other);
  EXPECT_EQ(routes.route(0), Route{});
}

}  // namespace
}  // namespace mxkv::server

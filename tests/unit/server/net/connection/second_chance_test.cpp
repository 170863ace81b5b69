// Recently used connections stay; the others are closed first.
#include "server/net/connection/second_chance.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace mxkv::server {
namespace {

struct Member {
  SecondChancePlace place{};
};

class SecondChanceTest : public ::testing::Test {
 protected:
  /// Uses it, as a connection does. Returns the number of the one that had to go.
  std::vector<std::ptrdiff_t> use(std::size_t i, std::size_t most = 4) {
    std::vector<std::ptrdiff_t> gone;
    Member& member = members.at(i);
    if (member.place.taken()) {
      member.place.use();
    } else {
      set.add(member, most, [&](Member& other) {
        EXPECT_FALSE(other.place.taken());
        gone.push_back(&other - members.data());
      });
    }
    return gone;
  }

  std::array<Member, 100> members{};
  SecondChance<Member> set;
};

TEST_F(SecondChanceTest, NoneIsClosedWhileThereIsRoom) {
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(use(i).empty());
    EXPECT_TRUE(use(i).empty());
  }
  EXPECT_EQ(set.size(), 4U);
  EXPECT_EQ(use(4).size(), 1U);
  EXPECT_EQ(set.size(), 4U);
}

TEST_F(SecondChanceTest, AConstantlyUsedConnectionStays) {
  std::size_t returns = 0;
  for (std::size_t i = 3; i < 100; ++i) {
    for (std::size_t busy = 0; busy < 3; ++busy) {
      returns += members.at(busy).place.taken() ? 0U : 1U;
      use(busy);
    }
    use(i);
  }
  EXPECT_EQ(returns, 3U) << "they came once each";
}

TEST_F(SecondChanceTest, InTurnsEachGoesOnce) {
  std::size_t gone = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    gone += use(i).size();
  }
  EXPECT_EQ(gone, 96U);
  EXPECT_EQ(set.size(), 4U);
}

TEST_F(SecondChanceTest, OneLeavesFromWhereverItIs) {
  for (std::size_t i = 0; i < 4; ++i) {
    use(i);
  }
  for (const std::size_t i : {0U, 3U, 1U}) {
    set.remove(members.at(i));
    EXPECT_FALSE(members.at(i).place.taken());
  }
  EXPECT_TRUE(members.at(2).place.taken());
  EXPECT_EQ(set.size(), 1U);
  EXPECT_TRUE(use(0).empty());
  set.remove(members.at(2));
  set.remove(members.at(0));
  EXPECT_EQ(set.size(), 0U);
}

TEST_F(SecondChanceTest, ALowerLimitIsKeptFromTheNextOnAndOneIsAlwaysLetIn) {
  for (std::size_t i = 0; i < 4; ++i) {
    use(i);
  }
  EXPECT_EQ(use(4, 2).size(), 3U);
  EXPECT_EQ(set.size(), 2U);
  EXPECT_EQ(use(5, 0).size(), 2U);
  EXPECT_EQ(set.size(), 1U);
  EXPECT_TRUE(members.at(5).place.taken());
}

}  // namespace
}  // namespace mxkv::server

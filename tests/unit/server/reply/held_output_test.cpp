// Output that waits for the disk: since when it waits, and whether a last line may take its place.
#include "server/reply/held_output.hpp"

#include <gtest/gtest.h>

namespace mxkv::server {
namespace {

TEST(HeldOutput, OutputThatWaitsForNoEpochIsNotHeld) {
  HeldOutput held{10};
  EXPECT_FALSE(held.judge(20, true, 0, 5));
  EXPECT_FALSE(held.holds());
  EXPECT_TRUE(held.lets(20));
}

TEST(HeldOutput, OutputSinceTheLastJudgementWaits) {
  HeldOutput held{0};
  EXPECT_FALSE(held.judge(10, true, 0, 1));
  EXPECT_TRUE(held.judge(30, true, 4, 2));
  EXPECT_TRUE(held.lets(10));
  EXPECT_FALSE(held.lets(11));
  EXPECT_FALSE(held.judge(50, true, 5, 3)) << "it held output before";
  EXPECT_EQ(held.awaited(), 4U);
  EXPECT_EQ(held.since_ns(), 2U);
}

TEST(HeldOutput, TheWaitBeginsAnewWhenSomeOutputMayLeave) {
  HeldOutput held{0};
  EXPECT_TRUE(held.judge(10, true, 4, 2));
  EXPECT_FALSE(held.judge(20, true, 6, 3));
  EXPECT_FALSE(held.open(3, 7));
  EXPECT_EQ(held.since_ns(), 2U);
  EXPECT_TRUE(held.open(4, 8));
  EXPECT_TRUE(held.holds());
  EXPECT_EQ(held.since_ns(), 8U);
  EXPECT_TRUE(held.open(6, 9));
  EXPECT_FALSE(held.holds());
}

TEST(HeldOutput, ALineTakesThePlaceOfHeldOutputOnlyWhereAReplyBegins) {
  HeldOutput held{0};
  EXPECT_TRUE(held.judge(10, false, 4, 1));
  EXPECT_TRUE(held.begins_with_a_reply()) << "a reply began at 0";
  EXPECT_TRUE(held.open(4, 2));
  EXPECT_TRUE(held.judge(20, true, 5, 3));
  EXPECT_FALSE(held.begins_with_a_reply()) << "half a reply ended at 10";
}

TEST(HeldOutput, ItIsNotKnownWhereALaterPartBegins) {
  HeldOutput held{0};
  EXPECT_TRUE(held.judge(10, true, 4, 1));
  EXPECT_FALSE(held.judge(20, true, 5, 1));
  EXPECT_TRUE(held.begins_with_a_reply());
  EXPECT_TRUE(held.open(4, 2));
  EXPECT_FALSE(held.begins_with_a_reply());
}

}  // namespace
}  // namespace mxkv::server

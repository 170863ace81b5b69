// Marks and claims of a node: none is missed, whichever order they come in.
#include "index/node_life.hpp"

#include <gtest/gtest.h>

namespace mxkv::index {
namespace {

TEST(NodeLife, TheGenerationStaysWhateverElseChanges) {
  NodeLife life{12'345};
  life.set_separator_pending(true);
  life.mark_separator_lost();
  EXPECT_TRUE(life.claim());
  life.begin_to_wait();
  EXPECT_TRUE(life.let_right_wait());
  EXPECT_TRUE(life.take_waiting());
  life.set_separator_pending(false);
  life.mark_dead();
  EXPECT_EQ(life.generation(), 12'345U);
}

TEST(NodeLife, ALostSeparatorIsClaimedOnce) {
  NodeLife life{0};
  EXPECT_FALSE(life.claim_lost_separator());
  life.set_separator_pending(true);
  life.mark_separator_lost();
  EXPECT_TRUE(life.separator_pending());
  EXPECT_TRUE(life.claim_lost_separator());
  EXPECT_FALSE(life.claim_lost_separator());
  EXPECT_TRUE(life.separator_pending()) << "who claimed it posts it yet";
  life.set_separator_pending(false);
  EXPECT_FALSE(life.separator_pending());
}

TEST(NodeLife, OneTaskHasTheClaimAndHearsOfTheOthers) {
  NodeLife life{1};
  EXPECT_TRUE(life.claim());
  EXPECT_FALSE(life.claim());
  EXPECT_FALSE(life.claim());
  NodeLife::Missed missed = life.release();
  EXPECT_TRUE(missed.again);
  EXPECT_FALSE(missed.right_waits);
  EXPECT_FALSE(life.claimed());
  EXPECT_TRUE(life.claim());
  missed = life.release();
  EXPECT_FALSE(missed.again) << "that was before";
}

TEST(NodeLife, ADeadNodeIsNotClaimed) {
  NodeLife life{1};
  EXPECT_TRUE(life.claim());
  life.mark_dead();
  static_cast<void>(life.release());
  EXPECT_FALSE(life.claim());
  EXPECT_FALSE(life.claimed());
}

TEST(NodeLife, TheRightNeighbourWaitsForAClaimOnly) {
  NodeLife life{1};
  EXPECT_FALSE(life.let_right_wait());
  EXPECT_TRUE(life.claim());
  EXPECT_TRUE(life.let_right_wait());
  EXPECT_TRUE(life.let_right_wait());
  EXPECT_TRUE(life.release().right_waits);
  EXPECT_FALSE(life.let_right_wait());
}

TEST(NodeLife, AWaitingClaimIsTakenOverOnceAndKeepsWhatCame) {
  NodeLife life{1};
  EXPECT_FALSE(life.take_waiting());
  EXPECT_TRUE(life.claim());
  life.begin_to_wait();
  EXPECT_FALSE(life.claim());
  EXPECT_TRUE(life.claimed());
  EXPECT_TRUE(life.take_waiting());
  EXPECT_FALSE(life.take_waiting());
  EXPECT_TRUE(life.release().again);
}

TEST(NodeLifeDeathTest, StepsOutOfOrderAreInvariantsViolated) {
  NodeLife life{1};
  EXPECT_DEATH(life.mark_dead(), "a node dies once");
  EXPECT_DEATH(life.mark_separator_lost(), "a pending separator is lost");
  EXPECT_DEATH(life.begin_to_wait(), "a claim at work begins to wait");
  EXPECT_DEATH(static_cast<void>(life.release()), "a claim ends once");
  life.set_separator_pending(true);
  EXPECT_DEATH(life.set_separator_pending(true), "a separator is pending once");
  EXPECT_TRUE(life.claim());
  EXPECT_DEATH(life.mark_dead(), "a node dies once") << "its parent does not know it yet";
}

}  // namespace
}  // namespace mxkv::index

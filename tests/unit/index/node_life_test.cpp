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
  life.mark_dead();
  EXPECT_EQ(life.generation(), 12'345U);
}

TEST(NodeLife, ALostSeparatorIsClaimedOnce) {
  NodeLife life{0};
  EXPECT_FALSE(life.claim_lost_separator());
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
  life.mark_dead();
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

}  // namespace
}  // namespace mxkv::index

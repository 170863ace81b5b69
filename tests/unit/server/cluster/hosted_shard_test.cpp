// Shards of a node by hand: when they open, are left, lost and loaded again.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "tests/unit/server/cluster/hosted_fixture.hpp"

namespace mxkv::server::testing {
namespace {

TEST_F(HostedShardTest, AnOwnedShardNeedsNoMemoryForLogs) {
  pass_s(6);
  ASSERT_TRUE(is_here(0) && is_here(1));
  memory.lacks = {0, 1};
  pass_s(10);
  turn("z");
  pass_s(1);
  EXPECT_TRUE(is_here(0) && is_here(1));
  EXPECT_TRUE(all_is_durable());
}

TEST_F(HostedShardTest, ALostShardWithoutMemoryForItHoldsUpNoOther) {
  pass_s(6);
  ASSERT_TRUE(is_here(0) && is_here(1));
  memory.lacks = {0};
  const std::uint64_t given_up = pipeline.failures();
  another_node_claims(0);
  turn("a");
  other_writes(0);
  pass_s(2);
  ASSERT_FALSE(is_here(0));
  EXPECT_EQ(pipeline.failures(), given_up + 1) << "what was read of it goes to nobody";
  turn("z");
  pass_s(1);
  EXPECT_TRUE(is_here(1));
  EXPECT_TRUE(all_is_durable());
  pass_s(60);
  EXPECT_EQ(shards[0]->engine().state().owner(), kOther) << "it is not claimed without its items";
  EXPECT_EQ(shards[0]->lack(), "no room");
  EXPECT_EQ(pipeline.failures(), given_up + 1) << "a replica's copy is dropped without giving up replies";
  EXPECT_TRUE(is_here(1));
}

TEST_F(HostedShardTest, ACopyThatFindsNoMemoryIsLoadedAgainUntilItDoes) {
  another_node_claims(0);
  pass_s(1);
  ASSERT_TRUE(shards[0]->follows());
  memory.lacks = {0};
  for (int i = 0; i < 3; ++i) {
    other_writes(0);
  }
  pass_s(1);
  EXPECT_FALSE(shards[0]->is_sound());
  EXPECT_EQ(memory.applied[0], 0) << "its memory is free for other shards";
  int seconds = 1;
  for (; seconds < 600; ++seconds) {
    pass_s(1);
    other_writes(0);
    EXPECT_EQ(shards[0]->engine().now(), Shard::role::follows) << "it claims nothing";
    shards[0]->is_level();
    EXPECT_EQ(shards[0]->lack(), "no room");
  }
  EXPECT_GE(memory.drops[0], 10) << "it is tried again";
  EXPECT_LE(memory.drops[0], 18) << "and not all the time";
  EXPECT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(memory.gives_ways[0]) << "shards that have their memory keep it";
  EXPECT_TRUE(is_here(1));
  memory.lacks = {};
  for (int i = 0; i < 61 && !shards[0]->lack().empty(); ++i) {
    pass_s(1);
    other_writes(0);
    shards[0]->is_level();
  }
  EXPECT_TRUE(shards[0]->follows());
  EXPECT_EQ(shards[0]->lack(), "");
  EXPECT_FALSE(memory.gives_ways[0]);
  EXPECT_GE(memory.applied[0], seconds + 2) << "it has the whole log";
}

TEST_F(HostedShardTest, ACopyIsLoadedAtOnceWhenThereIsMoreMemory) {
  another_node_claims(0);
  pass_s(1);
  memory.lacks = {0};
  for (int i = 0; i < 100; ++i) {
    other_writes(0);
    pass_s(1);
  }
  memory.lacks = {};
  other_writes(0);
  shards[0]->load_now();
  turn();
  turn();
  EXPECT_GE(memory.applied[0], 101);
}

// A node claims a shard and then finds no memory for the end of its log.
TEST_F(HostedShardTest, AShardIsNotHeldByAnOwnerThatCannotOpenIt) {
  another_node_claims(0);
  other_writes(0);
  turn();
  ASSERT_TRUE(shards[0]->follows());
  for (int i = 0; i < 200 && shards[0]->engine().now() != Shard::role::claims; ++i) {
    turn();
  }
  ASSERT_EQ(shards[0]->engine().now(), Shard::role::claims);
  memory.lacks = {0};
  other_writes(0);  // before the claim is stored
  std::swap(stored[0].messages.back(), stored[0].messages[stored[0].messages.size() - 2]);
  pass_s(1);
  EXPECT_FALSE(is_here(0));
  const std::size_t messages = stored[0].messages.size();
  pass_s(30);
  EXPECT_FALSE(is_here(0));
  EXPECT_EQ(stored[0].messages.size(), messages) << "no beat holds off other nodes";
  memory.lacks = {};
  pass_s(70);
  EXPECT_TRUE(is_here(0));
}

// A write may wait for an earlier one of its connection, and an overloaded worker for its turn: no clock knows how long.
TEST_F(HostedShardTest, AShardIsLeftWhenTheWritesThatBeganHereHaveEnded) {
  pass_s(6);
  ASSERT_TRUE(is_here(0) && is_here(1));
  const BegunChanges::Mark slow = changes.begin();
  shards[0]->leave(kOther);
  for (int i = 0; i < 8; ++i) {
    turn();
  }
  EXPECT_FALSE(is_here(0));
  EXPECT_EQ(shards[0]->engine().now(), Shard::role::owns) << "a write is in flight";
  turn("a");
  changes.end(slow);
  pass_s(1);
  EXPECT_EQ(shards[0]->engine().now(), Shard::role::follows);
  EXPECT_EQ(shards[0]->engine().state().left_to(), kOther);
  EXPECT_TRUE(all_is_durable());
  EXPECT_EQ(pipeline.counts().voided.load(), 0U);
  EXPECT_EQ(pipeline.failures(), 0U) << "no connection is closed";
}

TEST_F(HostedShardTest, AShardStaysIfItsWritesDoNotEnd) {
  pass_s(6);
  const BegunChanges::Mark slow = changes.begin();
  shards[0]->leave(kOther);
  pass_s(2);
  EXPECT_TRUE(is_here(0)) << "requests are let in again";
  EXPECT_EQ(shards[0]->counters().stayed, 1U);
  turn("a");
  changes.end(slow);
  shards[0]->leave(kOther);
  pass_s(1);
  EXPECT_EQ(shards[0]->engine().state().left_to(), kOther);
  EXPECT_EQ(pipeline.counts().voided.load(), 0U);
}

TEST_F(HostedShardTest, AShardWithAHoleInItsLogHoldsUpOthersRarely) {
  pass_s(6);
  ASSERT_TRUE(is_here(0) && is_here(1));
  const std::uint64_t given_up = pipeline.failures();
  stored[0].messages.emplace_back();
  pass_s(60);
  EXPECT_FALSE(is_here(0)) << "nobody knows what was there";
  EXPECT_GE(pipeline.failures(), given_up + 2) << "it is tried again";
  EXPECT_LE(pipeline.failures(), given_up + 8);
  EXPECT_EQ(warnings.size(), pipeline.failures() - given_up);
  turn("z");
  pass_s(1);
  EXPECT_TRUE(is_here(1));
  EXPECT_TRUE(all_is_durable());
}

// A mirror's copies begin at 0, and the board has the positions of the original topics.
TEST_F(HostedShardTest, TopicsThatAreShorterThanTheBoardSaysAreToldToBeCopies) {
  newest[0] = SnapshotEntry{.number = 1,
                            .node = kOther,
                            .first = 0,
                            .messages = 0,
                            .items = 0,
                            .bytes = 0,
                            .start = {.position = 5000, .state = {}}};
  newest[1] = SnapshotEntry{
      .number = 2, .node = kOther, .first = 900, .messages = 5, .items = 1, .bytes = 1, .start = {}};
  pass_s(200);
  EXPECT_FALSE(is_here(0) || is_here(1));
  const auto tells = [this](const std::string& text) {
    return std::ranges::count_if(warnings, [&](const std::string& line) { return line.starts_with(text); });
  };
  EXPECT_GE(tells("shard 0: its log ends at 0, but must be read from 5000"), 1);
  EXPECT_GE(tells("shard 1: the log of its snapshots ends at 0, but must be read from 900"), 1);
  EXPECT_LE(warnings.size(), 60U) << "it is tried again and again, and more and more seldom";
}

TEST_F(HostedShardTest, ASnapshotWithoutAnEndIsReadAgain) {
  newest[0] = SnapshotEntry{
      .number = 1, .node = kOther, .first = 0, .messages = 5, .items = 1, .bytes = 1, .start = {}};
  pass_s(90);
  EXPECT_FALSE(is_here(0));
  EXPECT_TRUE(is_here(1));
  ASSERT_FALSE(warnings.empty());
  EXPECT_EQ(warnings.front(), "shard 0: its snapshot is incomplete; it is read again, or the next one");
  newest[0] = SnapshotEntry{};  // an empty entry
  pass_s(90);
  EXPECT_TRUE(is_here(0));
}

}  // namespace
}  // namespace mxkv::server::testing

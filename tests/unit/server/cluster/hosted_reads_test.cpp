// Reads that are under way when a shard's memory is dropped.
#include <gtest/gtest.h>

#include "tests/unit/server/cluster/hosted_fixture.hpp"

namespace mxkv::server::testing {
namespace {

// Its worker closes the connections with requests under way in a round that ends before the drop.
TEST_F(HostedShardTest, ReadsUnderWayEndBeforeTheMemoryOfALostShardIsDropped) {
  pass_s(6);
  ASSERT_TRUE(is_here(0) && is_here(1));
  another_node_claims(0);
  EXPECT_EQ(drops_seen_before_the_drop(), (CommitGate::Drops{.all = 1}));
  EXPECT_EQ(memory.drops[0], 1);
}

TEST_F(HostedShardTest, ReadsUnderWayEndBeforeACopyIsDropped) {
  another_node_claims(0);
  pass_s(1);
  memory.lacks = {0};
  other_writes(0);
  EXPECT_EQ(drops_seen_before_the_drop(), (CommitGate::Drops{.of_copies = 1}));
  EXPECT_EQ(memory.drops[0], 1);
}

TEST_F(HostedShardTest, ACopyThatWasHereMayHaveReadsOfAnyClient) {
  pass_s(6);
  ASSERT_TRUE(is_here(0));
  shards[0]->leave(kOther);
  pass_s(1);
  another_node_claims(0);
  pass_s(1);
  ASSERT_TRUE(shards[0]->follows());
  memory.lacks = {0};
  other_writes(0);
  EXPECT_EQ(drops_seen_before_the_drop(), (CommitGate::Drops{.all = 1}));
  EXPECT_EQ(memory.drops[0], 1);
}

TEST_F(HostedShardTest, ReadsUnderWayEndBeforeARetiredShardIsDropped) {
  another_node_claims(0);
  pass_s(1);
  ASSERT_TRUE(shards[0]->may_retire());
  const std::uint64_t epoch = shards[0]->retire();
  EXPECT_EQ(pipeline.drops(), (CommitGate::Drops{.of_copies = 1}));
  EXPECT_GT(epoch, pipeline.passed());
}

}  // namespace
}  // namespace mxkv::server::testing

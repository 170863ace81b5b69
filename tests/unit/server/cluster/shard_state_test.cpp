// Verdicts on messages, one rule after the other.
#include "server/cluster/shard_state.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mxkv::server {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;

Message open(std::uint64_t term, std::uint64_t node, std::string_view body = {}) {
  return {.kind = message_kind::open, .term = term, .node = node, .body = body};
}

Message beat(std::uint64_t term, std::uint64_t sequence, std::uint64_t node) {
  return {.kind = message_kind::beat, .term = term, .sequence = sequence, .node = node, .body = {}};
}

Message part(std::uint64_t sequence, std::uint64_t epoch, std::uint32_t part, std::uint32_t parts) {
  return {.kind = message_kind::group,
          .term = 1,
          .sequence = sequence,
          .node = 5,
          .epoch = epoch,
          .part = part,
          .parts = parts,
          .body = {}};
}

TEST(ShardState, TheFirstClaimOfTheNextTermWins) {
  ShardState state;
  EXPECT_EQ(state.take(open(2, 5)), message_effect::none) << "not the next term";
  EXPECT_EQ(state.take(open(1, 5)), message_effect::opens);
  EXPECT_EQ(state.take(open(1, 6)), message_effect::none) << "too late";
  EXPECT_EQ(state.owner(), 5U);
  EXPECT_EQ(state.take(open(2, 6)), message_effect::opens);
  EXPECT_EQ(state.owner(), 6U);
  EXPECT_EQ(state.term(), 2U);
}

TEST(ShardState, AnOwnersMessagesCountInTheirOrderAndOnce) {
  ShardState state;
  EXPECT_EQ(state.take(beat(0, 1, 0)), message_effect::none) << "nobody owns it";
  static_cast<void>(state.take(open(1, 5)));
  EXPECT_EQ(state.take(beat(1, 2, 5)), message_effect::none) << "behind a gap";
  EXPECT_EQ(state.take(beat(1, 1, 5)), message_effect::counts);
  EXPECT_EQ(state.take(beat(1, 1, 5)), message_effect::repeats);
  EXPECT_EQ(state.take(beat(1, 2, 5)), message_effect::counts);
  EXPECT_EQ(state.take(beat(1, 3, 6)), message_effect::none) << "another node's";
  EXPECT_EQ(state.sequence(), 3U);
}

TEST(ShardState, NothingOfAnOustedOwnerCounts) {
  ShardState state;
  static_cast<void>(state.take(open(1, 5)));
  static_cast<void>(state.take(open(2, 6)));
  const ShardState before = state;
  EXPECT_EQ(state.take(beat(1, 1, 5)), message_effect::none);
  EXPECT_EQ(state.take(beat(2, 1, 5)), message_effect::none);
  EXPECT_EQ(state, before);
}

TEST(ShardState, NothingCountsBehindAYield) {
  ShardState state;
  static_cast<void>(state.take(open(1, 5)));
  const std::string to = write_node(6);
  Message yield = beat(1, 1, 5);
  yield.kind = message_kind::yield;
  yield.body = to;
  EXPECT_EQ(state.take(yield), message_effect::yields);
  EXPECT_EQ(state.left_to(), 6U);
  EXPECT_EQ(state.take(beat(1, 2, 5)), message_effect::none);
  EXPECT_EQ(state.take(open(2, 7)), message_effect::opens)
      << "whoever claims it: to wait for 6 is a courtesy";
  EXPECT_EQ(state.left_to(), 0U);
}

TEST(ShardState, ALeaseIsTheOneThatTheOwnerToldLast) {
  ShardState state;
  const std::string claim = write_claim({.lease_ns = 20 * kSecondNs, .address = "a:1"});
  static_cast<void>(state.take(open(1, 5, claim)));
  EXPECT_EQ(state.lease_ns(), 20 * kSecondNs);
  static_cast<void>(state.take(beat(1, 1, 5)));
  EXPECT_EQ(state.lease_ns(), 20 * kSecondNs) << "a beat may tell none";
  const std::string told = write_lease(kSecondNs);
  Message telling = beat(1, 3, 5);
  telling.body = told;
  static_cast<void>(state.take(telling));
  EXPECT_EQ(state.lease_ns(), 20 * kSecondNs) << "it does not count";
  telling.sequence = 2;
  static_cast<void>(state.take(telling));
  EXPECT_EQ(state.lease_ns(), kSecondNs);
  static_cast<void>(state.take(open(2, 6)));
  EXPECT_EQ(state.lease_ns(), kLongestLeaseNs) << "of an older server";
}

// The second owner was ousted before it served: the first one may still read by its longer lease.
TEST(ShardState, LeasesOfOwnersBeforeCountUntilTheOwnerServes) {
  const std::string longer = write_claim({.lease_ns = 20 * kSecondNs, .address = "a:1"});
  const std::string shorter = write_claim({.lease_ns = kSecondNs, .address = "b:1"});
  ShardState state;
  static_cast<void>(state.take(open(1, 5, longer)));
  static_cast<void>(state.take(open(2, 6, shorter)));
  EXPECT_EQ(state.longest_lease_ns(), 20 * kSecondNs);
  static_cast<void>(state.take(beat(2, 1, 6)));
  static_cast<void>(state.take(open(3, 7, shorter)));
  EXPECT_EQ(state.longest_lease_ns(), 20 * kSecondNs);
  ShardState by_beat = state;
  Message telling = beat(3, 1, 7);
  const std::string told = write_lease(kSecondNs);
  telling.body = told;
  static_cast<void>(by_beat.take(telling));
  EXPECT_EQ(by_beat.longest_lease_ns(), kSecondNs) << "whoever tells a lease by a beat serves";
  Message group = beat(3, 1, 7);
  group.kind = message_kind::group;
  static_cast<void>(state.take(group));
  EXPECT_EQ(state.longest_lease_ns(), kSecondNs) << "only an owner that serves appends changes";
}

TEST(ShardState, PartsFollowEachOther) {
  ShardState state;
  static_cast<void>(state.take(open(1, 5)));
  EXPECT_EQ(state.take(part(1, 9, 1, 3)), message_effect::none) << "the first part is missing";
  EXPECT_EQ(state.take(part(1, 9, 0, 3)), message_effect::counts);
  EXPECT_FALSE(state.whole());
  EXPECT_EQ(state.take(beat(1, 2, 5)), message_effect::none) << "in the middle of a group";
  EXPECT_EQ(state.take(part(2, 8, 1, 3)), message_effect::none) << "of another group";
  EXPECT_EQ(state.take(part(2, 9, 2, 3)), message_effect::none) << "one is left out";
  EXPECT_EQ(state.take(part(2, 9, 1, 4)), message_effect::none) << "of another number of parts";
  EXPECT_EQ(state.take(part(2, 9, 1, 3)), message_effect::counts);
  EXPECT_EQ(state.take(part(3, 9, 2, 3)), message_effect::counts);
  EXPECT_TRUE(state.whole());
  EXPECT_EQ(state.take(beat(1, 4, 5)), message_effect::counts);
}

TEST(ShardState, AClaimEndsAGroupThatIsNotWhole) {
  ShardState state;
  static_cast<void>(state.take(open(1, 5)));
  static_cast<void>(state.take(part(1, 9, 0, 2)));
  EXPECT_EQ(state.take(open(2, 6)), message_effect::opens);
  EXPECT_TRUE(state.whole());
  EXPECT_EQ(state.take(part(2, 9, 1, 2)), message_effect::none);
}

}  // namespace
}  // namespace mxkv::server

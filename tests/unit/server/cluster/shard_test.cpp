// The cases that the simulation meets by chance, step by step: a log that is answered by hand.
#include "server/cluster/shard.hpp"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/server/cluster/hand_log.hpp"

namespace mxkv::server::by_hand {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(ShardTest, AFollowerAppliesValidGroupsAndJoinsTheirParts) {
  shard.start();
  log.show(0, other_claims(1));
  log.show(1, of_other(message_kind::group, 1, 1, "one"));
  log.show(2, of_other(message_kind::group, 1, 3, "behind a gap"));
  log.show(3, "somebody else's");
  log.show(4, of_other(message_kind::group, 1, 1, "one"));
  EXPECT_THAT(memory.applied, ElementsAre("1:one"));
  EXPECT_EQ(shard.counters().voids, 1U);
  EXPECT_EQ(shard.counters().discarded, 1U);
  EXPECT_EQ(shard.counters().last_flaw, message_flaw::foreign);
  EXPECT_EQ(shard.counters().repeats, 1U);
  EXPECT_EQ(shard.position(), 5U);
}

TEST_F(ShardTest, ClaimsWhenItHearsNothingAndNotBefore) {
  shard.start();
  log.show(0, other_claims(1));
  for (std::uint64_t beat = 1; beat < 20; ++beat) {
    pass_s(1);
    log.show(beat, of_other(message_kind::beat, 1, beat));
  }
  EXPECT_THAT(log.sent, IsEmpty());
  pass_s(5);
  ASSERT_EQ(log.sent.size(), 1U);
  EXPECT_EQ(log.message(0).kind, message_kind::open);
  EXPECT_EQ(log.message(0).term, 2U);
  EXPECT_EQ(parse_claim(log.message(0).body).address, "me");
}

TEST_F(ShardTest, ServesOnlyWhenTheLeaseBeforeIsOverForCertain) {
  shard.start();
  log.show(0, other_claims(1));
  while (log.sent.empty()) {
    pass_s(1);
  }
  log.show(1, of_other(message_kind::beat, 1, 1));  // the other owner was not silent for long enough
  log.show(2, log.sent[0].first);
  ASSERT_EQ(shard.now(), Shard::role::owns);
  log.sent.clear();
  for (std::uint64_t tenths = 0; tenths < 33; ++tenths) {
    clock.advance_us(kSecondUs / 10);
    shard.tick();
    EXPECT_FALSE(shard.serves()) << tenths;
    if (!log.sent.empty()) {
      log.answer(log.sent.size() - 1, {append_outcome::stored, shard.position()});
      log.sent.clear();
    }
  }
  pass_s(1);
  EXPECT_TRUE(shard.serves());
}

TEST_F(ShardTest, AcknowledgesDirectSuccessorsWithoutReading) {
  own();
  shard.submit(7, "abc");
  shard.submit(8, "more than a part");
  ASSERT_EQ(log.sent.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    log.answer(i, {append_outcome::stored, 2 + i});
  }
  EXPECT_THAT(memory.acknowledged_epochs, ElementsAre(7, 8));
  EXPECT_EQ(shard.counters().gaps, 0U);
  EXPECT_EQ(shard.counters().straight, 6U);
}

TEST_F(ShardTest, ReadsAGapBeforeItAnswers) {
  own();
  shard.submit(7, "abc");
  log.answer(0, {append_outcome::stored, 3});
  EXPECT_THAT(memory.acknowledged_epochs, IsEmpty());
  ASSERT_TRUE(log.is_read());
  EXPECT_EQ(log.reads_from, 2U);
  log.show(2, "somebody else's");
  EXPECT_THAT(memory.acknowledged_epochs, IsEmpty());
  log.show(3, log.sent[0].first);
  EXPECT_THAT(memory.acknowledged_epochs, ElementsAre(7));
  EXPECT_FALSE(log.is_read());
}

TEST_F(ShardTest, IsOustedByAClaimInAGapAndAnswersNothing) {
  own();
  memory.start = ShardStart{};
  shard.submit(7, "abc");
  log.answer(0, {append_outcome::stored, 3});
  log.show(2, other_claims(2));
  EXPECT_EQ(memory.ousted_times, 1);
  EXPECT_THAT(memory.acknowledged_epochs, IsEmpty());
  EXPECT_FALSE(shard.serves());
  EXPECT_EQ(shard.now(), Shard::role::follows);
  EXPECT_EQ(log.reads_from, 0U) << "memory holds what is void";
}

TEST_F(ShardTest, ItsOwnClaimOfAFormerTermIsNoneWhenItIsReadAgain) {
  shard.start();
  pass_s(5);
  const std::string claim = log.sent[0].first;
  log.show(0, claim);
  memory.start = ShardStart{};
  pass_s(1);
  log.answer(1, {append_outcome::stored, 2});
  log.show(1, other_claims(2));
  ASSERT_EQ(log.reads_from, 0U);
  log.sent.clear();
  pass_s(5);  // claims the first term again, because it has read nothing yet
  ASSERT_EQ(log.message(0).term, 1U);
  log.show(0, claim);
  EXPECT_EQ(shard.now(), Shard::role::follows);
}

TEST_F(ShardTest, UnacknowledgedMessagesAreAppendedAgainInOrder) {
  own();
  shard.submit(7, "a");
  shard.submit(8, "b");
  log.answer(0, {append_outcome::unknown, 0});
  shard.submit(9, "c");
  EXPECT_EQ(log.sent.size(), 2U) << "behind what may be missing nothing counts";
  pass_s(1);
  EXPECT_EQ(log.sent.size(), 2U) << "a copy is under way";
  log.answer(1, {append_outcome::refused, 0});
  pass_s(1);
  ASSERT_EQ(log.sent.size(), 5U);
  EXPECT_EQ(log.sent[2].first, log.sent[0].first);
  EXPECT_EQ(log.sent[3].first, log.sent[1].first);
  EXPECT_EQ(shard.counters().again, 1U);
  for (std::size_t i = 2; i < 5; ++i) {
    log.answer(i, {append_outcome::stored, i});
  }
  EXPECT_THAT(memory.acknowledged_epochs, ElementsAre(7, 8, 9));
}

TEST_F(ShardTest, TheLeaseCountsFromTheFirstSending) {
  own();
  shard.submit(7, "a");
  pass_s(2);
  log.answer(0, {append_outcome::unknown, 0});
  pass_s(2);
  ASSERT_EQ(log.sent.size(), 2U);
  log.answer(1, {append_outcome::stored, 2});
  EXPECT_THAT(memory.acknowledged_epochs, ElementsAre(7));
  EXPECT_FALSE(shard.serves()) << "sent four seconds ago";
}

TEST_F(ShardTest, WaitsForTheLeaseOfTheOwnerAndNotForItsOwn) {
  shard.start();
  log.show(0, other_claims(1, 20));
  pass_s(20);
  EXPECT_THAT(log.sent, IsEmpty()) << "the owner says something only every seven seconds";
  log.show(1, of_other(message_kind::beat, 1, 1));
  while (log.sent.empty()) {
    pass_s(1);
  }
  log.show(2, of_other(message_kind::beat, 1, 2));  // the other owner was not silent for long enough
  log.show(3, log.sent[0].first);
  ASSERT_EQ(shard.now(), Shard::role::owns);
  for (std::size_t answered = 1; answered <= 22; ++answered) {
    pass_s(1);
    ASSERT_EQ(log.sent.size(), answered + 1) << "its beats go by its own lease";
    log.answer(answered, {append_outcome::stored, 3 + answered});
    EXPECT_FALSE(shard.serves()) << answered;
  }
  pass_s(1);
  EXPECT_TRUE(shard.serves());
}

TEST_F(ShardTest, ALongerLeaseCountsForLaterMessages) {
  own();
  shard.submit(7, "a");
  shard.set_lease(20 * kSecondUs * 1000);
  shard.tick();
  ASSERT_EQ(log.sent.size(), 2U);
  EXPECT_EQ(parse_lease(log.message(1).body), 20 * kSecondUs * 1000);
  log.answer(0, {append_outcome::stored, 2});
  pass_s(4);
  EXPECT_FALSE(shard.serves()) << "nobody may have read of the longer one";
  log.answer(1, {append_outcome::stored, 3});
  pass_s(15);
  EXPECT_TRUE(shard.serves());
}

TEST_F(ShardTest, AShorterLeaseCountsFromWhenItIsSent) {
  own();
  shard.submit(7, "a");
  shard.set_lease(kSecondUs * 1000);
  shard.tick();
  ASSERT_EQ(log.sent.size(), 2U);
  EXPECT_TRUE(shard.serves());
  clock.advance_us(kSecondUs + 1);
  EXPECT_FALSE(shard.serves()) << "whoever read it does not wait for more";
  log.answer(0, {append_outcome::stored, 2});
  EXPECT_FALSE(shard.serves()) << "what was sent before keeps no longer lease either";
}

TEST_F(ShardTest, AClaimCarriesTheLeaseOfItsOwner) {
  shard.start();
  pass_s(5);
  ASSERT_EQ(log.sent.size(), 1U);
  EXPECT_EQ(parse_claim(log.message(0).body).lease_ns, options().lease_ns);
  shard.set_lease(20 * kSecondUs * 1000);
  const std::uint64_t claimed_ns = clock.monotonic_ns();
  log.show(0, log.sent[0].first);
  ASSERT_EQ(shard.now(), Shard::role::owns);
  EXPECT_LE(shard.lease_until_ns(), claimed_ns + options().lease_ns) << "the claim told that one";
  shard.tick();
  EXPECT_EQ(parse_lease(log.message(1).body), 20 * kSecondUs * 1000);
}

TEST_F(ShardTest, WaitsLongerWhereOwnersThatWereReplacedLived) {
  shard.start();
  log.show(0, other_claims(1));
  log.show(1, other_claims(2));
  log.show(2, of_other(message_kind::beat, 1, 1));  // the first owner is alive
  pass_s(6);
  EXPECT_THAT(log.sent, IsEmpty()) << "two leases at least";
  pass_s(4);
  EXPECT_EQ(log.sent.size(), 1U);
  log.show(3, other_claims(3));
  log.sent.clear();
  pass_s(5);
  EXPECT_THAT(log.sent, IsEmpty()) << "the second one said nothing more, but the first is not forgotten";
  clock.advance_us(200 * kSecondUs);
  shard.tick();
  pass_s(5);
  EXPECT_EQ(log.sent.size(), 1U) << "it was quiet";
}

TEST_F(ShardTest, DoesNotWaitLongerForOneThatDied) {
  shard.start();
  log.show(0, other_claims(1));
  log.show(1, other_claims(2));
  pass_s(5);
  EXPECT_EQ(log.sent.size(), 1U);
}

TEST_F(ShardTest, LeavesWhenAllIsAcknowledgedAndServesNoMore) {
  own();
  shard.submit(7, "a");
  shard.leave(kOther);
  EXPECT_FALSE(shard.serves());
  log.answer(0, {append_outcome::stored, 2});
  EXPECT_EQ(shard.now(), Shard::role::leaves);
  log.answer(1, {append_outcome::stored, 3});
  EXPECT_EQ(shard.now(), Shard::role::follows);
  EXPECT_EQ(shard.state().left_to(), kOther);
  pass_s(3);
  EXPECT_EQ(log.sent.size(), 2U) << "whom it was left to comes first";
}

TEST_F(ShardTest, ClaimsAShardHandedOverToItAndServesAtOnce) {
  shard.start();
  log.show(0, other_claims(1));
  log.show(1, of_other(message_kind::yield, 1, 1, write_node(kMe)));
  shard.tick();
  clock.advance_us(1000);
  shard.tick();
  ASSERT_EQ(log.sent.size(), 1U);
  log.show(2, log.sent[0].first);
  EXPECT_TRUE(shard.serves());
}

TEST_F(ShardTest, TakesNoPartWhereItsLogWasCutOff) {
  shard.start();
  log.cut();
  pass_s(20);
  EXPECT_EQ(shard.now(), Shard::role::stranded);
  EXPECT_TRUE(memory.is_stranded);
  EXPECT_THAT(log.sent, IsEmpty());
  EXPECT_FALSE(log.is_read());
}

TEST_F(ShardTest, TakesNoPartWhereItsLogHasAHole) {
  shard.start();
  log.show(0, other_claims(1));
  log.show(2, of_other(message_kind::beat, 1, 1));
  EXPECT_EQ(shard.now(), Shard::role::stranded);
  pass_s(20);
  EXPECT_THAT(log.sent, IsEmpty());
}

TEST_F(ShardTest, AnOwnerThatCannotReadAGapAnswersNothing) {
  own();
  shard.submit(7, "abc");
  log.answer(0, {append_outcome::stored, 3});
  log.cut();
  EXPECT_TRUE(memory.is_stranded);
  EXPECT_FALSE(shard.serves());
  EXPECT_EQ(memory.ousted_times, 0) << "it may count: it is not said to be void";
  EXPECT_THAT(memory.acknowledged_epochs, IsEmpty());
}

TEST_F(ShardTest, ANodeThatStoodStillDoesNotClaimBeforeItHasRead) {
  shard.start();
  log.show(0, other_claims(1));
  pass_s(1);
  clock.advance_us(20 * kSecondUs);
  shard.tick();
  EXPECT_THAT(log.sent, IsEmpty());
}

TEST_F(ShardTest, ANodeThatDoesNotReadDoesNotTakeThatForSilence) {
  shard.start();
  log.show(0, other_claims(1));
  for (int tenths = 0; tenths < 200; ++tenths) {
    clock.advance_us(kSecondUs / 10);
    shard.tick(tenths % 5 == 4);  // now and then a message of another shard is read
  }
  EXPECT_THAT(log.sent, IsEmpty());
  pass_s(2);
  EXPECT_THAT(log.sent, IsEmpty()) << "what came meanwhile is not read yet";
  pass_s(4);
  EXPECT_EQ(log.sent.size(), 1U);
}

}  // namespace
}  // namespace mxkv::server::by_hand

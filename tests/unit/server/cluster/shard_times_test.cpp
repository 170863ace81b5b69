// What a shard does by time alone: beats, claims and repeated appends.
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "server/cluster/shard.hpp"
#include "tests/unit/server/cluster/hand_log.hpp"

namespace mxkv::server::by_hand {
namespace {

using ::testing::IsEmpty;

using ShardTimes = ShardTest;

TEST_F(ShardTimes, AnOwnerThatIsHeardElsewhereIsWaitedForLonger) {
  shard.start();
  log.show(0, other_claims(1));
  log.show(1, of_other(message_kind::beat, 1, 1));
  const auto pass = [this](std::uint64_t seconds, bool owner_lives) {
    for (std::uint64_t tenths = 0; tenths < 10 * seconds; ++tenths) {
      clock.advance_us(kSecondUs / 10);
      shard.tick(true, owner_lives);
    }
  };
  pass(11, true);
  EXPECT_THAT(log.sent, IsEmpty());
  EXPECT_GT(shard.counters().spared, 1U);
  pass(3, true);
  EXPECT_EQ(log.sent.size(), 1U) << "it may be cut off from this log alone";
}

TEST_F(ShardTimes, AnOwnerThatHasLeftIsNotWaitedFor) {
  shard.start();
  log.show(0, other_claims(1));
  pass_s(1);
  log.show(1, of_other(message_kind::yield, 1, 1, write_node(kMe)));
  shard.tick(true, true);
  EXPECT_EQ(log.sent.size(), 1U);
}

TEST_F(ShardTimes, ThePreferredNodeClaimsFirst) {
  for (std::uint64_t seed = 1; seed < 50; ++seed) {
    ShardOptions first = options();
    first.preferred = true;
    first.seed = seed;
    ShardOptions second = options();
    second.seed = seed;
    HandLog first_log;
    HandLog second_log;
    Shard preferred{first, first_log, memory, clock, {}};
    Shard other{second, second_log, memory, clock, {}};
    preferred.start();
    other.start();
    while (first_log.sent.empty()) {
      ASSERT_THAT(second_log.sent, IsEmpty());
      clock.advance_us(kSecondUs / 100);
      preferred.tick();
      other.tick();
    }
  }
}

TEST_F(ShardTimes, AppendsThatFailAreRepeatedEverMoreRarely) {
  own();
  std::size_t refused = 0;
  for (int twentieths = 0; twentieths < 400; ++twentieths) {
    clock.advance_us(kSecondUs / 20);
    shard.tick();
    for (; refused < log.sent.size(); ++refused) {
      log.answer(refused, {append_outcome::refused, 0});
    }
  }
  EXPECT_GT(refused, 20U);
  EXPECT_LT(refused, 90U) << "not at each of 400 ticks";
  ASSERT_EQ(shard.unanswered(), 1U);
  pass_s(1);
  log.answer(log.sent.size() - 1, {append_outcome::stored, 2});
  EXPECT_EQ(shard.unanswered(), 0U);
}

// A reader of many logs, and each broker that copies them, gets the beats of one moment by one request.
TEST_F(ShardTimes, BeatsOfIdleShardsAreSentTogether) {
  constexpr std::size_t kShards = 24;
  constexpr int kSeconds = 60;
  struct One {
    HandLog log;
    Memory memory;
    std::unique_ptr<Shard> shard;
    std::size_t answered = 0;
    std::uint64_t last_ns = 0;
    std::size_t beats = 0;
  };
  std::vector<std::unique_ptr<One>> all;
  std::size_t moments = 0;
  std::uint64_t longest_ns = 0;
  const auto turn = [&](bool counts) {
    clock.advance_us(kSecondUs / 20);
    bool any = false;
    for (const std::unique_ptr<One>& one : all) {
      one->shard->tick();
      for (; one->answered < one->log.sent.size(); ++one->answered) {
        const std::string bytes = one->log.sent[one->answered].first;
        one->log.answer(one->answered, {append_outcome::stored, one->answered});
        if (one->log.is_read()) {
          one->log.show(one->answered, bytes);
        }
        longest_ns = counts ? std::max(longest_ns, clock.monotonic_ns() - one->last_ns) : 0;
        one->last_ns = clock.monotonic_ns();
        one->beats += counts ? 1 : 0;
        any = true;
      }
    }
    moments += counts && any ? 1 : 0;
  };
  for (std::size_t i = 0; i < kShards; ++i) {
    auto one = std::make_unique<One>();
    ShardOptions chosen = options();
    chosen.seed = i + 1;
    one->shard = std::make_unique<Shard>(chosen, one->log, one->memory, clock, ShardStart{});
    one->shard->start();
    all.push_back(std::move(one));
    turn(false);
    turn(false);
  }
  for (int i = 0; i < 200; ++i) {
    turn(false);
  }
  for (int i = 0; i < 20 * kSeconds; ++i) {
    turn(true);
  }
  for (const std::unique_ptr<One>& one : all) {
    EXPECT_TRUE(one->shard->serves());
    EXPECT_LE(one->beats, kSeconds + 2U) << "three a lease";
  }
  EXPECT_LE(moments, 2U * kSeconds + 2U) << "of " << 20 * kSeconds << " ticks";
  EXPECT_LE(longest_ns, options().lease_ns / 6 * 9 / 4 + 50'000'000);
}

}  // namespace
}  // namespace mxkv::server::by_hand

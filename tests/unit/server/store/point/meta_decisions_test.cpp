// Who wins an item, and what T, N and R make of its time to live (protocol rules 34, 35).
#include "server/store/point/meta_decisions.hpp"

#include <initializer_list>
#include <string>

#include "tests/unit/protocol/parsed_line.hpp"
#include "tests/unit/server/store/item_maker.hpp"

namespace mxkv::server::test {
namespace {

constexpr std::uint64_t kNow = 1'700'000'000;
constexpr std::uint64_t kNowUs = kNow * 1'000'000;

protocol::MetaFlags flags_of(const std::string& flags) {
  const protocol::ParsedLine line("mg k " + flags + "\r\n");
  EXPECT_TRUE(line.accepted()) << flags;
  return line->meta;
}

class MetaDecisions : public ItemTest {
 protected:
  bool wins_with(const std::string& flags, std::uint32_t expiry, std::uint32_t marks) {
    return grants_recache(*make({.key = "k", .expiry = expiry, .marks = marks}, "v"), flags_of(flags),
                          {kNowUs, clock_});
  }

  const runtime::ManualClock clock_{kNowUs};
};

TEST_F(MetaDecisions, AStaleItemIsWonOnce) {
  for (const std::string flags : {"v", "q", "R30", "u", "T30"}) {
    EXPECT_TRUE(wins_with(flags, 0, Item::kStale)) << flags;
    EXPECT_FALSE(wins_with(flags, 0, Item::kStale | Item::kWon)) << flags;
  }
  EXPECT_FALSE(wins_with("v", 0, 0));
  EXPECT_FALSE(wins_with("v", 0, Item::kBinary));
}

TEST_F(MetaDecisions, RecacheWinsBelowItsTimeAlone) {
  constexpr std::uint32_t in_30_s = kNow + 30;
  EXPECT_TRUE(wins_with("R31", in_30_s, 0));
  EXPECT_FALSE(wins_with("R30", in_30_s, 0));
  EXPECT_FALSE(wins_with("R29", in_30_s, 0));
  EXPECT_FALSE(wins_with("R31", in_30_s, Item::kWon));
  EXPECT_FALSE(wins_with("R31", 0, 0)) << "for ever is never too little";
  EXPECT_FALSE(wins_with("R0", in_30_s, 0));
  EXPECT_FALSE(wins_with("R-1", in_30_s, 0));
}

TEST_F(MetaDecisions, ATouchCountsBeforeRecacheOnly) {
  constexpr std::uint32_t in_30_s = kNow + 30;
  EXPECT_FALSE(wins_with("T100 R60", in_30_s, 0));
  EXPECT_TRUE(wins_with("R60 T100", in_30_s, 0));
  EXPECT_TRUE(wins_with("T10 R60", kNow + 1000, 0));
  EXPECT_FALSE(wins_with("R60 T10", kNow + 1000, 0));
}

TEST_F(MetaDecisions, ExpiryFollowsTheOrderSent) {
  EXPECT_EQ(expiry_after(flags_of("v"), 7, false, {kNowUs, clock_}), 7U);
  EXPECT_EQ(expiry_after(flags_of("T10"), 7, false, {kNowUs, clock_}), kNow + 10);
  EXPECT_EQ(expiry_after(flags_of("N20"), 7, false, {kNowUs, clock_}), 7U);
  EXPECT_EQ(expiry_after(flags_of("T10 N20"), 0, true, {kNowUs, clock_}), kNow + 20);
  EXPECT_EQ(expiry_after(flags_of("N20 T10"), 0, true, {kNowUs, clock_}), kNow + 10);
  EXPECT_EQ(expiry_after(flags_of("T-1"), 7, false, {kNowUs, clock_}), 1U);
  EXPECT_EQ(expiry_after(flags_of("T0"), 7, false, {kNowUs, clock_}), 0U);
}

TEST_F(MetaDecisions, ACompareThatMatchesSparesTheValue) {
  const Owned item = make({.key = "k", .unique_field = true, .unique = 5}, "v");
  EXPECT_EQ(answer_of_get(*item, flags_of("v C5")).code, protocol::meta_code::done);
  EXPECT_EQ(answer_of_get(*item, flags_of("v C6")).code, protocol::meta_code::value);
  EXPECT_EQ(answer_of_get(*item, flags_of("C6")).code, protocol::meta_code::done);
  EXPECT_EQ(answer_of_get(*item, flags_of("v")).code, protocol::meta_code::value);
}

}  // namespace
}  // namespace mxkv::server::test

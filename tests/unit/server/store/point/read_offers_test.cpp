// When reads are offered, and when they stop being offered.
#include "server/store/point/read_offers.hpp"

#include <gtest/gtest.h>

namespace mxkv::server {
namespace {

constexpr auto kParked = [] { return true; };
constexpr auto kBusy = [] { return false; };

int wanted(ReadOffers& offers, int asked) {
  int yes = 0;
  for (int i = 0; i < asked; ++i) {
    yes += offers.wanted(kBusy) ? 1 : 0;
  }
  return yes;
}

TEST(ReadOffers, TheFirstReadsOfARoundStay) {
  ReadOffers offers;
  EXPECT_EQ(offers.beyond(64, 63, 1), 0U);
  EXPECT_EQ(offers.beyond(64, 63, 1), 62U);
  EXPECT_EQ(offers.beyond(64, 63, 1), 63U);
  EXPECT_EQ(offers.beyond(64, 63, 2), 0U) << "another round";
  EXPECT_EQ(offers.beyond(0, 5, 3), 5U);
}

TEST(ReadOffers, OnlyWhereAWorkerIsParkedOrTookAReadAMomentAgo) {
  ReadOffers offers;
  EXPECT_EQ(wanted(offers, 10), 0);
  EXPECT_TRUE(offers.wanted(kParked));
  EXPECT_EQ(wanted(offers, 10), 0);
  offers.taken();
  const int hope = wanted(offers, 100);
  EXPECT_GT(hope, 0);
  EXPECT_LT(hope, 100);
}

TEST(ReadOffers, OffersInVainPauseForAWhile) {
  ReadOffers offers;
  for (int i = 0; i < 100; ++i) {
    offers.kept();
    offers.taken();
  }
  EXPECT_TRUE(offers.wanted(kParked)) << "some were taken";
  for (int i = 0; i < 100; ++i) {
    offers.kept();
  }
  EXPECT_FALSE(offers.wanted(kParked));
  int pause = 1;
  while (!offers.wanted(kParked)) {
    ++pause;
  }
  EXPECT_LT(pause, 1000);
  offers.cut();
  EXPECT_FALSE(offers.wanted(kParked));
}

TEST(ReadOffers, RowsAreAsLongAsTheirRepliesHaveRoom) {
  ReadOffers offers;
  EXPECT_EQ(offers.row(32, 12'000), 32U);
  offers.note_replies(8, 8'000);
  EXPECT_LE(offers.row(32, 12'000), 12U);
  EXPECT_GE(offers.row(32, 12'000), 8U);
  for (int i = 0; i < 100; ++i) {
    offers.note_replies(32, 3'200);
  }
  EXPECT_EQ(offers.row(32, 12'000), 32U) << "shorter ones again";
}

}  // namespace
}  // namespace mxkv::server

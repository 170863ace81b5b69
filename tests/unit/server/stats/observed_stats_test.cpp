// The number of requests, estimated from a sample of them: as often right as promised.
#include "server/stats/observed_stats.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "runtime/base/random_gap.hpp"

namespace mxkv::server {
namespace {

TEST(RequestsAbout, WhereEachRequestIsMetItIsExact) {
  for (const std::uint64_t met : {0U, 1U, 7U, 12345U}) {
    const RequestsAbout found = requests_about(met, 0, 1);
    EXPECT_EQ(found.about, met);
    EXPECT_EQ(found.least, met);
    EXPECT_EQ(found.most, met);
  }
}

TEST(RequestsAbout, KeysUnknownToTheSketchWidenTheBounds) {
  const RequestsAbout found = requests_about(10, 4, 1);
  EXPECT_EQ(found.about, 12U);
  EXPECT_EQ(found.least, 10U);
  EXPECT_EQ(found.most, 14U);
}

TEST(RequestsAbout, OfAFewSamplesItSaysHowLittleIsKnown) {
  const RequestsAbout found = requests_about(2, 0, 64);
  EXPECT_EQ(found.about, 128U);
  EXPECT_LT(found.least, 64U);
  EXPECT_GE(found.least, 2U) << "so many were seen";
  EXPECT_GT(found.most, 256U);
}

TEST(RequestsAbout, TheTruthIsBetweenInNineteenOfTwentyCases) {
  constexpr std::uint64_t kRequests = 3000;
  constexpr int kCases = 2000;
  runtime::RandomGap gap{1};
  gap.set_mean(64);
  int between = 0;
  double sum = 0;
  for (int i = 0; i < kCases; ++i) {
    std::uint64_t met = 0;
    for (std::uint64_t at = gap.next(); at <= kRequests; at += gap.next()) {
      ++met;
    }
    const RequestsAbout found = requests_about(met, 0, 64);
    between += found.least <= kRequests && kRequests <= found.most ? 1 : 0;
    sum += static_cast<double>(found.about);
  }
  EXPECT_NEAR(between, kCases * 19 / 20, kCases / 50);
  EXPECT_NEAR(sum / kCases / kRequests, 1, 0.02);
}

}  // namespace
}  // namespace mxkv::server

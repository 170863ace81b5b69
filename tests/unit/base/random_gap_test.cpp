// Gaps have the wanted mean, and no rhythm.
#include "runtime/base/random_gap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace mxkv::runtime {
namespace {

TEST(RandomGap, OfOneEachIsChosen) {
  RandomGap gap{7};
  gap.set_mean(1);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(gap.next(), 1U);
  }
}

TEST(RandomGap, TheMeanIsAsAskedFor) {
  constexpr std::uint64_t kGaps = 100'000;
  for (const std::uint32_t mean : {2U, 64U, 1'000'000U}) {
    RandomGap gap{mean};
    gap.set_mean(mean);
    double sum = 0;
    for (std::uint64_t i = 0; i < kGaps; ++i) {
      const std::uint64_t next = gap.next();
      ASSERT_GE(next, 1U);
      sum += static_cast<double>(next);
    }
    EXPECT_NEAR(sum / kGaps / mean, 1, 0.02) << mean;
  }
}

// Of every period each place is met alike.
TEST(RandomGap, MeetsNoRhythmOfWhatIsSampled) {
  constexpr std::uint64_t kSamples = 40'000;
  for (const std::uint64_t period : {2U, 3U, 4U, 64U, 128U}) {
    RandomGap gap{period};
    gap.set_mean(64);
    std::array<std::uint64_t, 128> met{};
    std::uint64_t at = 0;
    for (std::uint64_t i = 0; i < kSamples; ++i) {
      at += gap.next();
      ++met[at % period];
    }
    for (std::uint64_t place = 0; place < period; ++place) {
      EXPECT_NEAR(static_cast<double>(met[place]) * static_cast<double>(period) / kSamples, 1, 0.3)
          << place << " of " << period;
    }
  }
}

}  // namespace
}  // namespace mxkv::runtime

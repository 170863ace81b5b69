// The meaning of exptimes: relative ones by the steady time, absolute ones by the wall clock at that moment
// (protocol rule 13).
#include "server/store/item/expiry.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>

namespace mxkv::server::test {
namespace {

constexpr std::uint64_t kStart = 1'700'000'000;
constexpr std::uint64_t kUsPerS = 1'000'000;

class Expiry : public testing::Test {
 protected:
  /// Sets the wall clock, without a microsecond passing.
  void set_wall(std::int64_t ahead_s) {
    clock_.set_wall_us((kStart + static_cast<std::uint64_t>(ahead_s)) * kUsPerS);
  }
  [[nodiscard]] std::uint32_t of(std::int64_t exptime) const {
    return expiry_from(exptime, {clock_.steady_us(), clock_});
  }

  runtime::ManualClock clock_{kStart * kUsPerS};
};

TEST_F(Expiry, RelativeTimesCountFromTheSteadyTimeHoweverTheWallClockIsSet) {
  for (const std::int64_t ahead_s : {0LL, 7200LL, -86'400LL, -1'700'000'000LL}) {
    set_wall(ahead_s);
    EXPECT_EQ(of(0), 0U);
    EXPECT_EQ(of(1), kStart + 1);
    EXPECT_EQ(of(kRelativeSecondsAtMost), kStart + kRelativeSecondsAtMost);
    EXPECT_EQ(of(-1), 1U);
    EXPECT_EQ(of(kNegativeIn32Bits), 1U);
  }
}

TEST_F(Expiry, AbsoluteTimesLeaveTheRestByTheWallClock) {
  for (const std::int64_t ahead_s : {0LL, 7200LL, -86'400LL}) {
    set_wall(ahead_s);
    const auto wall = static_cast<std::int64_t>(kStart) + ahead_s;
    EXPECT_EQ(of(wall + 100), kStart + 100) << ahead_s;
    EXPECT_EQ(of(wall + 1), kStart + 1) << ahead_s;
    EXPECT_EQ(of(wall), 1U) << ahead_s;
    EXPECT_EQ(of(wall - 100), 1U) << ahead_s;
  }
}

TEST_F(Expiry, FarTimesAreCutWhereTheyDoNotFit) {
  for (const std::int64_t ahead_s : {0LL, 7200LL, -1'700'000'000LL}) {
    set_wall(ahead_s);
    EXPECT_EQ(of(INT64_MAX), 0xFFFF'FFFFU) << ahead_s;
    EXPECT_EQ(of(std::int64_t{1} << 40U), 0xFFFF'FFFFU) << ahead_s;
  }
}

// With a wall clock at 1970, as on a board without one of its own: the rest of an absolute time is long, not
// short.
TEST_F(Expiry, AnAbsoluteTimeIsNeverTakenForARelativeOne) {
  runtime::ManualClock young{60 * kUsPerS};
  young.set_wall_us(kStart * kUsPerS);
  EXPECT_EQ(expiry_from(kStart + 100, {young.steady_us(), young}), 160U);
  EXPECT_EQ(expiry_from(kStart - 100, {young.steady_us(), young}), 1U);
}

}  // namespace
}  // namespace mxkv::server::test

// When the balancer asks a worker to give connections away, window by window.
#include "server/net/worker/balancer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace mxkv::server::test {
namespace {

using what = Balancer::Advice::what;

constexpr std::uint64_t kWindowNs = 250'000'000;

/// Three workers; the balancer belongs to the first one, which is always busy.
class BalancerTest : public testing::Test {
 protected:
  static std::vector<BalancePeer> peers(const std::array<runtime::IdleClock, 3>& clocks) {
    std::vector<BalancePeer> all;
    for (const runtime::IdleClock& clock : clocks) {
      all.push_back({runtime::NumaNodeId{0}, &clock});
    }
    return all;
  }
  BalancerTest() {
    static_cast<void>(balancer.look(now_ns));
    EXPECT_FALSE(balancer.due(now_ns));
  }
  /// A window in which another worker was idle for so many thousandths of the time.
  what window(std::uint64_t first_idle, std::uint64_t second_idle) {
    const std::array<std::uint64_t, 3> idle{0, first_idle, second_idle};
    for (std::size_t i = 1; i < clocks.size(); ++i) {
      if (idle[i] > 0) {
        clocks[i].start(now_ns);
        clocks[i].stop(now_ns + kWindowNs / 1000 * idle[i]);
      }
    }
    now_ns += kWindowNs;
    EXPECT_TRUE(balancer.due(now_ns));
    last = balancer.look(now_ns);
    return last.action;
  }

  std::uint64_t now_ns = 1'000 * kWindowNs;
  std::array<runtime::IdleClock, 3> clocks;
  config::BalanceOptions options{.window_ms = 250};
  Balancer balancer{peers(clocks), 0, options};
  Balancer::Advice last;
};

TEST_F(BalancerTest, AGapIsNotedInItsFirstWindowAndClosedInItsSecond) {
  EXPECT_EQ(window(0, 900), what::note);
  EXPECT_EQ(window(0, 900), what::give);
  EXPECT_EQ(last.taker, 2U);
  EXPECT_EQ(last.busy, 1000U);
  EXPECT_EQ(last.gap, 900U);
}

TEST_F(BalancerTest, AGapThatPassesIsNone) {
  EXPECT_EQ(window(900, 0), what::note);
  EXPECT_EQ(window(0, 0), what::nothing);
  EXPECT_EQ(window(900, 0), what::note);
  EXPECT_EQ(window(900, 0), what::give);
}

TEST_F(BalancerTest, AMoveHasTimeToTakeEffect) {
  EXPECT_EQ(window(900, 900), what::note);
  EXPECT_EQ(window(900, 900), what::give);
  balancer.gave(4);
  EXPECT_EQ(window(900, 900), what::nothing);
  EXPECT_EQ(window(900, 900), what::nothing);
  EXPECT_EQ(window(900, 900), what::note);
  EXPECT_EQ(window(900, 900), what::give);
}

TEST_F(BalancerTest, WhereNothingHelpsLooksGetRarerUpToABound) {
  std::vector<int> quiet;
  for (int give = 0; give < 5; ++give) {
    int windows = 0;
    while (window(1000, 1000) == what::nothing) {
      ++windows;
    }
    EXPECT_EQ(last.action, what::note);
    EXPECT_EQ(window(1000, 1000), what::give);
    quiet.push_back(windows);
    balancer.gave(0);
  }
  EXPECT_EQ(quiet, (std::vector<int>{0, 2, 4, 8, 8}));
}

TEST_F(BalancerTest, AWorkerThatSleepsIsSeenToBeIdle) {
  clocks[1].start(now_ns);
  clocks[2].start(now_ns);
  EXPECT_EQ(window(0, 0), what::note);
  EXPECT_EQ(window(0, 0), what::give);
  EXPECT_EQ(last.gap, 1000U);
}

TEST_F(BalancerTest, AWindowInWhichThisWorkerSleptSaysNothing) {
  EXPECT_EQ(window(900, 900), what::note);
  now_ns += 100 * kWindowNs;
  EXPECT_EQ(window(900, 900), what::nothing);
  EXPECT_EQ(window(900, 900), what::note);
}

TEST(Balancer, IsNeverDueWhereItIsOffOrAlone) {
  const runtime::IdleClock clock;
  const std::vector<BalancePeer> two(2, {runtime::NumaNodeId{0}, &clock});
  EXPECT_FALSE(Balancer(two, 0, {.mode = config::balance_mode::off}).due(1'000 * kWindowNs));
  EXPECT_FALSE(Balancer({two[0]}, 0, {}).due(1'000 * kWindowNs));
  EXPECT_TRUE(Balancer(two, 0, {}).due(1'000 * kWindowNs));
}

}  // namespace
}  // namespace mxkv::server::test

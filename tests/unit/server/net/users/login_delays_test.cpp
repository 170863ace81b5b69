// How long wrong passwords delay their connection and their address, and that the table stays small.
#include "server/net/users/login_delays.hpp"

#include <gtest/gtest.h>

namespace mxkv::server {
namespace {

TEST(LoginDelays, TheFirstOnesOfAConnectionAreFreeThenTheTimeDoublesUpToALimit) {
  const LoginDelays delays{LoginRules{}};
  std::vector<std::uint32_t> found;
  for (std::uint32_t failures = 0; failures < 11; ++failures) {
    found.push_back(delays.delay_ms("1.2.3.4", failures, 0));
  }
  EXPECT_EQ(found, (std::vector<std::uint32_t>{0, 0, 0, 100, 200, 400, 800, 1600, 3200, 5000, 5000}));
}

TEST(LoginDelays, AnAddressThatConnectsAnewIsHeldUpUntilItWasQuiet) {
  LoginDelays delays{LoginRules{.free_of_client = 2}};
  for (int i = 0; i < 4; ++i) {
    delays.failed("1.2.3.4", 1000);
  }
  EXPECT_EQ(delays.delay_ms("1.2.3.4", 0, 1000), 400U);
  EXPECT_EQ(delays.delay_ms("1.2.3.5", 0, 1000), 0U) << "another one is not";
  EXPECT_EQ(delays.delay_ms("", 0, 1000), 0U) << "this machine's own are not";
  EXPECT_EQ(delays.delay_ms("1.2.3.4", 0, 60'999), 400U);
  EXPECT_EQ(delays.delay_ms("1.2.3.4", 0, 61'000), 0U);
  EXPECT_EQ(delays.failures("1.2.3.4", 60'999), 4U);
  EXPECT_EQ(delays.failures("1.2.3.4", 61'000), 0U);
  delays.failed("1.2.3.4", 61'000);
  EXPECT_EQ(delays.delay_ms("1.2.3.4", 0, 61'000), 0U) << "it begins anew";
}

TEST(LoginDelays, TheTableIsBoundedAndForgetsTheAddressThatWasQuietForLongest) {
  LoginDelays delays{LoginRules{.free_of_client = 1}};
  for (std::size_t i = 0; i < LoginDelays::kMostClients + 10; ++i) {
    delays.failed(std::to_string(i), i);
  }
  EXPECT_EQ(delays.clients(), LoginDelays::kMostClients);
  EXPECT_EQ(delays.delay_ms("5", 0, 5000), 0U);
  EXPECT_EQ(delays.delay_ms("4000", 0, 5000), 100U);
}

}  // namespace
}  // namespace mxkv::server

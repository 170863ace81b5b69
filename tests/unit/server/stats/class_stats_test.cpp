// How items are shared out to classes in which no counter counts them.
#include "server/stats/class_stats.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace mxkv::server {
namespace {

using Numbers = std::vector<std::uint64_t>;

TEST(SharedOut, IsInProportion) {
  EXPECT_EQ(shared_out(30, {1, 2, 0, 3}), (Numbers{5, 10, 0, 15}));
  EXPECT_EQ(shared_out(7, {0, 9}), (Numbers{0, 7}));
}

TEST(SharedOut, AddsUpToTheWholeWhateverIsRounded) {
  for (const std::uint64_t whole :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{10}, std::uint64_t{999'999'999'989}}) {
    const Numbers parts = shared_out(whole, {1, 1, 1, 7, 0, 3'000'000'001});
    EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}), whole);
    EXPECT_EQ(parts[4], 0U) << "nothing goes to a class without blocks";
  }
}

TEST(SharedOut, IsNothingWhereNothingWeighs) {
  EXPECT_EQ(shared_out(5, {0, 0}), (Numbers{0, 0}));
  EXPECT_EQ(shared_out(5, {}), Numbers{});
}

}  // namespace
}  // namespace mxkv::server

// The treatment of a figure's rounds.
#include "bench/figures/figure.hpp"

#include <gtest/gtest.h>

namespace mxkv::bench {
namespace {

TEST(Figure, TheMedianIsTheMiddleValue) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 3);
  EXPECT_EQ(median({5}), 5);
}

TEST(Figure, NumbersOfWorkersAreReadAndWritten) {
  EXPECT_EQ(worker_numbers("1,2,16"), (std::vector<std::uint64_t>{1, 2, 16}));
  for (const char* const wrong : {"", "0", "257", "1,", ",1", "1;2", "two", "1 ,2"}) {
    EXPECT_TRUE(worker_numbers(wrong).empty()) << wrong;
  }
  const std::vector<std::uint64_t> all = worker_numbers(all_worker_numbers());
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.front(), 1U);
}

}  // namespace
}  // namespace mxkv::bench

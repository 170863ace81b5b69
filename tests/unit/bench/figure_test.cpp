// What becomes of the rounds of a figure.
#include "bench/figures/figure.hpp"

#include <gtest/gtest.h>

namespace mxkv::bench {
namespace {

TEST(Figure, TheMedianIsTheMiddleValue) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 3);
  EXPECT_EQ(median({5}), 5);
}

}  // namespace
}  // namespace mxkv::bench

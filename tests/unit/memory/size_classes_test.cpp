// The table of size classes, exhaustively.
#include "runtime/memory/size_classes.hpp"

#include <gtest/gtest.h>

namespace mxkv::runtime {
namespace {

TEST(SizeClasses, EverySizeGetsTheSmallestClassThatHoldsIt) {
  for (std::size_t bytes = 0; bytes <= kLargestClassBytes; ++bytes) {
    const std::size_t size_class = size_class_for(bytes);
    ASSERT_LT(size_class, kSizeClasses);
    ASSERT_GE(class_bytes(size_class), bytes);
    if (size_class > 0) {
      ASSERT_LT(class_bytes(size_class - 1), bytes);
    }
  }
}

TEST(SizeClasses, ClassesRiseAndEndAtTheSpan) {
  for (std::size_t i = 1; i < kSizeClasses; ++i) {
    EXPECT_LT(class_bytes(i - 1), class_bytes(i));
  }
  EXPECT_EQ(class_bytes(0), kSmallestClassBytes);
  EXPECT_EQ(class_bytes(kSizeClasses - 1), kSpanBytes);
}

TEST(SizeClasses, MultiplesOf64AndAllLargeSizesGetLineMultiples) {
  for (std::size_t bytes = 64; bytes <= kLargestClassBytes; bytes += 64) {
    EXPECT_EQ(class_bytes(size_class_for(bytes)) % 64, 0U) << bytes;
  }
  for (std::size_t bytes = 513; bytes <= kLargestClassBytes; ++bytes) {
    ASSERT_EQ(class_bytes(size_class_for(bytes)) % 64, 0U) << bytes;
  }
}

TEST(SizeClasses, UpTo4KiBAtMostAnEighthOfABlockIsLost) {
  for (std::size_t bytes = 57; bytes <= 4096; ++bytes) {
    const std::size_t lost = class_bytes(size_class_for(bytes)) - bytes;
    ASSERT_LE(lost * 8, bytes + 7) << bytes;
  }
}

TEST(SizeClasses, AtMostOneTwentiethOfASpanIsLeftOver) {
  for (std::size_t i = 0; i < kSizeClasses; ++i) {
    EXPECT_LE(kSpanBytes % class_bytes(i) * 20, kSpanBytes) << class_bytes(i);
  }
}

TEST(SizeClasses, NodesOf896BytesHaveTheirOwnClassAnd73FitASpan) {
  EXPECT_EQ(class_bytes(size_class_for(896)), 896U);
  EXPECT_EQ(kSpanBytes / 896, 73U);
}

TEST(SizeClasses, ASmallItemCostsLessThanFivePercentMoreThanItsBytes) {
  const std::size_t item_bytes = 24 + 100 + 16;
  const std::size_t items_per_span = kSpanBytes / class_bytes(size_class_for(item_bytes));
  const std::size_t span_and_table = kSpanBytes + 64;
  EXPECT_LT(span_and_table * 100, items_per_span * item_bytes * 105);
}

}  // namespace
}  // namespace mxkv::runtime

// Result: holds a value or an error, never both, and says so before anything is taken out.
#include "runtime/base/result.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace mxkv::runtime {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) {
    return Error{"odd"};
  }
  return number / 2;
}

TEST(Result, HoldsTheValueOnSuccess) {
  const Result<int> result = half(8);
  EXPECT_TRUE(result.ok());
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(result.value(), 4);
}

TEST(Result, HoldsTheMessageOnFailure) {
  const Result<int> result = half(7);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "odd");
}

TEST(Result, GivesUpAValueThatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> result{std::make_unique<int>(3)};
  *result.value() = 5;
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 5);
}

TEST(Result, TellsAValueOfTypeErrorsMessageFromAnError) {
  const Result<std::string> fine{std::string{"all well"}};
  EXPECT_TRUE(fine.ok());
  EXPECT_EQ(fine.value(), "all well");
}

TEST(ResultDeathTest, AbortsInsteadOfReadingTheOtherHalf) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(static_cast<void>(half(7).value()), "value\\(\\) of a failed Result");
  EXPECT_DEATH(static_cast<void>(half(8).error()), "error\\(\\) of a Result that holds a value");
}

}  // namespace
}  // namespace mxkv::runtime

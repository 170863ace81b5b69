// Objects that are hot and objects that have cooled, by counts in a window of time.
#include "runtime/scheduler/write_heat.hpp"

#include <gtest/gtest.h>

#include <array>

namespace mxkv::runtime {
namespace {

/// Names of objects, which are never followed.
const DataObject* name(std::size_t n) {
  static const std::array<char, 64> memory{};
  return reinterpret_cast<const DataObject*>(&memory[n]);
}

constexpr std::uint64_t kStart = 1'000'000'000;

TEST(WriteHeat, ManyLostTriesInAWindowMakeAnObjectHot) {
  WriteHeat heat;
  for (std::uint32_t i = 1; i < WriteHeat::kLost; ++i) {
    EXPECT_FALSE(heat.lost(name(0), kStart + i));
    EXPECT_FALSE(heat.lost(name(1), kStart + i)) << "each for itself";
  }
  EXPECT_TRUE(heat.lost(name(0), kStart + 100));
  EXPECT_FALSE(heat.lost(name(0), kStart + 101)) << "counted anew";
}

TEST(WriteHeat, TriesThatAreLostNowAndThenDoNot) {
  WriteHeat heat;
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    EXPECT_FALSE(heat.lost(name(0), kStart + i * (WriteHeat::kWindowNs / (WriteHeat::kLost - 2))));
  }
}

TEST(WriteHeat, AnObjectCoolsByItsRateOfWrites) {
  WriteHeat heat;
  const auto cools = [&heat](std::uint64_t from_ns, std::uint64_t gap_ns) {
    for (std::uint64_t i = 0; i < 1'000; ++i) {
      if (heat.wrote(name(0), from_ns + i * gap_ns)) {
        return true;
      }
    }
    return false;
  };
  EXPECT_FALSE(cools(kStart, WriteHeat::kWindowNs / (2 * WriteHeat::kFewWrites)));
  EXPECT_TRUE(cools(2 * kStart, 2 * WriteHeat::kWindowNs / WriteHeat::kFewWrites));
}

TEST(WriteHeat, OneThatNobodyWroteToForLongCoolsWithTheNextWrite) {
  WriteHeat heat;
  EXPECT_FALSE(heat.wrote(name(0), kStart));
  EXPECT_TRUE(heat.wrote(name(0), 5 * kStart));
}

TEST(WriteHeat, ManyObjectsShareFewSlots) {
  WriteHeat heat;
  bool hot = false;
  for (std::uint64_t i = 0; i < 40; ++i) {
    EXPECT_FALSE(heat.lost(name(1 + i), kStart + 2 * i));
    hot = heat.lost(name(0), kStart + 2 * i + 1) || hot;
  }
  EXPECT_TRUE(hot) << "the one that is met between all others";
}

}  // namespace
}  // namespace mxkv::runtime

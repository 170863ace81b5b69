// The key that was probably meant.
#include "runtime/base/nearest.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace mxkv::runtime {
namespace {

TEST(Nearest, IsTheWordWithTheFewestEdits) {
  const std::vector<std::string> words{"workers", "cpus", "nodes", "memory", "node"};
  EXPECT_EQ(nearest("wrokers", words), "workers") << "swapped";
  EXPECT_EQ(nearest("worker", words), "workers") << "left out";
  EXPECT_EQ(nearest("memmory", words), "memory") << "added";
  EXPECT_EQ(nearest("cpes", words), "cpus") << "replaced";
  EXPECT_EQ(nearest("nod", words), "node");
  EXPECT_EQ(nearest("nodess", words), "nodes");
}

TEST(Nearest, IsNothingWhereNoneIsNear) {
  const std::vector<std::string> words{"workers", "cpus"};
  EXPECT_EQ(nearest("colour", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest("cp", words), "");
  EXPECT_EQ(nearest(std::string(1000, 'w'), words), "");
  EXPECT_EQ(nearest("x", {}), "");
}

TEST(Nearest, IsTheOnlyWordThatBeginsSo) {
  const std::vector<std::string> words{"trace", "debug", "info",   "warning",
                                       "error", "off",   "delete", "delete-prefix"};
  EXPECT_EQ(nearest("warn", words), "warning");
  EXPECT_EQ(nearest("err", words), "error");
  EXPECT_EQ(nearest("del", words), "") << "two begin so";
  EXPECT_EQ(nearest("de", words), "") << "too short";
}

TEST(MeantWord, IsWhatOtherFilesWriteForTrueAndFalse) {
  constexpr std::array<std::string_view, 2> kBools{"false", "true"};
  EXPECT_EQ(meant_word("yes", kBools), "true");
  EXPECT_EQ(meant_word("On", kBools), "true");
  EXPECT_EQ(meant_word("0", kBools), "false");
  EXPECT_EQ(meant_word("TRUE", kBools), "true");
  EXPECT_EQ(meant_word("maybe", kBools), "");
  constexpr std::array<std::string_view, 2> kOthers{"evict", "error"};
  EXPECT_EQ(meant_word("yes", kOthers), "");
  EXPECT_EQ(meant_word("evicts", kOthers), "evict");
  constexpr std::array<std::string_view, 2> kVersions{"1.2", "1.3"};
  EXPECT_EQ(meant_word("1.1", kVersions), "");
}

}  // namespace
}  // namespace mxkv::runtime

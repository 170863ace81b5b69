// The key that was probably meant.
#include "config/nearest.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mxkv::config {
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

}  // namespace
}  // namespace mxkv::config

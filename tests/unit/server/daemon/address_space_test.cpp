// The error for a process that may not have the address space that the daemon reserves.
#include "server/daemon/address_space.hpp"

#include <gtest/gtest.h>

namespace mxkv::server::test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr std::size_t kGiB = std::size_t{1} << 30U;

TEST(AddressSpace, WithoutALimitThereIsEnough) {
  EXPECT_EQ(lack_of_addresses(64 * kMiB, 0, 10 * kGiB), "");
}

TEST(AddressSpace, AddressSpaceInUseCounts) {
  const std::size_t reserved = reserved_address_bytes(64 * kMiB);
  EXPECT_EQ(lack_of_addresses(64 * kMiB, reserved + kMiB, kMiB), "");
  EXPECT_NE(lack_of_addresses(64 * kMiB, reserved + kMiB, kMiB + 1), "");
  EXPECT_NE(lack_of_addresses(64 * kMiB, kMiB, 2 * kMiB), "");
}

TEST(AddressSpace, ItSaysHowMuchIsNeededAndForWhichPart) {
  const std::string why = lack_of_addresses(64 * kMiB, 4 * kGiB, 0);
  EXPECT_NE(why.find("of address space are needed, but this process may have 4GiB (RLIMIT_AS)"),
            std::string::npos)
      << why;
  EXPECT_NE(why.find("4GiB are reserved for tasks"), std::string::npos) << why;
  EXPECT_GT(reserved_address_bytes(64 * kMiB), 4 * kGiB + 4 * 64 * kMiB);
}

}  // namespace
}  // namespace mxkv::server::test

// Arenas against the real kernel: the test believes /proc/self/smaps, not the return values.
#include "runtime/memory/page_range.hpp"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace mxkv::runtime {
namespace {

PageOptions pages(huge_pages_mode mode) {
  PageOptions options;
  options.huge_pages = mode;
  return options;
}

/// A line of /proc/self/smaps that begins with `field`, of the mapping that holds `address`.
std::string smaps_line(const void* address, const std::string& field) {
  std::ifstream smaps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    char dash = 0;
    std::istringstream range(line);
    if (range >> std::hex >> from >> dash >> to && dash == '-') {
      inside = from <= wanted && wanted < to;
    } else if (inside && line.starts_with(field)) {
      return line;
    }
  }
  return {};
}

std::size_t resident_kib(const void* address) {
  std::istringstream line(smaps_line(address, "Rss:"));
  std::string name;
  std::size_t kib = 0;
  line >> name >> kib;
  return kib;
}

TEST(PageRange, ArenasAre2MiBAlignedDisjointAndZero) {
  PageRange range(16 * kHugePageBytes, pages(huge_pages_mode::off));
  auto* first = static_cast<unsigned char*>(range.take(1, NumaNodeId(0)));
  auto* second = static_cast<unsigned char*>(range.take(3 * kHugePageBytes, NumaNodeId(0)));
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % kHugePageBytes, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second) % kHugePageBytes, 0U);
  EXPECT_GE(second, first + kHugePageBytes);
  EXPECT_EQ(second[3 * kHugePageBytes - 1], 0U);
  EXPECT_EQ(range.taken_bytes(), 4 * kHugePageBytes);
  EXPECT_TRUE(range.contains(second + 3 * kHugePageBytes - 1));
  EXPECT_FALSE(range.contains(range.base() + range.reserved_bytes()));
  EXPECT_FALSE(range.contains(range.base() - 1));
}

TEST(PageRange, AUsedUpRangeGivesNullAndStaysUsable) {
  PageRange range(2 * kHugePageBytes, pages(huge_pages_mode::off));
  EXPECT_EQ(range.take(3 * kHugePageBytes, NumaNodeId(0)), nullptr);
  EXPECT_NE(range.take(kHugePageBytes, NumaNodeId(0)), nullptr);
  EXPECT_EQ(range.take(SIZE_MAX, NumaNodeId(0)), nullptr);
  EXPECT_NE(range.take(kHugePageBytes, NumaNodeId(0)), nullptr);
  EXPECT_EQ(range.take(1, NumaNodeId(0)), nullptr);
}

TEST(PageRange, AnImpossibleReservationThrows) {
  EXPECT_THROW(PageRange(std::size_t{1} << 62U, pages(huge_pages_mode::off)), std::system_error);
}

TEST(PageRange, UntouchedArenasAreNotResidentAndDiscardedPagesReadZero) {
  PageRange range(64 * kHugePageBytes, pages(huge_pages_mode::off));
  auto* arena = static_cast<unsigned char*>(range.take(64 * kHugePageBytes, NumaNodeId(0)));
  ASSERT_NE(arena, nullptr);
  EXPECT_EQ(resident_kib(arena), 0U);
  std::memset(arena, 0xAB, kHugePageBytes);
  EXPECT_GE(resident_kib(arena), kHugePageBytes / 1024);
  range.discard(arena, kHugePageBytes);
  EXPECT_EQ(resident_kib(arena), 0U);
  EXPECT_EQ(arena[12345], 0U);
}

TEST(PageRange, HugePagesAreAdvisedAsTheOptionSays) {
  PageRange huge(kHugePageBytes, pages(huge_pages_mode::transparent));
  PageRange small(kHugePageBytes, pages(huge_pages_mode::off));
  const void* huge_arena = huge.take(1, NumaNodeId(0));
  const void* small_arena = small.take(1, NumaNodeId(0));
  const std::string huge_flags = smaps_line(huge_arena, "VmFlags:") + " ";
  const std::string small_flags = smaps_line(small_arena, "VmFlags:") + " ";
  EXPECT_NE(huge_flags.find(" hg "), std::string::npos) << huge_flags;
  EXPECT_NE(small_flags.find(" nh "), std::string::npos) << small_flags;
}

TEST(PageRange, ANodeThatTheSystemLacksCostsTheBindingButNotTheMemory) {
  PageOptions options = pages(huge_pages_mode::off);
  options.os_nodes = {1000, 5000};  // beyond any machine, and beyond what the kernel can express
  PageRange range(4 * kHugePageBytes, options);
  EXPECT_EQ(range.node_count(), 2U);
  for (std::uint16_t node = 0; node < 2; ++node) {
    auto* arena = static_cast<unsigned char*>(range.take(1, NumaNodeId(node)));
    ASSERT_NE(arena, nullptr);
    arena[0] = 1;
    EXPECT_EQ(range.unbound_arenas(), node + 1U);
  }
}

/// The numbers of the machine's NUMA nodes, from a list such as "0-1,3".
std::vector<std::uint32_t> online_nodes() {
  std::ifstream file("/sys/devices/system/node/online");
  std::vector<std::uint32_t> nodes;
  std::uint32_t first = 0;
  while (file >> first) {
    std::uint32_t last = first;
    if (file.peek() == '-') {
      file.ignore();
      file >> last;
    }
    for (std::uint32_t node = first; node <= last; ++node) {
      nodes.push_back(node);
    }
    file.ignore();
  }
  return nodes.empty() ? std::vector<std::uint32_t>{0} : nodes;
}

/// Containers may forbid all memory policies; then the default one cannot even be read.
bool policies_allowed() {
  int mode = 0;
  return syscall(SYS_get_mempolicy, &mode, nullptr, 0UL, nullptr, 0UL) == 0;
}

TEST(PageRange, ArenasPreferTheirNodeAndTheirPagesLieThere) {
  PageOptions options = pages(huge_pages_mode::off);
  options.os_nodes = online_nodes();
  PageRange range(2 * options.os_nodes.size() * kHugePageBytes, options);
  for (std::size_t node = 0; node < options.os_nodes.size(); ++node) {
    auto* arena = static_cast<unsigned char*>(range.take(1, NumaNodeId(static_cast<NumaNodeId::rep>(node))));
    ASSERT_NE(arena, nullptr);
    arena[kHugePageBytes - 1] = 1;
    if (!policies_allowed()) {
      EXPECT_EQ(range.unbound_arenas(), node + 1) << "what is not bound is counted";
      continue;
    }
    EXPECT_EQ(range.unbound_arenas(), 0U);
    int mode = -1;
    std::array<unsigned long, 16> mask{};
    ASSERT_EQ(syscall(SYS_get_mempolicy, &mode, mask.data(), 1024UL, arena, MPOL_F_ADDR), 0);
    EXPECT_EQ(mode, MPOL_PREFERRED);
    EXPECT_EQ(mask[options.os_nodes[node] / 64], 1UL << (options.os_nodes[node] % 64));
    int lies_on = -1;
    ASSERT_EQ(syscall(SYS_get_mempolicy, &lies_on, nullptr, 0UL, arena + kHugePageBytes - 1,
                      MPOL_F_NODE | MPOL_F_ADDR),
              0);
    EXPECT_EQ(lies_on, static_cast<int>(options.os_nodes[node]));
  }
}

TEST(PageRange, WithoutPlacementNothingIsBound) {
  PageOptions options = pages(huge_pages_mode::off);
  options.os_nodes = {1000};
  options.numa_placement = false;
  PageRange range(kHugePageBytes, options);
  EXPECT_NE(range.take(1, NumaNodeId(0)), nullptr);
  EXPECT_EQ(range.unbound_arenas(), 0U);
}

TEST(PageRange, ACoreHasItsPagesOnlyWhereItIsToHaveThem) {
  for (const bool in_core : {false, true}) {
    PageOptions options = pages(huge_pages_mode::off);
    options.in_core = in_core;
    PageRange range(2 * kHugePageBytes, options);
    const void* arena = range.take(kHugePageBytes, NumaNodeId(0));
    ASSERT_NE(arena, nullptr);
    const bool left_out = smaps_line(arena, "VmFlags").find(" dd") != std::string::npos;
    EXPECT_EQ(left_out, !in_core);
  }
}

TEST(PhysicalMemory, IsKnown) {
  EXPECT_GT(physical_memory_bytes(), kHugePageBytes);
}

}  // namespace
}  // namespace mxkv::runtime

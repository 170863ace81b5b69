// Memory facts from invented /proc and /sys trees, and from this machine's.
#include "config/facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace mxkv::config {
namespace {

constexpr std::size_t kGiB = 1ULL << 30U;

class Facts : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path{::testing::TempDir()} /
            (std::string{"mxkv_"} + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(root_);
    write("proc/meminfo", "MemTotal:       16777216 kB\nMemFree:         1 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::ofstream{root_ / name} << text;
  }
  [[nodiscard]] MachineFacts read() const {
    const runtime::Result<MachineFacts> facts = read_machine_facts(root_);
    EXPECT_TRUE(facts.ok());
    return facts.ok() ? facts.value() : MachineFacts{};
  }

  std::filesystem::path root_;
};

TEST_F(Facts, WithoutControlGroupsThereIsOnlyTheMachine) {
  EXPECT_EQ(read().memory_bytes, 16 * kGiB);
  EXPECT_EQ(read().cgroup_limit_bytes, 0U);
}

TEST_F(Facts, TheTightestLimitOfAGroupAndItsParentsCounts) {
  write("proc/self/cgroup", "0::/system.slice/mxkv.service\n");
  write("sys/fs/cgroup/system.slice/mxkv.service/memory.max", "8589934592\n");
  EXPECT_EQ(read().cgroup_limit_bytes, 8 * kGiB);
  write("sys/fs/cgroup/system.slice/memory.max", "4294967296\n");
  EXPECT_EQ(read().cgroup_limit_bytes, 4 * kGiB);
  write("sys/fs/cgroup/system.slice/mxkv.service/memory.max", "max\n");
  EXPECT_EQ(read().cgroup_limit_bytes, 4 * kGiB);
}

TEST_F(Facts, NoLimitIsNoLimit) {
  write("proc/self/cgroup", "0::/a\n");
  write("sys/fs/cgroup/a/memory.max", "max\n");
  EXPECT_EQ(read().cgroup_limit_bytes, 0U);
}

TEST_F(Facts, ALimitAboveTheMachineIsNone) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "68719476736\n");
  EXPECT_EQ(read().cgroup_limit_bytes, 0U);
}

TEST_F(Facts, InAContainerTheLimitAtTheMountCounts) {
  write("sys/fs/cgroup/memory.max", "2147483648\n");
  for (const char* group : {"0::/\n", "0::/../..\n", "0::/docker/not/visible/here\n"}) {
    write("proc/self/cgroup", group);
    EXPECT_EQ(read().cgroup_limit_bytes, 2 * kGiB) << group;
  }
}

TEST_F(Facts, TheTightestCpuQuotaIsRoundedUp) {
  write("proc/self/cgroup", "0::/a/b\n");
  EXPECT_EQ(read().cgroup_cpus, 0U);
  write("sys/fs/cgroup/a/b/cpu.max", "250000 100000\n");
  EXPECT_EQ(read().cgroup_cpus, 3U);
  write("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  EXPECT_EQ(read().cgroup_cpus, 2U);
  write("sys/fs/cgroup/a/cpu.max", "max 100000\n");
  EXPECT_EQ(read().cgroup_cpus, 3U);
  write("sys/fs/cgroup/a/b/cpu.max", "nonsense\n");
  EXPECT_EQ(read().cgroup_cpus, 0U);
}

TEST_F(Facts, TheCpuQuotaOfVersionOneIsRead) {
  write("proc/self/cgroup", "12:cpu,cpuacct:/x\n5:memory:/jobs/7\n");
  write("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "50000\n");
  write("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(read().cgroup_cpus, 1U);
  write("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(read().cgroup_cpus, 0U);
}

TEST_F(Facts, VersionOneIsRead) {
  write("proc/self/cgroup", "12:cpu,cpuacct:/x\n5:memory:/jobs/7\n1:name=systemd:/y\n0::/z\n");
  write("sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes", "3221225472\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(read().cgroup_limit_bytes, 3 * kGiB);
}

TEST_F(Facts, WithoutMeminfoThereIsAnError) {
  std::filesystem::remove(root_ / "proc/meminfo");
  const runtime::Result<MachineFacts> facts = read_machine_facts(root_);
  ASSERT_FALSE(facts.ok());
  EXPECT_THAT(facts.error().message, ::testing::HasSubstr("proc/meminfo: does not state the memory"));
}

TEST(LiveFacts, ThisMachineHasMemory) {
  const runtime::Result<MachineFacts> facts = read_machine_facts();
  ASSERT_TRUE(facts.ok());
  EXPECT_GT(facts.value().memory_bytes, 0U);
  EXPECT_GE(facts.value().memory_bytes, facts.value().cgroup_limit_bytes);
}

runtime::Topology nodes_of(std::size_t one, std::size_t other) {
  runtime::Topology topology;
  topology.nodes = {{.node = runtime::NumaNodeId{0}, .os_index = 0, .memory_bytes = one, .pus = {}},
                    {.node = runtime::NumaNodeId{1}, .os_index = 1, .memory_bytes = other, .pus = {}}};
  return topology;
}

TEST(ShareOutMemory, WhatNoNodeTellsOfIsDividedBySize) {
  runtime::Topology topology = nodes_of(6 * kGiB, 2 * kGiB);
  share_out_memory(topology, {.memory_bytes = 12 * kGiB, .cgroup_limit_bytes = 0, .cgroup_cpus = 0});
  EXPECT_EQ(topology.nodes[0].memory_bytes, 9 * kGiB);
  EXPECT_EQ(topology.nodes[1].memory_bytes, 3 * kGiB);
}

TEST(ShareOutMemory, NothingChangesWhereNodesHaveAllOrOneTellsNothing) {
  for (const auto& [one, other, all] : {std::array{6 * kGiB, 2 * kGiB, 8 * kGiB},
                                        {6 * kGiB, 2 * kGiB, 7 * kGiB},
                                        {6 * kGiB, 0 * kGiB, 8 * kGiB}}) {
    runtime::Topology topology = nodes_of(one, other);
    share_out_memory(topology, {.memory_bytes = all, .cgroup_limit_bytes = 0, .cgroup_cpus = 0});
    EXPECT_EQ(topology.nodes[0].memory_bytes, one);
    EXPECT_EQ(topology.nodes[1].memory_bytes, other);
  }
}

}  // namespace
}  // namespace mxkv::config

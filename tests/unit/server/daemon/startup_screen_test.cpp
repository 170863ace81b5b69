// The first screen of the log, and its warnings, for invented machines and below an invented root.
#include "server/daemon/startup_screen.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/topology/build.hpp"

namespace mxkv::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

struct StartupScreen : ::testing::Test {
  void SetUp() override {
    host.transparent_huge_pages = "madvise";
    host.descriptors = 100'000;
  }
  [[nodiscard]] std::vector<std::string> warnings() const {
    return startup_warnings(options, topology, facts, config::resolve(options, topology, facts).value(),
                            host);
  }
  [[nodiscard]] std::vector<std::string> screen() const {
    return startup_screen(options, topology, facts, config::resolve(options, topology, facts).value());
  }

  config::DaemonOptions options;
  runtime::Topology topology =
      runtime::topology_from_synthetic("Package:2 [NUMANode(memory=8GiB)] L3Cache:1 Core:2 PU:1").value();
  config::MachineFacts facts = config::facts_of(topology);
  HostState host;
};

TEST_F(StartupScreen, ShowsTheMachine) {
  EXPECT_THAT(screen(), ElementsAre("machine: 2 NUMA nodes, 4 CPUs, 16GiB", "workers: 4; placement detected",
                                    "node 0: 2 workers on CPUs 0-1", "node 1: 2 workers on CPUs 2-3",
                                    "memory: limit 12GiB (detected); when it is full, items are evicted",
                                    "data is kept in memory only: a restart loses it"));
}

TEST_F(StartupScreen, TellsTheFateOfTheData) {
  options.durability.directory = "/d";
  EXPECT_EQ(screen().back(),
            "a cache that restarts warm, from /d; replies wait for the disk, and nothing that was "
            "acknowledged is lost");
  options.when_full = config::when_full::error;
  options.durability.sync = config::sync_mode::interval;
  options.durability.interval_ms = 2000;
  EXPECT_EQ(screen().back(), "a store: data survives a restart, from /d; a crash loses at most 2s");
  options.durability.sync = config::sync_mode::never;
  EXPECT_EQ(
      screen().back(),
      "a store: data survives a restart, from /d; a power cut loses data that the kernel had not written "
      "to disk yet");
  options.durability.directory.clear();
  options.cluster = {.name = "shop",
                     .brokers = {"10.0.0.1:9092"},
                     .properties = {},
                     .node = "a",
                     .peer = config::ListenAddress{"10.0.0.5", 11311},
                     .advertise = {},
                     .address = "10.0.0.5:11211"};
  EXPECT_EQ(
      screen().back(),
      "a node of the cluster shop: data is kept in memory, and acknowledged writes in the brokers' logs");
}

TEST_F(StartupScreen, NamesTheTopologyThatFitsAndItsOrigin) {
  options.topologies.resize(1);
  options.topologies[0].name = "two";
  options.topologies[0].nodes.resize(1);
  options.topologies[0].nodes[0].workers = 9;
  options.topologies[0].nodes[0].memory_percent = 50;
  options.origins["topologies"] = {.source = "mxkv.yaml", .line = 3, .column = 1};
  EXPECT_THAT(screen(),
              ElementsAre("machine: 2 NUMA nodes, 4 CPUs, 16GiB",
                          "workers: 9; topology two fits (set by mxkv.yaml:3:1)",
                          "node 0: 9 workers on any CPU, 4GiB of memory",
                          StartsWith("memory: limit 4GiB (the sum of the nodes' shares); when it is full"),
                          StartsWith("data is kept")));
}

TEST_F(StartupScreen, SaysThatNothingIsLostWhereThatWasAskedFor) {
  options.when_full = config::when_full::error;
  EXPECT_EQ(screen()[4],
            "memory: limit 12GiB (detected); when it is full, writes get SERVER_ERROR out of memory storing "
            "object");
}

TEST_F(StartupScreen, TellsOfControlGroupsAndFlags) {
  facts.cgroup_limit_bytes = 4ULL << 30U;
  facts.cgroup_cpus = 2;
  options.workers = 1;
  options.origins["workers"] = {.source = "--workers", .line = 0, .column = 0};
  EXPECT_EQ(screen()[0],
            "machine: 2 NUMA nodes, 4 CPUs, 16GiB, of which the control group allows 4GiB, and the CPU time "
            "of 2 CPUs");
  EXPECT_EQ(screen()[1], "workers: 1; workers set by --workers");
}

TEST_F(StartupScreen, WhereAFileSaysAutoNobodySetAnything) {
  for (const char* key : {"workers", "cpus", "nodes", "topologies", "memory.limit"}) {
    options.origins[key] = {.source = "mxkv.yaml", .line = 3, .column = 1};
  }
  EXPECT_EQ(screen()[1], "workers: 4; placement detected");
  EXPECT_THAT(screen(), testing::Contains(StartsWith("memory: limit 12GiB (detected)")));
}

TEST_F(StartupScreen, AQuietMachineIsWarnedOfNothing) {
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(StartupScreen, WarnsOfNumaBalancingWhereThereAreSeveralNodes) {
  host.numa_balancing = true;
  EXPECT_THAT(warnings(), ElementsAre(StartsWith("automatic NUMA balancing is on")));
  topology = runtime::topology_from_synthetic("Core:2 PU:1").value();
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(StartupScreen, WarnsOfMoreWorkersThanCpus) {
  options.workers = 4;
  EXPECT_THAT(warnings(), IsEmpty());
  options.workers = 5;
  EXPECT_THAT(warnings(),
              ElementsAre("5 workers share 4 CPUs: the clients of one worker wait while another worker "
                          "has its CPU"));
}

TEST_F(StartupScreen, WarnsOfHugePagesThatAreWantedAndOff) {
  host.transparent_huge_pages = "never";
  EXPECT_THAT(warnings(), ElementsAre(StartsWith("transparent huge pages are off")));
  options.memory.huge_pages = runtime::huge_pages_mode::off;
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(StartupScreen, WarnsOfFewDescriptors) {
  host.descriptors = 1024;
  EXPECT_THAT(warnings(), ElementsAre("limits.connections is 4096, but only 1024 file descriptors may be "
                                      "open; raise the limit: ulimit -n "
                                      "4129 or LimitNOFILE=4129"));
  options.limits.connections = 900;
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(StartupScreen, WarnsOfMoreMemoryThanThereIs) {
  options.memory.limit_bytes = 17ULL << 30U;
  EXPECT_THAT(warnings(),
              ElementsAre(StartsWith("the memory limit of 17GiB is more than the 16GiB of this machine")));
}

TEST_F(StartupScreen, WarnsOfSwitchesWithoutEffectAtTheirPlace) {
  options.prefetch.distance = 9;
  options.origins["experimental.prefetch.distance"] = {.source = "mxkv.yaml", .line = 3, .column = 5};
  EXPECT_THAT(warnings(),
              ElementsAre(StartsWith("mxkv.yaml:3:5: experimental.prefetch.distance: has no effect: ")));
  options.prefetch.mode = runtime::prefetch_mode::distance;
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(StartupScreen, WarnsOfSwapWhereTheLimitIsHigh) {
  host.swap_bytes = 2ULL << 30U;
  EXPECT_THAT(warnings(), IsEmpty());
  options.memory.limit_bytes = 15ULL << 30U;
  EXPECT_THAT(warnings(), ElementsAre(StartsWith("swap is on (2GiB)")));
  host.swap_bytes = 0;
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(StartupScreen, WarnsOfMoreWorkersThanTheControlGroupPaysFor) {
  facts.cgroup_cpus = 1;
  EXPECT_THAT(warnings(), IsEmpty());
  options.workers = 4;
  EXPECT_THAT(warnings(), ElementsAre(StartsWith("4 workers, but the control group allows 1 CPU")));
}

struct HostFiles : ::testing::Test {
  void TearDown() override { std::filesystem::remove_all(root); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream{root / path} << text;
  }
  std::filesystem::path root =
      std::filesystem::path{::testing::TempDir()} /
      (std::string{"mxkv_host_"} + ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(HostFiles, AreRead) {
  write("proc/sys/kernel/numa_balancing", "1\n");
  write("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  write("proc/meminfo", "MemTotal:       16384 kB\nSwapCached:    5 kB\nSwapTotal:       2048 kB\n");
  write("proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max open files            1024                 20000                files     \n");
  const HostState state = read_host_state(root);
  EXPECT_TRUE(state.numa_balancing);
  EXPECT_EQ(state.transparent_huge_pages, "never");
  EXPECT_EQ(state.swap_bytes, 2048U << 10U);
  EXPECT_EQ(state.descriptors, 1024U);
}

TEST_F(HostFiles, ThatAreMissingOrSayNothingLeaveNothingToWarnOf) {
  const HostState missing = read_host_state(root);
  EXPECT_FALSE(missing.numa_balancing);
  EXPECT_EQ(missing.transparent_huge_pages, "");
  EXPECT_EQ(missing.swap_bytes, 0U);
  EXPECT_EQ(missing.descriptors, 0U);
  write("proc/sys/kernel/numa_balancing", "0\n");
  write("sys/kernel/mm/transparent_hugepage/enabled", "]never[\n");
  write("proc/self/limits",
        "Max open files            unlimited            unlimited            files     \n");
  const HostState off = read_host_state(root);
  EXPECT_FALSE(off.numa_balancing);
  EXPECT_EQ(off.transparent_huge_pages, "");
  EXPECT_EQ(off.descriptors, 0U);
}

TEST(HostLimits, DescriptorsAreRaisedAndNeverLowered) {
  const std::size_t before = read_host_state().descriptors;
  raise_descriptor_limit(1);
  EXPECT_EQ(read_host_state().descriptors, before);
  raise_descriptor_limit(before + 1);
  EXPECT_GE(read_host_state().descriptors, before);
}

}  // namespace
}  // namespace mxkv::server

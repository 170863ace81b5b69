// The places of a given number of workers, on all invented machines.
#include "config/place.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "config/resolve.hpp"
#include "runtime/topology/build.hpp"
#include "tests/unit/topology/invented_machine.hpp"

namespace mxkv::config {
namespace {

using runtime::PuId;
using runtime::Topology;
using runtime::WorkerPlacement;
using runtime::testing::all_machines;

Units units_of(const Topology& machine) {
  Units units;
  for (const runtime::ProcessingUnit& unit : machine.pus) {
    units.push_back(&unit);
  }
  return units;
}

/// Calls `check(machine, placed, count)` for all machines and for one worker up to two more than CPUs.
template <class Check>
void for_each_count(const Check& check) {
  for (const auto& [name, machine] : all_machines()) {
    for (std::size_t count = 1; count <= machine.pus.size() + 2; ++count) {
      SCOPED_TRACE(name + ", " + std::to_string(count) + " workers");
      check(machine, place(units_of(machine), count, false), count);
    }
  }
}

/// How many different values `of` gives for the CPUs of the workers.
template <class Of>
std::size_t different(const Topology& machine, const std::vector<WorkerPlacement>& workers, const Of& of) {
  std::set<std::size_t> values;
  for (const WorkerPlacement& worker : workers) {
    values.insert(of(*machine.find(worker.pu)));
  }
  return values.size();
}

TEST(Place, EveryWorkerIsOnACpuThatIsThereAndOnItsNode) {
  for_each_count([](const Topology& machine, const std::vector<WorkerPlacement>& placed, std::size_t count) {
    ASSERT_EQ(placed.size(), count);
    for (const WorkerPlacement& worker : placed) {
      ASSERT_NE(machine.find(worker.pu), nullptr);
      EXPECT_EQ(machine.find(worker.pu)->node, worker.node);
      EXPECT_EQ(worker.pinned, count <= machine.pus.size());
    }
    EXPECT_TRUE(std::ranges::is_sorted(placed, {}, &WorkerPlacement::node)) << "those of a node together";
  });
}

TEST(Place, NoCpuNodeGroupOrCoreGetsASecondWorkerBeforeAllHaveOne) {
  for_each_count([](const Topology& machine, const std::vector<WorkerPlacement>& placed, std::size_t count) {
    const auto spread = [&](const auto& of) {
      const std::size_t there = different(machine, runtime::testing::one_on_each(machine), of);
      EXPECT_EQ(different(machine, placed, of), std::min(count, there));
    };
    spread([](const runtime::ProcessingUnit& unit) { return unit.pu.index(); });
    spread([](const runtime::ProcessingUnit& unit) { return unit.node.index(); });
    spread([](const runtime::ProcessingUnit& unit) { return unit.group.index(); });
    spread([](const runtime::ProcessingUnit& unit) { return unit.core.index(); });
  });
}

TEST(Place, WorkersBeyondTheCpusAreSpreadOverNodesToo) {
  const Topology machine = runtime::topology_from_synthetic("Package:4 [NUMANode] Core:32 PU:1").value();
  std::map<std::size_t, std::size_t> workers;
  std::map<std::size_t, std::size_t> of_cpu;
  for (const WorkerPlacement& worker : place(units_of(machine), 200, false)) {
    ++workers[worker.node.index()];
    ++of_cpu[worker.pu.index()];
  }
  EXPECT_THAT(workers, ::testing::ElementsAre(std::pair{0U, 50U}, std::pair{1U, 50U}, std::pair{2U, 50U},
                                              std::pair{3U, 50U}));
  EXPECT_EQ(of_cpu.size(), 128U);
  EXPECT_TRUE(std::ranges::all_of(of_cpu, [](const auto& one) { return one.second <= 2; }));
}

TEST(Place, WithoutOptionsEachCpuHasAWorkerAndEachNodeIsKnown) {
  constexpr MachineFacts kFacts{.memory_bytes = 16ULL << 30U, .cgroup_limit_bytes = 0};
  for (const auto& [name, machine] : all_machines()) {
    SCOPED_TRACE(name);
    const runtime::Result<Resolved> resolved = resolve(DaemonOptions{}, machine, kFacts);
    ASSERT_TRUE(resolved.ok()) << resolved.error().message;
    const runtime::RuntimeOptions& options = resolved.value().runtime;
    EXPECT_EQ(options.workers.size(), machine.pus.size());
    EXPECT_EQ(options.os_nodes.size(), machine.nodes.size() == 1 ? 0 : machine.nodes.size())
        << "also those of memory alone: node numbers are places in this list";
  }
}

TEST(Place, AWholeNodeOfEachMachineHasItsCpusOrIsAnError) {
  constexpr MachineFacts kFacts{.memory_bytes = 16ULL << 30U, .cgroup_limit_bytes = 0};
  for (const auto& [name, machine] : all_machines()) {
    for (const runtime::NumaNode& node : machine.nodes) {
      SCOPED_TRACE(name + ", node " + std::to_string(node.os_index));
      DaemonOptions options;
      options.nodes.resize(1);
      options.nodes[0].node = node.os_index;
      const runtime::Result<Resolved> resolved = resolve(options, machine, kFacts);
      ASSERT_EQ(resolved.ok(), !node.pus.empty());
      if (resolved.ok()) {
        std::vector<PuId> pus;
        for (const WorkerPlacement& worker : resolved.value().runtime.workers) {
          pus.push_back(worker.pu);
        }
        EXPECT_EQ(pus, node.pus);
      } else {
        EXPECT_THAT(resolved.error().message, ::testing::HasSubstr("has no CPU that this process may use"));
      }
    }
  }
}

}  // namespace
}  // namespace mxkv::config

#include "tests/simulation/world_options.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "runtime/topology/topology.hpp"

namespace mxkv::simulation {

namespace {

using runtime::Random;
using runtime::RuntimeOptions;
using runtime::Topology;

/// One, two or four nodes, each with one to four cores in one or two groups, or with memory alone.
Topology draw_machine(Random& random) {
  constexpr std::array<std::size_t, 3> kNodes{1, 2, 4};
  Topology machine;
  const std::size_t nodes = kNodes[random.below(kNodes.size())];
  const bool even = one_in(random, 2);
  const bool siblings = one_in(random, 3);
  const std::size_t cores_of_all = 1 + random.below(4);
  std::uint16_t pu = 0;
  for (std::size_t i = 0; i < nodes; ++i) {
    const runtime::NumaNodeId node{static_cast<std::uint16_t>(i)};
    machine.nodes.push_back(
        {.node = node, .os_index = static_cast<std::uint32_t>(i), .memory_bytes = 0, .pus = {}});
    const std::size_t cores = even ? cores_of_all : i == 0 ? 1 + random.below(4) : random.below(5);
    const std::size_t groups = cores > 1 ? 1 + random.below(2) : std::min<std::size_t>(cores, 1);
    for (std::size_t g = 0; g < groups; ++g) {
      const runtime::CoreGroupId group{static_cast<std::uint16_t>(machine.core_groups.size())};
      machine.core_groups.push_back({.group = group, .node = node, .pus = {}});
      for (std::size_t core = g * cores / groups; core < (g + 1) * cores / groups; ++core) {
        const runtime::CoreId id{pu};
        for (int thread = 0; thread < (siblings ? 2 : 1); ++thread, ++pu) {
          const runtime::PuId number{pu};
          machine.pus.push_back({.pu = number, .node = node, .group = group, .core = id});
          machine.core_groups.back().pus.push_back(number);
          machine.nodes.back().pus.push_back(number);
        }
      }
    }
  }
  machine.distances = runtime::uniform_distances(nodes);
  for (std::size_t from = 0; from < nodes; ++from) {
    for (std::size_t to = 0; to < from; ++to) {
      const std::uint32_t distance = one_in(random, 2) ? 16 : 32;
      machine.distances[from * nodes + to] = machine.distances[to * nodes + from] = distance;
    }
  }
  return machine;
}

/// One to six workers on some of the machine's CPUs.
std::vector<runtime::WorkerPlacement> draw_workers(const Topology& machine, Random& random) {
  std::vector<runtime::ProcessingUnit> units = machine.pus;
  std::size_t count = std::min<std::size_t>(1 + random.below(6), units.size());
  while (units.size() > count) {
    units.erase(units.begin() + static_cast<std::ptrdiff_t>(random.below(units.size())));
  }
  std::vector<runtime::WorkerPlacement> workers;
  for (const runtime::ProcessingUnit& unit : units) {
    workers.push_back({.pu = unit.pu, .node = unit.node, .pinned = false});
    if (one_in(random, 4)) {
      workers.back().pools = 1 + static_cast<std::uint32_t>(random.below(3));
    }
  }
  return workers;
}

runtime::PrefetchOptions draw_prefetch(Random& random) {
  runtime::PrefetchOptions prefetch;
  prefetch.mode = static_cast<runtime::prefetch_mode>(random.below(4));
  prefetch.distance = 1 + static_cast<std::uint32_t>(random.below(64));
  prefetch.window = 1 + static_cast<std::uint32_t>(one_in(random, 2) ? random.below(8) : random.below(64));
  return prefetch;
}

/// Every switch of the runtime that must not change results.
RuntimeOptions draw_runtime(Random& random) {
  RuntimeOptions options;
  const auto machine = std::make_shared<const Topology>(draw_machine(random));
  options.workers = draw_workers(*machine, random);
  for (const runtime::NumaNode& node : machine->nodes) {
    options.os_nodes.push_back(node.os_index);
  }
  options.topology = machine;
  // Off, on the node, everywhere twice as often.
  options.stealing = static_cast<runtime::stealing_scope>(std::min<std::uint64_t>(random.below(4), 2));
  options.order_reach = static_cast<runtime::stealing_scope>(std::min<std::uint64_t>(random.below(4), 2));
  options.order = one_in(random, 3) ? runtime::task_order::nls : runtime::task_order::las;
  options.rebalance.strategy =
      static_cast<runtime::rebalance_strategy>(std::min<std::uint64_t>(random.below(4), 2));
  options.rebalance.period_ms = 1;
  options.prefetch = draw_prefetch(random);
  if (one_in(random, 3)) {
    options.workers.back().prefetch = draw_prefetch(random);
  }
  options.memory.limit_bytes = kMemoryBytes;
  options.memory.huge_pages = runtime::huge_pages_mode::off;
  options.memory.numa_placement = false;
  options.epoch.mode = one_in(random, 4) ? runtime::epoch_mode::task : runtime::epoch_mode::batched;
  options.epoch.interval_ms = 1;
  options.epoch.advance_bytes = one_in(random, 2) ? 256 : std::size_t{4} << 20U;
  options.batch_tasks = 1 + static_cast<std::uint32_t>(random.below(20));
  options.pools_per_worker = 1 + static_cast<std::uint32_t>(random.below(4));
  return options;
}

index::TreeOptions draw_tree(Random& random) {
  constexpr std::array kTreePrimitives{
      runtime::primitive::optimistic_latch, runtime::primitive::optimistic_scheduling,
      runtime::primitive::serialized_by_scheduling, runtime::primitive::spin_latch,
      runtime::primitive::reader_writer_latch};
  if (one_in(random, 3)) {
    return {.leaves_adapt = one_in(random, 2)};  // as the daemon's, or as it may be configured
  }
  return {.leaves = kTreePrimitives[random.below(kTreePrimitives.size())],
          .inner_nodes = kTreePrimitives[random.below(kTreePrimitives.size())]};
}

}  // namespace

WorldOptions draw_world(Random& random) {
  WorldOptions world;
  world.runtime = draw_runtime(random);
  world.tree = draw_tree(random);
  world.keys = 4 + random.below(one_in(random, 3) ? 250 : 60);
  world.operations = 20 + random.below(120);
  if (!one_in(random, 4)) {
    world.wave = 40 + random.below(300);
    world.operations *= 3;
  }
  world.errands = one_in(random, 4) ? 0 : random.below(40);
  world.interruptions_in_64 = one_in(random, 3) ? 0 : 1 + static_cast<unsigned>(random.below(16));
  world.uneven_speed = one_in(random, 2);
  world.short_of_memory = one_in(random, 3);
  world.ends_early = one_in(random, 8);
  return world;
}

std::string describe(const WorldOptions& world) {
  const RuntimeOptions& options = world.runtime;
  std::string text = std::to_string(options.topology->nodes.size()) + " nodes, workers on nodes";
  for (const runtime::WorkerPlacement& worker : options.workers) {
    text += ' ' + std::to_string(worker.node.value());
  }
  text += ", stealing " + std::to_string(static_cast<int>(options.stealing)) + ", rebalance " +
          std::string{runtime::rebalance_strategy_name(options.rebalance.strategy)} + ", order " +
          std::to_string(static_cast<int>(options.order)) + " as far as " +
          std::to_string(static_cast<int>(options.order_reach)) + ", prefetch mode " +
          std::to_string(static_cast<int>(options.prefetch.mode)) + ", window " +
          std::to_string(options.prefetch.window) + ", batches of " + std::to_string(options.batch_tasks) +
          ", leaves " + std::string{runtime::primitive_name(world.tree.leaves)} +
          (world.tree.leaves_adapt ? " that adapt" : "") + ", inner nodes " +
          std::string{runtime::primitive_name(world.tree.inner_nodes)};
  text += world.short_of_memory ? ", short of memory" : "";
  text += world.ends_early ? ", ends early" : "";
  return text;
}

}  // namespace mxkv::simulation

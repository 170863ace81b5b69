// Steal and wake orders: one sort by nearness, with two opinions about SMT siblings.
#include "runtime/topology/order.hpp"

#include <algorithm>
#include <compare>
#include <cstdint>

#include "runtime/base/assert.hpp"

namespace mxkv::runtime {
namespace {

enum class nearness : std::uint8_t { core, group, group_same_core, node, other_node };

// What the sort compares, in this order.
struct Rank {
  nearness near{};
  std::uint32_t distance = 0;  // between NUMA nodes
  std::size_t turn = 0;        // places after `self`, wrapping around
  auto operator<=>(const Rank&) const = default;
};

nearness nearness_of(const Topology& topology, const WorkerPlacement& self, const WorkerPlacement& other,
                     nearness sibling) {
  if (self.node != other.node) {
    return nearness::other_node;
  }
  const ProcessingUnit* mine = topology.find(self.pu);
  const ProcessingUnit* theirs = topology.find(other.pu);
  if (mine == nullptr || theirs == nullptr || mine->group != theirs->group) {
    return nearness::node;
  }
  return mine->core == theirs->core ? sibling : nearness::group;
}

std::vector<WorkerId> order(const Topology& topology, std::span<const WorkerPlacement> workers, WorkerId self,
                            nearness sibling) {
  MXKV_ASSERT(self.index() < workers.size(), "worker without a placement");
  std::vector<std::pair<Rank, WorkerId>> ranked;
  ranked.reserve(workers.size());
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (i == self.index()) {
      continue;
    }
    const WorkerPlacement& mine = workers[self.index()];
    ranked.emplace_back(Rank{.near = nearness_of(topology, mine, workers[i], sibling),
                             .distance = topology.distance(mine.node, workers[i].node),
                             .turn = (i + workers.size() - self.index()) % workers.size()},
                        WorkerId{static_cast<WorkerId::rep>(i)});
  }
  std::ranges::sort(ranked);
  std::vector<WorkerId> result;
  result.reserve(ranked.size());
  for (const auto& [rank, worker] : ranked) {
    result.push_back(worker);
  }
  return result;
}

}  // namespace

std::vector<WorkerId> steal_order(const Topology& topology, std::span<const WorkerPlacement> workers,
                                  WorkerId self) {
  return order(topology, workers, self, nearness::core);
}

std::vector<WorkerId> wake_order(const Topology& topology, std::span<const WorkerPlacement> workers,
                                 WorkerId self) {
  return order(topology, workers, self, nearness::group_same_core);
}

std::vector<WorkerId> within(stealing_scope scope, std::vector<WorkerId> order,
                             std::span<const WorkerPlacement> workers, WorkerId self) {
  switch (scope) {
    case stealing_scope::off:
      order.clear();
      break;
    case stealing_scope::node:
      std::erase_if(
          order, [&](WorkerId other) { return workers[other.index()].node != workers[self.index()].node; });
      break;
    case stealing_scope::machine:
      break;
  }
  return order;
}

Topology plain_topology(std::span<const WorkerPlacement> workers) {
  Topology plain;
  for (const WorkerPlacement& worker : workers) {
    while (plain.nodes.size() <= worker.node.index()) {
      const auto node = static_cast<NumaNodeId::rep>(plain.nodes.size());
      plain.nodes.push_back({.node = NumaNodeId{node}, .os_index = node, .memory_bytes = 0, .pus = {}});
    }
  }
  plain.distances = uniform_distances(plain.nodes.size());
  return plain;
}

}  // namespace mxkv::runtime

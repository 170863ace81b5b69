// Steal and wake orders: one sort by nearness, with two opinions about SMT siblings.
#include "runtime/topology/order.hpp"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "runtime/base/assert.hpp"

namespace mxkv::runtime {
namespace {

enum class nearness : std::uint8_t { core, group, group_same_core, node, other_node };

// The sort compares these, in this order.
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
  MXKV_ASSERT(ranked.size() + 1 == workers.size(), "all workers but one are ranked");
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

std::vector<std::size_t> worker_groups(const Topology& topology, std::span<const WorkerPlacement> workers,
                                       task_order order) {
  // A core group, or the node where the PU is unknown.
  using Place = std::pair<bool, std::size_t>;
  std::map<Place, std::size_t> numbers;
  std::vector<std::size_t> groups;
  groups.reserve(workers.size());
  for (const WorkerPlacement& worker : workers) {
    const ProcessingUnit* unit = topology.find(worker.pu);
    const Place place = order == task_order::nls ? Place{}
                        : unit != nullptr        ? Place{true, unit->group.index()}
                                                 : Place{false, worker.node.index()};
    groups.push_back(numbers.try_emplace(place, numbers.size()).first->second);
  }
  return groups;
}

LocalityOrder locality_order(const Topology& topology, std::span<const WorkerPlacement> workers,
                             WorkerId self, task_order order, stealing_scope scope) {
  LocalityOrder result;
  if (order == task_order::nls) {
    for (std::size_t turn = 1; turn < workers.size(); ++turn) {
      result.node_mates.emplace_back(static_cast<WorkerId::rep>((self.index() + turn) % workers.size()));
    }
    result.node_mates = within(scope, std::move(result.node_mates), workers, self);
    result.wake_immediate = result.wake_deferred = result.node_mates;
    return result;
  }
  const std::vector<std::size_t> groups = worker_groups(topology, workers, order);
  MXKV_ASSERT(groups.size() == workers.size(), "each worker is in a group");
  const auto on_my_node = [&](WorkerId other) {
    return workers[other.index()].node == workers[self.index()].node;
  };
  result.group = groups[self.index()];
  for (const WorkerId other : within(scope, steal_order(topology, workers, self), workers, self)) {
    const std::size_t group = groups[other.index()];
    if (group == result.group) {
      result.group_mates.push_back(other);
      continue;
    }
    if (on_my_node(other)) {
      result.node_mates.push_back(other);
    } else {
      result.far_mates.push_back(other);
    }
    if (std::ranges::find(result.far_groups, group) == result.far_groups.end()) {
      result.far_groups.push_back(group);
    }
  }
  result.wake_deferred = within(scope, wake_order(topology, workers, self), workers, self);
  std::ranges::copy_if(result.wake_deferred, std::back_inserter(result.wake_immediate), on_my_node);
  return result;
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

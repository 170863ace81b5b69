// The order of spreading: each core group gets a worker before any gets a second, each core before an SMT
// sibling is used, and nodes take turns. So few workers have most cache and memory bandwidth. Then the
// workers are numbered by neighbourhood.
#include "config/place.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace mxkv::config {
namespace {

using runtime::ProcessingUnit;
using runtime::PuId;
using runtime::WorkerPlacement;

// The PUs in the order in which workers are spread over them.
Units spread(Units units) {
  std::ranges::sort(units, {}, [](const ProcessingUnit* unit) {
    return std::tuple{unit->node, unit->group, unit->core, unit->pu};
  });
  using Key = std::tuple<std::size_t, std::size_t, std::size_t, runtime::NumaNodeId, PuId>;
  std::map<runtime::CoreId, std::size_t> pus_in_core;
  std::map<runtime::CoreGroupId, std::set<runtime::CoreId>> cores_in_group;
  std::map<runtime::NumaNodeId, std::set<runtime::CoreGroupId>> groups_in_node;
  std::vector<std::pair<Key, const ProcessingUnit*>> ranked;
  for (const ProcessingUnit* unit : units) {
    groups_in_node[unit->node].insert(unit->group);
    cores_in_group[unit->group].insert(unit->core);
    const std::size_t sibling = pus_in_core[unit->core]++;
    // Units are sorted, so the sets hold the earlier units of the same node and group.
    ranked.emplace_back(Key{sibling, cores_in_group[unit->group].size(), groups_in_node[unit->node].size(),
                            unit->node, unit->pu},
                        unit);
  }
  std::ranges::sort(ranked);
  Units result;
  result.reserve(ranked.size());
  for (const auto& [key, unit] : ranked) {
    result.push_back(unit);
  }
  return result;
}

}  // namespace

std::vector<WorkerPlacement> by_node(const std::vector<WorkerPlacement>& placements) {
  std::map<runtime::NumaNodeId, std::vector<WorkerPlacement>> nodes;
  for (const WorkerPlacement& placement : placements) {
    nodes[placement.node].push_back(placement);
  }
  std::vector<WorkerPlacement> result;
  result.reserve(placements.size());
  for (const auto& [node, part] : nodes) {
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

std::vector<WorkerPlacement> place(const Units& units, std::size_t workers, bool units_were_chosen) {
  const std::size_t count = workers == 0 ? units.size() : workers;
  // All CPUs get as many workers, and those that are left over are spread.
  Units order = count != units.size() ? spread(units) : units;
  // Two workers pinned to one CPU cannot give way to each other: unless the user chose this, let them float.
  const bool pinned = count <= units.size() || units_were_chosen;
  if (count < order.size()) {
    order.resize(count);
  }
  if (!units_were_chosen && count <= units.size()) {
    std::ranges::sort(order, {}, [](const ProcessingUnit* unit) {
      return std::tuple{unit->node, unit->group, unit->core, unit->pu};
    });
  }
  std::vector<WorkerPlacement> placements;
  placements.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const ProcessingUnit& unit = *order[i % order.size()];
    placements.push_back(WorkerPlacement{.pu = unit.pu, .node = unit.node, .pinned = pinned});
  }
  return by_node(placements);
}

}  // namespace mxkv::config

// Look-ups in a Topology.
#include "runtime/topology/topology.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"

namespace mxkv::runtime {

const ProcessingUnit* Topology::find(PuId pu) const noexcept {
  const auto at = std::lower_bound(pus.begin(), pus.end(), pu,
                                   [](const ProcessingUnit& unit, PuId wanted) { return unit.pu < wanted; });
  return at != pus.end() && at->pu == pu ? &*at : nullptr;
}

const NumaNode* Topology::find_node(std::uint32_t os_index) const noexcept {
  const auto at = std::find_if(nodes.begin(), nodes.end(),
                               [os_index](const NumaNode& node) { return node.os_index == os_index; });
  return at != nodes.end() ? &*at : nullptr;
}

std::uint32_t Topology::distance(NumaNodeId from, NumaNodeId to) const noexcept {
  MXKV_ASSERT(from.index() < nodes.size() && to.index() < nodes.size(), "node of another topology");
  MXKV_ASSERT(distances.size() == nodes.size() * nodes.size(), "the distance matrix is not nodes x nodes");
  return distances[from.index() * nodes.size() + to.index()];
}

std::vector<std::uint32_t> uniform_distances(std::size_t nodes) {
  std::vector<std::uint32_t> matrix(nodes * nodes, kRemoteDistance);
  for (std::size_t i = 0; i < nodes; ++i) {
    matrix[i * nodes + i] = kLocalDistance;
  }
  return matrix;
}

}  // namespace mxkv::runtime

// The data that the pages read. Any thread may read it while the workers run: counters and snapshots that are
// right for some recent moment.
#pragma once

#include "runtime/scheduler/runtime.hpp"
#include "server/cluster/cluster_node.hpp"
#include "server/cluster/cluster_store.hpp"
#include "server/durability/durability.hpp"
#include "server/feed/feed.hpp"
#include "server/net/worker/network.hpp"
#include "server/stats/statistics.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

struct ServingParts {
  runtime::Runtime& runtime;
  Store& store;
  Network& network;
  const Statistics& statistics;
  const Durability* durability;  ///< null: no durability
  const ClusterNode* cluster;    ///< null: no cluster
  const ClusterStore* routed;    ///< null: no cluster
  const Feed* feed = nullptr;    ///< null: no range can be watched

  [[nodiscard]] std::uint64_t count(counter which) const noexcept { return store.total(which); }
  [[nodiscard]] runtime::Worker& worker(std::size_t i) const noexcept {
    return runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)});
  }
  /// The worker's NUMA node, by the system's number.
  [[nodiscard]] std::uint32_t node_of(const runtime::Worker& worker) const noexcept {
    const std::vector<std::uint32_t>& os_nodes = runtime.options().os_nodes;
    return os_nodes.empty() ? 0 : os_nodes[worker.node().index()];
  }
};

}  // namespace mxkv::server

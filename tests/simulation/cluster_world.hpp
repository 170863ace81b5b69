// A cluster of one shard and three nodes, one seed of it: clients ask, and everything goes wrong; then all heals.
#pragma once

#include <cstdint>
#include <string>

#include "server/cluster/shard.hpp"
#include "tests/simulation/complaints.hpp"

namespace mxkv::simulation {

/// The paths that a world took: a proof must take the paths that it is about.
struct ClusterPaths {
  std::uint64_t answered = 0;  ///< with a value
  std::uint64_t refused = 0;
  std::uint64_t voids = 0;    ///< sets whose clients learned that they are void
  std::uint64_t unknown = 0;  ///< never answered
  server::ShardCounters shards;

  void add(const ClusterPaths& other);
};

struct ClusterPlan {
  std::uint64_t seed = 0;
  std::uint64_t margin_permille = server::ShardOptions{}.margin_permille;
  server::ShardRules rules;
};

struct ClusterVerdict {
  Complaints complaints;
  ClusterPaths paths;
};

/// Thread-safety: any thread.
[[nodiscard]] ClusterVerdict run_cluster(const ClusterPlan& plan);

}  // namespace mxkv::simulation

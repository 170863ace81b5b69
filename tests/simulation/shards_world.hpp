// A cluster of three shards and three nodes, one seed of it: clients ask, and everything goes wrong; then all heals.
#pragma once

#include <cstdint>

#include "tests/simulation/complaints.hpp"
#include "tests/simulation/shards_process.hpp"

namespace mxkv::simulation {

/// The paths that a world took: a proof must take the paths that it is about.
struct ShardsPaths {
  std::uint64_t answered = 0;  ///< with a value
  std::uint64_t refused = 0;
  std::uint64_t unknown = 0;  ///< never answered
  std::uint64_t voids = 0;    ///< changes of memory that do not count
  ProcessPaths processes;

  void add(const ShardsPaths& other);
};

struct ShardsPlan {
  std::uint64_t seed = 0;
  std::uint64_t margin_permille = server::ShardOptions{}.margin_permille;
  ShardsRules rules;
  server::ShardRules shard_rules;
};

struct ShardsVerdict {
  Complaints complaints;
  ShardsPaths paths;
};

/// Thread-safety: any thread.
[[nodiscard]] ShardsVerdict run_shards(const ShardsPlan& plan);

}  // namespace mxkv::simulation

// Where keys are cut into shards, when a cluster is made.
//
// All functions: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"

namespace mxkv::server {

/// Each shard costs its owner three messages a lease, and each node that keeps it a place in what it fetches.
inline constexpr std::uint32_t kMostShards = 256;
/// More settle slowly where nodes and brokers share two busy cores; how many do well there was not measured.
inline constexpr std::uint32_t kAdvisedShards = 64;

/// The first keys of all shards but the first: even over the first two bytes of printable keys. For when nothing is known
/// of the keys. `shards`: from 1 to kMostShards.
[[nodiscard]] std::vector<std::string> even_splits(std::uint32_t shards);

/// As many keys of the sample in each shard, each split as short as it can be. An error: fewer different keys than shards.
[[nodiscard]] runtime::Result<std::vector<std::string>> splits_of_sample(std::vector<std::string> keys,
                                                                         std::uint32_t shards);

}  // namespace mxkv::server

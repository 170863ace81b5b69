// Where keys are cut into shards, when a cluster is made.
//
// All functions: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"

namespace mxkv::server {

/// Each shard costs its owner three messages a lease, and each replica a partition to fetch.
inline constexpr std::uint32_t kMostShards = 256;
/// With more shards, nodes and brokers that share two busy cores settle slowly. A good number on such
/// machines was not measured.
inline constexpr std::uint32_t kAdvisedShards = 64;

/// The first keys of all shards except the first: even over the first two bytes of printable keys. For use
/// when nothing is known of the keys. `shards`: from 1 to kMostShards.
[[nodiscard]] std::vector<std::string> even_splits(std::uint32_t shards);

/// Puts equally many keys of the sample into each shard, with splits as short as possible. An error: fewer
/// different keys than shards.
[[nodiscard]] runtime::Result<std::vector<std::string>> splits_of_sample(std::vector<std::string> keys,
                                                                         std::uint32_t shards);

}  // namespace mxkv::server

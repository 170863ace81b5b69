// The map as JSON text.
//
// All functions: any thread.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "server/cluster/cluster_map.hpp"

namespace mxkv::server {

/// On one line.
[[nodiscard]] std::string to_json(const ClusterMap& map);
/// Errors name the place: "shards[3].from: is not base64", or a mistake that mistake_of() finds. Unknown
/// members are skipped.
[[nodiscard]] runtime::Result<ClusterMap> map_of_json(std::string_view text);

}  // namespace mxkv::server

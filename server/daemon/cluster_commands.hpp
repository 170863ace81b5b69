// The commands of mxkvd for a cluster, which run instead of the server: create it, show its state, change its
// map.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/options.hpp"
#include "server/cluster/cluster_map.hpp"

namespace mxkv::server {

/// `mxkvd cluster init|status|move|drain|add|remove|settle|lease|changes|backup`.
struct ClusterCommand {
  enum class what : std::uint8_t { init, status, move, drain, add, remove, settle, lease, changes, backup };
  what asked = what::status;
  config::ClusterOptions cluster;  ///< name, brokers and properties; for init and lease also the lease
  // init
  std::uint32_t shards = 24;
  std::uint32_t replicas = 2;
  std::uint32_t copies = 3;           ///< the brokers' copies of each log
  std::vector<std::string> nodes;     ///< NAME=PEER[=ADDRESS]; for add: one
  std::filesystem::path sample;       ///< keys, a line each; empty: none
  std::optional<std::string> splits;  ///< instead of shards and sample: keys, separated by commas
  bool if_missing = false;            ///< a cluster that has a map is left as it is, without an error
  // move, drain, remove
  std::uint32_t shard = 0;
  std::string node;
  std::uint32_t wait_s = 60;  ///< for the nodes to follow the map; 0: do not wait
  bool json = false;          ///< for status
  // changes, backup
  std::optional<std::uint32_t> only_shard{};
  std::optional<std::uint64_t> from{};  ///< position in the shard's log; none: the oldest there
  std::uint32_t idle_s = 0;             ///< ends after this long without a change; 0: never
  std::filesystem::path file;           ///< for backup
};

/// "NAME=PEER" or "NAME=PEER=ADDRESS", such as a=10.0.0.1:11311=10.0.0.1:11211. Thread-safety: any thread.
[[nodiscard]] runtime::Result<ClusterMap::Node> parse_cluster_node(const std::string& text);

/// Prints the changes, a line of JSON each, until it is ended. Thread-safety: the main thread.
[[nodiscard]] int tell_changes(const ClusterCommand& command);
/// Writes all items to a file, and prints each shard's moment to standard output. Thread-safety: the main
/// thread.
[[nodiscard]] int write_backup(const ClusterCommand& command);

/// Prints its answer to standard output, or the error to standard error, and returns the exit code.
/// Thread-safety: the main thread.
[[nodiscard]] int run_command(const ClusterCommand& command);

}  // namespace mxkv::server

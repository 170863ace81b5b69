// What mxkvd can be asked about a cluster instead of serving: to make one, to tell how it is, and to change its map.
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
  config::ClusterOptions cluster;  ///< its name, brokers and properties; of init and lease: its lease
  // init
  std::uint32_t shards = 24;
  std::uint32_t replicas = 2;
  std::uint32_t copies = 3;           ///< that the brokers keep of each log
  std::vector<std::string> nodes;     ///< NAME=PEER[=ADDRESS]; of add: one
  std::filesystem::path sample;       ///< keys, a line each; empty: none
  std::optional<std::string> splits;  ///< in place of shards and sample: keys, with commas between
  bool if_missing = false;            ///< one that has a map is left as it is, and is no error
  // move, drain, remove
  std::uint32_t shard = 0;
  std::string node;
  std::uint32_t wait_s = 60;  ///< for the nodes to do what the map says; 0: not at all
  bool json = false;          ///< of status
  // changes, backup
  std::optional<std::uint32_t> only_shard{};
  std::optional<std::uint64_t> from{};  ///< position in the shard's log; none: the oldest that is there
  std::uint32_t idle_s = 0;             ///< it ends when nothing changed for so long; 0: never
  std::filesystem::path file;           ///< of backup
};

/// "NAME=PEER" or "NAME=PEER=ADDRESS", such as a=10.0.0.1:11311=10.0.0.1:11211. Thread-safety: any thread.
[[nodiscard]] runtime::Result<ClusterMap::Node> parse_cluster_node(const std::string& text);

/// Writes what changed, a line of JSON each, until it is ended. Thread-safety: the main thread.
[[nodiscard]] int tell_changes(const ClusterCommand& command);
/// Writes all items to a file, and what moment they are of to standard output. Thread-safety: the main thread.
[[nodiscard]] int write_backup(const ClusterCommand& command);

/// Writes its answer to standard output, or what is wrong to standard error, and returns the exit code.
/// Thread-safety: the main thread.
[[nodiscard]] int run_command(const ClusterCommand& command);

}  // namespace mxkv::server

// A cluster's board, for commands that need its map and the places of snapshots.
#pragma once

#include <optional>
#include <string>

#include "server/cluster/board_reader.hpp"
#include "server/cluster/cluster_node.hpp"
#include "server/cluster/kafka_board.hpp"
#include "server/daemon/cluster_commands.hpp"
#include "server/daemon/cluster_start.hpp"
#include "server/daemon/daemon.hpp"

namespace mxkv::server {

/// Thread-safety: one thread.
struct CommandBoard {
  /// Reads the whole board. If there is no map, prints the reason to standard error.
  explicit CommandBoard(const ClusterCommand& command)
      : kafka(kafka_options(command.cluster)), board(kafka, board_topic(command.cluster.name), reader) {
    constexpr int kPatienceMs = 30'000;
    std::string why;
    map = read_board(board, reader, kPatienceMs, why);
    if (!map) {
      complain(kExitFailed, ("cluster " + command.cluster.name + ": " + why).c_str());
    }
  }

  KafkaOptions kafka;
  BoardReader reader;
  KafkaBoard board;
  std::optional<ClusterMap> map;
};

}  // namespace mxkv::server

// A cluster's board as commands read it that need its map and where snapshots are.
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
  /// Reads all of it. Where there is no map then standard error tells why.
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

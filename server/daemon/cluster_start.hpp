// Connects a daemon to its cluster: to the brokers, the topics of acknowledged changes, and the map.
#pragma once

#include <memory>

#include "config/options.hpp"
#include "runtime/base/result.hpp"
#include "server/cluster/board_reader.hpp"
#include "server/cluster/cluster_node.hpp"
#include "server/cluster/kafka_log.hpp"
#include "server/cluster/ordered_log.hpp"

namespace mxkv::server {

class TopicWatch;

/// The parts that a node begins with. The engine outlives the node. Thread-safety: one thread at a time.
struct ClusterStart {
  std::shared_ptr<EngineLines> lines = std::make_shared<EngineLines>();  ///< of engine and board
  NodeOptions node;
  ClusterMap map;
  std::unique_ptr<LogEngine> engine;
  std::unique_ptr<BoardReader> reader;
  std::unique_ptr<Board> board;
  std::shared_ptr<TopicWatch> topics;
};

/// The brokers' addresses and properties. Thread-safety: any thread.
[[nodiscard]] KafkaOptions kafka_options(const config::ClusterOptions& cluster);

/// Waits for the brokers and the map. Errors: a line for each reason why this node cannot join the cluster.
/// Among them are topic settings that would lose data, and a program built without librdkafka.
[[nodiscard]] runtime::Result<std::unique_ptr<ClusterStart>> join_cluster(
    const config::DaemonOptions& options);

}  // namespace mxkv::server

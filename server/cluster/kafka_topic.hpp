// The topics of a cluster: how they are created, and which of their settings would lose acknowledged writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/cluster/kafka_log.hpp"

namespace mxkv::server {

struct TopicPlan {
  std::string name;
  std::int32_t partitions = 1;
  std::int32_t replicas = 3;
  std::int32_t least_in_sync = 2;  ///< replicas that must have a message before it is acknowledged
  bool board = false;              ///< keeps the last message of each key; false: all messages
};

/// Waits for the brokers, at most `patience_ms`. Returns nothing, or an error: "topic mxkv.shards: ...". A
/// topic that already exists is an error. Thread-safety: any thread.
[[nodiscard]] std::string create_topic(const KafkaOptions& options, const TopicPlan& plan, int patience_ms);

struct TopicVerdict {
  bool answered = false;             ///< the brokers answered
  std::vector<std::string> dangers;  ///< as topic_dangers(); without an answer, the reason
};
/// One check, for topic_dangers(). Thread-safety: any thread.
[[nodiscard]] TopicVerdict look_at_topic(const KafkaOptions& options, const TopicPlan& plan, int patience_ms);

/// The topic's settings that differ from the plan or would lose data, one line for each: "topic mxkv.shards:
/// retention.ms is 604800000, and must be -1: the log is the data". Empty: none. A failed check is such a
/// line, too. Thread-safety: any thread.
[[nodiscard]] std::vector<std::string> topic_dangers(const KafkaOptions& options, const TopicPlan& plan,
                                                     int patience_ms);

}  // namespace mxkv::server

// The topic that keeps a cluster's shards: how it is made, and what about one would lose what was acknowledged.
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
  std::int32_t least_in_sync = 2;  ///< replicas that have a message before it is acknowledged
  bool board = false;              ///< the last message of each key is kept; else all are
};

/// Waits for the brokers, `patience_ms` at most. Empty, or why there is none: "topic mxkv.shards: ...". One that is
/// there already is an error. Thread-safety: any thread.
[[nodiscard]] std::string create_topic(const KafkaOptions& options, const TopicPlan& plan, int patience_ms);

struct TopicVerdict {
  bool answered = false;             ///< by the brokers
  std::vector<std::string> dangers;  ///< as topic_dangers(); where they did not answer, why
};
/// One look, for topic_dangers(). Thread-safety: any thread.
[[nodiscard]] TopicVerdict look_at_topic(const KafkaOptions& options, const TopicPlan& plan, int patience_ms);

/// What about the topic does not fit the plan, or would lose data, one line for each with the setting's name: "topic
/// mxkv.shards: retention.ms is 604800000, and must be -1: the log is the data". Empty: nothing. That it could not be
/// asked is such a line, too. Thread-safety: any thread.
[[nodiscard]] std::vector<std::string> topic_dangers(const KafkaOptions& options, const TopicPlan& plan,
                                                     int patience_ms);

}  // namespace mxkv::server

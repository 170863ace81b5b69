// Asks Kafka for the ends of logs, on a thread of its own, because the library's only call for this blocks.
#pragma once

#include <librdkafka/rdkafka.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "server/cluster/ordered_log.hpp"

namespace mxkv::server {

/// A partition's leader answers with the end of the messages that all in-sync replicas have. A new leader
/// answers only once it knows all messages that the old one acknowledged (KIP-207). Thread-safety: one
/// thread.
class KafkaEnds {
 public:
  /// `bell`: an eventfd that rings when answer() has work. Both outlive this.
  KafkaEnds(rd_kafka_t& client, int bell) : client_(client), bell_(bell) {}
  KafkaEnds(const KafkaEnds&) = delete;
  KafkaEnds& operator=(const KafkaEnds&) = delete;
  /// Questions without an answer never get one.
  ~KafkaEnds();

  void ask(const std::string& topic, std::int32_t partition, OrderedLog::EndDone done);
  /// Calls the callbacks of answered questions.
  void answer();

 private:
  struct Asked {
    std::string topic;
    std::int32_t partition = 0;
    OrderedLog::EndDone done;
    std::optional<LogPosition> end{};
  };

  void run();

  rd_kafka_t& client_;
  int bell_;
  std::thread thread_;  ///< from the first ask() on
  std::mutex mutex_;    ///< guards the members below
  std::condition_variable changed_;
  bool ends_ = false;
  std::deque<Asked> asked_;
  std::vector<Asked> answered_;
};

}  // namespace mxkv::server

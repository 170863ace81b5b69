// How far the logs of a Kafka go, asked by a thread of its own: the library only has a call for it that waits.
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

/// What the leader of a partition answers is the end of what all in-sync replicas have; a new leader answers nothing
/// before it knows of all that the old one acknowledged (KIP-207). Thread-safety: one thread.
class KafkaEnds {
 public:
  /// `bell`: an eventfd, rung when answer() has something to do. Both outlive this.
  KafkaEnds(rd_kafka_t& client, int bell) : client_(client), bell_(bell) {}
  KafkaEnds(const KafkaEnds&) = delete;
  KafkaEnds& operator=(const KafkaEnds&) = delete;
  /// What was not answered is not any more.
  ~KafkaEnds();

  void ask(const std::string& topic, std::int32_t partition, OrderedLog::EndDone done);
  /// Calls what was asked for.
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
  std::mutex mutex_;    ///< of what follows
  std::condition_variable changed_;
  bool ends_ = false;
  std::deque<Asked> asked_;
  std::vector<Asked> answered_;
};

}  // namespace mxkv::server

// Asks Kafka for the ends of logs, on a thread of its own, because the library's only call for this blocks.
//
// Questions that come together go together: one request to each broker, for all partitions that it leads. So
// requests grow with brokers, not with partitions. But the library's call fails as a whole if one partition has no
// leader. Then all its partitions are *suspects*. Suspects are asked apart from the others, in two halves drawn at
// random, until a call that includes them succeeds. So after a few calls only partitions without a leader, and as
// many others, go without an answer, and each round of questions takes three calls at most.
#pragma once

#include <librdkafka/rdkafka.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
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

  /// Collects a question, for send().
  void ask(const std::string& topic, std::int32_t partition, OrderedLog::EndDone done);
  /// Sends the questions collected so far, together.
  void send();
  /// Calls the callbacks of answered questions.
  void answer();
  /// The library's calls so far: each sends one request to a broker at most. Any thread.
  [[nodiscard]] std::uint64_t calls() const noexcept { return calls_.load(std::memory_order_relaxed); }

 private:
  struct Asked {
    std::string topic;
    std::int32_t partition = 0;
    OrderedLog::EndDone done;
    std::optional<LogPosition> end{};
  };

  using Place = std::pair<std::string, std::int32_t>;

  void run();
  void ask_brokers(std::vector<Asked>& asked);
  void call(const std::vector<Asked*>& asked);

  rd_kafka_t& client_;
  int bell_;
  std::vector<Asked> collected_;
  std::set<Place> suspects_;  ///< for the thread
  std::minstd_rand random_;   ///< for the thread
  std::atomic<std::uint64_t> calls_{0};
  std::thread thread_;  ///< from the first send() on
  std::mutex mutex_;    ///< guards the members below
  std::condition_variable changed_;
  bool ends_ = false;
  std::vector<Asked> asked_;
  std::vector<Asked> answered_;
};

}  // namespace mxkv::server

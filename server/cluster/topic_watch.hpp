// Looks at the cluster's topics while the node runs: what would lose acknowledged writes is refused at the start, and may be
// configured later all the same.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/cluster/kafka_log.hpp"
#include "server/cluster/kafka_topic.hpp"

namespace mxkv::server {

/// Tells what it finds by KafkaOptions::lines, once each time that it looks. Thread-safety: one thread.
class TopicWatch {
 public:
  /// `dangers`: how many it found last; brokers that do not answer change nothing.
  TopicWatch(KafkaOptions options, std::vector<TopicPlan> plans,
             std::shared_ptr<std::atomic<std::uint64_t>> dangers, std::uint32_t every_ms = 60'000);
  TopicWatch(const TopicWatch&) = delete;
  TopicWatch& operator=(const TopicWatch&) = delete;
  ~TopicWatch();

 private:
  void run();
  void look();
  void say(std::string line);

  KafkaOptions options_;
  std::vector<TopicPlan> plans_;
  std::shared_ptr<std::atomic<std::uint64_t>> dangers_;  // relaxed: for people
  std::uint32_t every_ms_;
  std::mutex mutex_;  ///< of what follows
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace mxkv::server

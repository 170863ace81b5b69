// Checks the cluster's topics while the node runs: settings that would lose acknowledged writes are refused
// at the start, but may be made later.
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

/// Reports its findings to KafkaOptions::lines at each check. Thread-safety: one thread.
class TopicWatch {
 public:
  /// `dangers`: the number found at the last check; unchanged if the brokers do not answer.
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
  std::mutex mutex_;  ///< guards the members below
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace mxkv::server

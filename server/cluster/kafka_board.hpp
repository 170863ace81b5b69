// The board in Kafka: the only partition of a compacted topic.
//
// The library has threads of its own. All our code runs in poll().
#pragma once

#include <memory>
#include <string>

#include "server/cluster/board.hpp"
#include "server/cluster/kafka_log.hpp"

namespace mxkv::server {

/// Thread-safety: one thread; the constructor may run on another.
class KafkaBoard final : public Board {
 public:
  /// Reads from the beginning, and then new messages. Throws std::runtime_error as KafkaClient does. Brokers
  /// that cannot be reached, or a missing topic, are no error: the library retries for as long as this lives.
  KafkaBoard(const KafkaOptions& options, std::string topic, BoardSink& sink);
  KafkaBoard(const KafkaBoard&) = delete;
  KafkaBoard& operator=(const KafkaBoard&) = delete;
  /// Requests under way get no answer any more.
  ~KafkaBoard() override;

  void put(const std::string& key, std::string value, Done done) override;
  void remove(const std::string& key, Done done) override;

  void poll(int wait_ms) override;
  void wake() noexcept override;
  [[nodiscard]] std::string last_error() const override;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace mxkv::server

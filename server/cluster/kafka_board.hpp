// The board as a Kafka keeps it: the only partition of a compacted topic.
//
// The library has threads of its own. Everything of ours happens in poll().
#pragma once

#include <memory>
#include <string>

#include "server/cluster/board.hpp"
#include "server/cluster/kafka_log.hpp"

namespace mxkv::server {

/// Thread-safety: one thread, but the constructor's.
class KafkaBoard final : public Board {
 public:
  /// Reads from the beginning, and then what comes. Throws std::runtime_error as KafkaClient does; brokers that cannot
  /// be reached, or a topic that is not there yet, are no error: they are tried again for as long as this lives.
  KafkaBoard(const KafkaOptions& options, std::string topic, BoardSink& sink);
  KafkaBoard(const KafkaBoard&) = delete;
  KafkaBoard& operator=(const KafkaBoard&) = delete;
  /// What is under way is not answered any more.
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

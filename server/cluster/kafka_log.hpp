// Logs in Kafka, or any server of its protocol: each is one partition of a topic.
//
// The outcomes of an append (ordered_log.hpp) are: *stored* when all in-sync replicas have the message, *refused* when
// it never left this process or was rejected, and *unknown* in all other cases. The producer is idempotent, so that the
// library's own retries keep the order. A producer that has failed for good is replaced by a new one, and its appends
// under way are unknown.
//
// The library has threads of its own. All our code runs in poll().
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "server/cluster/engine_lines.hpp"
#include "server/cluster/ordered_log.hpp"

namespace mxkv::server {

struct KafkaOptions {
  std::string brokers;  ///< host:port, separated by commas
  /// For the library, as its documentation names them: TLS, SASL. Properties that this code relies on are refused.
  std::map<std::string, std::string> properties;
  std::uint32_t append_timeout_ms = 5000;  ///< after this the outcome is unknown
  std::shared_ptr<EngineLines> lines{};    ///< for the library's log lines; null: they are dropped
};

struct KafkaCounters {
  std::uint64_t renewed = 0;    ///< how often a failed producer was replaced
  std::uint64_t end_calls = 0;  ///< calls for the ends of logs: one request to each broker at most
  std::string last_error;       ///< the library's; empty: none so far
};

/// A process' connection to the brokers. Thread-safety: one thread; the constructor may run on another.
class KafkaClient final : public LogEngine {
 public:
  /// Throws std::runtime_error, in words: for a property that the library does not know, or that must not be set.
  /// Brokers that cannot be reached are no error: the library retries for as long as this lives.
  explicit KafkaClient(KafkaOptions options);
  KafkaClient(const KafkaClient&) = delete;
  KafkaClient& operator=(const KafkaClient&) = delete;
  /// Appends and questions under way get no answer any more.
  ~KafkaClient() override;

  [[nodiscard]] std::unique_ptr<OrderedLog> open(const std::string& topic, std::int32_t partition) override;
  void poll(int wait_ms) override;
  void hold_reads(bool holds) override;
  void wake() noexcept override;
  [[nodiscard]] std::string last_error() const override { return counters().last_error; }

  [[nodiscard]] const KafkaCounters& counters() const noexcept;

 private:
  class Log;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace mxkv::server

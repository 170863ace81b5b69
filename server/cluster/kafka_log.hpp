// Logs that a Kafka keeps: one partition of a topic each. Any server of the protocol will do.
//
// What an engine may do wrong at a seam is told apart here: an append is *stored* when all in-sync replicas have it,
// *refused* when it never left this process or was turned down, and *unknown* in all other cases. The producer is
// idempotent, so that the client's own retries keep the order; one that has failed for good is replaced by a new one,
// and what was under way is unknown.
//
// The library has threads of its own. Everything of ours happens in poll().
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
  /// For the library, as its documentation names them: TLS, SASL. What this code relies on cannot be changed.
  std::map<std::string, std::string> properties;
  std::uint32_t append_timeout_ms = 5000;  ///< then it is unknown what became of it
  std::shared_ptr<EngineLines> lines{};    ///< what the library says of itself; null: nobody hears it
};

struct KafkaCounters {
  std::uint64_t renewed = 0;  ///< producers that failed for good
  std::string last_error;     ///< of the library's; empty: none yet
};

/// One process' connection to the brokers. Thread-safety: one thread, but the constructor's.
class KafkaClient final : public LogEngine {
 public:
  /// Throws std::runtime_error, in words: a property that the library does not know, or that is not to be set.
  /// Brokers that cannot be reached are no error: they are tried again for as long as this lives.
  explicit KafkaClient(KafkaOptions options);
  KafkaClient(const KafkaClient&) = delete;
  KafkaClient& operator=(const KafkaClient&) = delete;
  /// What is under way is not answered any more.
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

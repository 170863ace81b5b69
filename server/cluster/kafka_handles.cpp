#include "server/cluster/kafka_handles.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <stdexcept>

namespace mxkv::server::kafka {
namespace {

/// The time after which a request to a silent broker fails. Until then nothing is read from the partitions
/// that it led. Brokers take about this long to replace one another.
constexpr const char* kSilenceMs = "10000";
/// Brokers that are back are found within this time.
constexpr const char* kLongestPauseMs = "1000";

// The library's threads call this. It drops debug lines.
void say(const rd_kafka_t* client, int level, const char* facility, const char* text) {
  constexpr int kWarning = 4;
  constexpr int kInfo = 6;
  const auto* const caller =
      client == nullptr ? nullptr : static_cast<const Caller*>(rd_kafka_opaque(client));
  if (caller != nullptr && caller->lines != nullptr && level <= kInfo) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    caller->lines->say(level <= kWarning, std::string{"cluster: librdkafka: "} + facility + ": " + text,
                       static_cast<std::uint64_t>(std::chrono::nanoseconds{now}.count()));
  }
}

}  // namespace

void set_property(rd_kafka_conf_t& conf, const std::string& name, const std::string& value) {
  std::array<char, kErrorBytes> error{};
  if (rd_kafka_conf_set(&conf, name.c_str(), value.c_str(), error.data(), error.size()) != RD_KAFKA_CONF_OK) {
    throw std::runtime_error("cluster.properties: " + name + ": " + error.data());
  }
}

Conf configuration(const KafkaOptions& options, Caller* caller) {
  Conf conf{rd_kafka_conf_new()};
  rd_kafka_conf_set_opaque(conf.get(), caller);
  rd_kafka_conf_set_log_cb(conf.get(), &say);
  set_property(*conf, "bootstrap.servers", options.brokers);
  set_property(*conf, "socket.timeout.ms", kSilenceMs);
  set_property(*conf, "reconnect.backoff.max.ms", kLongestPauseMs);
  for (const auto& [name, value] : options.properties) {
    set_property(*conf, name, value);
  }
  return conf;
}

Client start(rd_kafka_type_t type, Conf conf) {
  std::array<char, kErrorBytes> error{};
  rd_kafka_conf_t* const given = conf.release();
  Client client{rd_kafka_new(type, given, error.data(), error.size())};
  if (client == nullptr) {
    conf.reset(given);  // only an existing client owns it
    throw std::runtime_error(std::string{"cluster: "} + error.data());
  }
  return client;
}

void ring_for(rd_kafka_queue_t& queue, int eventfd) {
  static constexpr std::uint64_t kOne = 1;
  rd_kafka_queue_io_event_enable(&queue, eventfd, &kOne, sizeof kOne);
}

void end_of_writes(rd_kafka_t& producer) {
  rd_kafka_purge(&producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  while (rd_kafka_outq_len(&producer) > 0) {
    rd_kafka_poll(&producer, 10);
  }
}

}  // namespace mxkv::server::kafka

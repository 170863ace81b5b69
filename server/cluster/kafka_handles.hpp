// The library's objects, which are freed with their last holder, and functions for all its users. For the
// kafka_ sources alone: no other file sees the library.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstddef>
#include <memory>
#include <string>

#include "server/cluster/kafka_log.hpp"

namespace mxkv::server::kafka {

inline constexpr std::size_t kErrorBytes = 512;

template <auto Destroy>
struct Destroyer {
  template <class T>
  void operator()(T* what) const noexcept {
    Destroy(what);
  }
};

template <class T, auto Destroy>
using Handle = std::unique_ptr<T, Destroyer<Destroy>>;

using Client = Handle<rd_kafka_t, &rd_kafka_destroy>;
using Topic = Handle<rd_kafka_topic_t, &rd_kafka_topic_destroy>;
using Queue = Handle<rd_kafka_queue_t, &rd_kafka_queue_destroy>;
using Conf = Handle<rd_kafka_conf_t, &rd_kafka_conf_destroy>;
using Message = Handle<rd_kafka_message_t, &rd_kafka_message_destroy>;
using Error = Handle<rd_kafka_error_t, &rd_kafka_error_destroy>;
using Partitions = Handle<rd_kafka_topic_partition_list_t, &rd_kafka_topic_partition_list_destroy>;
using Event = Handle<rd_kafka_event_t, &rd_kafka_event_destroy>;

/// Throws std::runtime_error, which names the property.
void set_property(rd_kafka_conf_t& conf, const std::string& name, const std::string& value);
/// The target of a client's callbacks. It outlives the client.
struct Caller {
  explicit Caller(std::shared_ptr<EngineLines> to) : lines(std::move(to)) {}
  std::shared_ptr<EngineLines> lines;  ///< may be null
};
/// The brokers and properties of `options`; callbacks get `caller`, or null: there are no callbacks. Throws
/// as set_property().
[[nodiscard]] Conf configuration(const KafkaOptions& options, Caller* caller = nullptr);
/// Throws std::runtime_error.
[[nodiscard]] Client start(rd_kafka_type_t type, Conf conf);

/// Makes the library ring when something arrives in an empty queue.
void ring_for(rd_kafka_queue_t& queue, int eventfd);
/// Ends all writes under way, and calls their callbacks.
void end_of_writes(rd_kafka_t& producer);

}  // namespace mxkv::server::kafka

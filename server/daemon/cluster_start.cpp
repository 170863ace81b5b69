#include "server/daemon/cluster_start.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "config/parse.hpp"
#ifdef MXKV_KAFKA
#include "server/cluster/kafka_board.hpp"
#include "server/cluster/kafka_log.hpp"
#include "server/cluster/kafka_topic.hpp"
#include "server/cluster/topic_watch.hpp"
#endif

namespace mxkv::server {

using runtime::Error;
using runtime::Result;

#ifdef MXKV_KAFKA

namespace {

constexpr int kPatienceMs = 30'000;

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string{name.data()} : std::string{};
}

NodeOptions node_options(const config::DaemonOptions& options) {
  const config::ClusterOptions& cluster = options.cluster;
  NodeOptions node;
  node.cluster = cluster.name;
  node.name = cluster.node.empty() ? host_name() : cluster.node;
  node.peer = cluster.advertise.empty() ? config::format_listen(*cluster.peer) : cluster.advertise;
  node.address = !cluster.address.empty()    ? cluster.address
                 : options.listeners.empty() ? std::string{}
                                             : config::format_listen(options.listeners.front());
  node.version = MXKV_VERSION;
  node.deadline_ns = std::uint64_t{cluster.deadline_ms} * 1'000'000;
  node.snapshot_bytes = cluster.snapshot_bytes;
  const bool has_readers = std::ranges::any_of(options.listeners, [](const config::ListenAddress& listen) {
    return listen.reads == config::listener_reads::replica;
  });
  node.fresh_ns = has_readers ? std::uint64_t{cluster.staleness_ms} * 1'000'000 / 4 : 0;
  return node;
}

}  // namespace

KafkaOptions kafka_options(const config::ClusterOptions& cluster) {
  KafkaOptions options;
  for (const std::string& broker : cluster.brokers) {
    options.brokers.append(options.brokers.empty() ? "" : ",").append(broker);
  }
  options.properties = cluster.properties;
  return options;
}

Result<std::unique_ptr<ClusterStart>> join_cluster(const config::DaemonOptions& options) {
  const config::ClusterOptions& cluster = options.cluster;
  const std::string prefix = "cluster " + cluster.name + ": ";
  KafkaOptions kafka = kafka_options(cluster);
  auto start = std::make_unique<ClusterStart>();
  kafka.lines = start->lines;
  start->node = node_options(options);
  start->reader = std::make_unique<BoardReader>();
  try {
    start->engine = std::make_unique<KafkaClient>(kafka);
    start->board = std::make_unique<KafkaBoard>(kafka, board_topic(cluster.name), *start->reader);
  } catch (const std::exception& error) {
    return Error{prefix + error.what()};
  }
  std::string why;
  std::optional<ClusterMap> map = read_board(*start->board, *start->reader, kPatienceMs, why);
  if (!map) {
    return Error{prefix + why};
  }
  std::string dangers;
  const auto shards = static_cast<std::int32_t>(map->shards.size());
  const std::vector<TopicPlan> plans{{.name = board_topic(cluster.name), .board = true},
                                     {.name = shards_topic(cluster.name), .partitions = shards},
                                     {.name = snapshots_topic(cluster.name), .partitions = shards}};
  for (const TopicPlan& plan : plans) {
    for (const std::string& danger : topic_dangers(kafka, plan, kPatienceMs)) {
      dangers.append(dangers.empty() ? "" : "\n").append(prefix).append(danger);
    }
  }
  if (!dangers.empty()) {
    return Error{dangers};
  }
  if (map->find_node(start->node.name) == nullptr) {
    return Error{prefix + "its map has no node " + start->node.name + ": mxkvd cluster add " +
                 start->node.name + "=" + start->node.peer + " adds it"};
  }
  start->map = *std::move(map);
  const auto dangers_now = std::make_shared<std::atomic<std::uint64_t>>(0);
  start->node.topic_dangers = dangers_now;
  start->topics = std::make_shared<TopicWatch>(kafka, plans, dangers_now);
  return start;
}

#else

Result<std::unique_ptr<ClusterStart>> join_cluster(const config::DaemonOptions& options) {
  return Error{"cluster " + options.cluster.name + ": this mxkvd was built without librdkafka: no cluster"};
}

#endif

}  // namespace mxkv::server

// ClusterNode's functions: what it tells the others, and people.
#include <string>
#include <utility>

#include "server/cluster/cluster_node.hpp"

namespace mxkv::server {
namespace {

std::string_view text_of(Shard::role role) {
  switch (role) {
    case Shard::role::follows:
      return "follows";
    case Shard::role::claims:
      return "claims";
    case Shard::role::owns:
      return "owns";
    case Shard::role::leaves:
      return "leaves";
    case Shard::role::stranded:
      break;
  }
  return "stranded";
}

/// Of what memory takes no more of, nobody is to rely on what is here.
std::string role_of(const HostedShard& shard) {
  const Shard::role role = shard.engine().now();
  if (shard.loading()) {
    return "loads";
  }
  return std::string{
      text_of(role == Shard::role::follows && !shard.follows() ? Shard::role::stranded : role)};
}

ShardPresence presence_of(const HostedShard& shard) {
  return {.id = shard.id(),
          .role = role_of(shard),
          .term = shard.engine().state().term(),
          .position = shard.engine().position(),
          .serves = shard.open()};
}

}  // namespace

std::vector<std::uint32_t> ClusterNode::open_now() const {
  std::vector<std::uint32_t> open;
  for (const auto& [id, shard] : hosted_) {
    if (shard->open()) {
      open.push_back(id);
    }
  }
  return open;
}

void ClusterNode::tell_presence() {
  Presence presence{.name = options_.name,
                    .process = process_,
                    .address = options_.address,
                    .peer = options_.peer,
                    .version = options_.version,
                    .map_version = map_.version,
                    .shards = {}};
  for (const auto& [id, shard] : hosted_) {
    presence.shards.push_back(presence_of(*shard));
    if (ends_ns_ != 0 && presence.shards.back().role == "follows") {
      presence.shards.back().role = "ends";
    }
  }
  board_.put(presence_key(options_.name), write_presence(presence), {});
}

void ClusterNode::show(std::uint64_t now_ns) {
  NodeStatus status;
  status.cluster = options_.cluster;
  status.node = options_.name;
  status.process = process_;
  status.map_version = map_.version;
  status.shards_of_cluster = static_cast<std::uint32_t>(map_.shards.size());
  status.nodes_alive = 1;
  for (const auto& [name, neighbour] : neighbours_) {
    status.nodes_alive += static_cast<std::uint32_t>(alive(name, now_ns) != nullptr);
  }
  for (const auto& [id, shard] : hosted_) {
    status.shards.push_back({.presence = presence_of(*shard),
                             .owner = shard->open() ? options_.peer : shard->engine().owner_address(),
                             .counters = shard->engine().counters(),
                             .hosted = shard->counters(),
                             .loading = shard->loading(),
                             .staleness_ns = shard->staleness_ns(now_ns)});
  }
  const PipelineCounts& counts = pipeline_.counts();
  status.epoch_current = pipeline_.epochs().current();
  status.epoch_durable = pipeline_.epochs().durable();
  status.waiting_bytes = pipeline_.waiting_bytes();
  status.applying_bytes = memory_.waiting_bytes();
  status.groups = counts.groups.load(std::memory_order_relaxed);
  status.records = counts.records.load(std::memory_order_relaxed);
  status.bytes = counts.bytes.load(std::memory_order_relaxed);
  status.voided = counts.voided.load(std::memory_order_relaxed);
  status.given_up = pipeline_.failures();
  status.left_out = reader_.left_out();
  status.last_error = memory_.failed() ? memory_.failure() : engine_.last_error();
  const std::scoped_lock lock{mutex_};
  shown_ = std::move(status);
}

NodeStatus ClusterNode::status() const {
  const std::scoped_lock lock{mutex_};
  return shown_;
}

}  // namespace mxkv::server

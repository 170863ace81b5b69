// ClusterNode's functions: its announcements to other nodes, and its log lines.
#include <algorithm>
#include <string>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/cluster/cluster_node.hpp"

namespace mxkv::server {
namespace {

std::string shards_text(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " shard" : " shards");
}

}  // namespace

std::vector<std::uint32_t> ClusterNode::served_now() const {
  std::vector<std::uint32_t> served;
  for (const auto& [id, shard] : hosted_) {
    if (shard->serves()) {
      served.push_back(id);
    }
  }
  return served;
}

// One line for all shards when an outage begins, and one when it is over.
void ClusterNode::tell_outages(std::uint64_t now_ns) {
  constexpr std::uint64_t kBrokersSilentNs = 5'000'000'000;
  const std::string error = engine_.last_error().empty() ? "" : ": " + engine_.last_error();
  const auto lapsed = static_cast<std::size_t>(std::ranges::count_if(
      hosted_, [](const auto& entry) { return entry.second->open() && !entry.second->serves(); }));
  if (lapsed != 0 && lapsed_ == 0) {
    lines_.warn("cluster: " + std::to_string(lapsed) +
                (lapsed == 1 ? " shard that this node owns is" : " shards that this node owns are") +
                " not served: the brokers have not acknowledged anything for the length of a lease" + error);
  } else if (lapsed == 0 && lapsed_ != 0) {
    lines_.info("cluster: all shards that this node owns are served again");
  }
  lapsed_ = lapsed;
  const bool silent = now_ns >= std::max(board_ns_, started_ns_) + kBrokersSilentNs;
  if (silent && !board_silent_) {
    lines_.warn("cluster: the brokers are silent: nothing arrived on the metadata topic for " +
                std::to_string(kBrokersSilentNs / 1'000'000'000) + " s" + error);
  } else if (!silent && board_silent_) {
    lines_.info("cluster: the brokers answer again");
  }
  board_silent_ = silent;
  const std::size_t lacked = std::exchange(lacking_, 0);
  lack_.clear();
  for (const auto& [id, shard] : hosted_) {
    lacking_ += shard->lack().empty() ? 0 : 1;
    lack_ = shard->lack().empty() ? lack_ : shard->lack();
  }
  if (lacking_ != 0 && lacked == 0) {
    lines_.warn(
        "cluster: this node is no replica of " + shards_text(lacking_) + ": " + lack_ +
        "; it tries again, at least once a minute; raise memory.limit, or move shards to other nodes");
  } else if (lacking_ == 0 && lacked != 0) {
    lines_.info("cluster: this node replicates all its shards again");
  }
}

void ClusterNode::look_at_copies(std::uint64_t now_ns) {
  const std::size_t limit = runtime_.budget().limit_bytes();
  const bool has_more = std::exchange(memory_limit_, limit) < limit;
  for (const auto& [id, shard] : hosted_) {
    if (has_more) {
      shard->load_now();
    }
    const auto has_reached = [&, number = id](const auto& named) {
      const Neighbour* const node = alive(named.first, now_ns);
      const ShardPresence* const theirs = node == nullptr ? nullptr : node->presence.find(number);
      return theirs != nullptr && theirs->serves && shard->engine().position() >= theirs->position;
    };
    if (!shard->lack().empty() && std::ranges::any_of(neighbours_, has_reached)) {
      shard->is_level();
    }
  }
}

// This concerns the start only: if a shard is loaded again later, other nodes serve it.
void ClusterNode::note_completeness(std::uint64_t now_ns) {
  if (complete_) {
    return;
  }
  incomplete_ = static_cast<std::size_t>(std::ranges::count_if(hosted_, [&](const auto& entry) {
    const HostedShard& shard = *entry.second;
    const auto is_ahead = [&](const auto& named) {
      const Neighbour* const node = alive(named.first, now_ns);
      const ShardPresence* const theirs = node == nullptr ? nullptr : node->presence.find(shard.id());
      return theirs != nullptr && theirs->position > shard.engine().position() + kNearMessages;
    };
    return !shard.is_sound() || std::ranges::any_of(neighbours_, is_ahead);
  }));
  complete_ = incomplete_ == 0 && !memory_.is_behind(0);
}

void ClusterNode::tell_presence() {
  Presence presence{.name = options_.name,
                    .process = process_,
                    .address = options_.address,
                    .peer = options_.peer,
                    .version = options_.version,
                    .map_version = map_.version,
                    .said_ns = runtime_.clock().monotonic_ns(),
                    .read = reader_.read(),
                    .shards = {}};
  MXKV_ASSERT(settled_ns_ <= presence.said_ns, "changes are settled before a node says so");
  presence.behind_ns = settled_ns_ == 0 ? Presence::kNotTold : presence.said_ns - settled_ns_;
  for (const auto& [id, shard] : hosted_) {
    presence.shards.push_back(shard->presence());
    if (ends_ns_ != 0 && presence.shards.back().has_data()) {
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
    status.shards.push_back({.presence = shard->presence(),
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
  status.last_error = lacking_ != 0 ? lack_ : engine_.last_error();
  status.lapsed = lapsed_;
  status.topic_dangers =
      options_.topic_dangers == nullptr ? 0 : options_.topic_dangers->load(std::memory_order_relaxed);
  status.board_silent = board_silent_;
  status.lacking = lacking_;
  status.lack = lack_;
  status.complete = complete_;
  status.incomplete = incomplete_;
  status.not_left = not_left_;
  const std::scoped_lock lock{mutex_};
  shown_ = std::move(status);
}

NodeStatus ClusterNode::status() const {
  const std::scoped_lock lock{mutex_};
  return shown_;
}

}  // namespace mxkv::server

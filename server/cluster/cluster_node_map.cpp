// ClusterNode's functions: how it follows the map and its neighbours.
#include <algorithm>
#include <string>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/cluster/cluster_node.hpp"

namespace mxkv::server {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kSilentNs = 4 * kNsPerSecond;   ///< a node that is silent for this long is gone
constexpr std::uint64_t kAtLeastNs = 3 * kNsPerSecond;  ///< a shard stays put this long
constexpr std::uint64_t kNoticeNs =
    kNsPerSecond / 10 * 3;                  ///< between the announcement that this node ends and its end
constexpr unsigned kMostRestDoublings = 6;  ///< of kAtLeastNs
constexpr std::uint64_t kLivesNs = 2 * kNsPerSecond;  ///< a node says a word each second
constexpr std::size_t kMostMoves = 8;    ///< shards that are handed over at once while the node stays
constexpr std::uint32_t kMostNamed = 8;  ///< shards that a node cannot hand over, in a line of the log
constexpr std::uint64_t kForgottenNs = 600 * kNsPerSecond;  ///< older attempts are forgotten

}  // namespace

void ClusterNode::take_map(const ClusterMap& map) {
  if (map.cluster != map_.cluster || map.shards.size() != map_.shards.size()) {
    lines_.warn("cluster: ignored the map on the metadata topic: it is another cluster's");
    return;
  }
  lines_.info("cluster: map " + std::to_string(map.version));
  if (map.lease_ms != map_.lease_ms) {
    lines_.info("cluster: the lease is " + std::to_string(map.lease_ms) + " ms, was " +
                std::to_string(map_.lease_ms) + " ms");
  }
  MXKV_ASSERT(same_shards(map, map_) && map.version > map_.version,
              "a map in force is followed by a later one");
  map_ = map;
  for (const auto& [id, shard] : hosted_) {
    shard->set_lease(lease_ns());
  }
  const std::size_t before = hosted_.size();
  host_shards();
  if (hosted_.size() != before) {
    lines_.info("cluster: this node holds " + std::to_string(hosted_.size()) + " of " +
                std::to_string(map_.shards.size()) + " shards");
  }
}

// Hosts the shards that the map gives to this node. A shard that it takes away stays until another node owns
// it.
void ClusterNode::host_shards() {
  for (std::uint32_t id = 0; id < map_.shards.size(); ++id) {
    const ClusterMap::Shard& shard = map_.shards[id];
    if (hosted_.contains(id) || surplus_.contains(id) ||
        std::ranges::find(shard.replicas, options_.name) == shard.replicas.end()) {
      continue;
    }
    auto hosted = std::make_unique<HostedShard>(
        around_, id, engine_.open(shards_topic(options_.cluster), shard.partition),
        engine_.open(snapshots_topic(options_.cluster), shard.partition),
        ShardOptions{.scope = {.cluster = map_.cluster, .shard = id},
                     .node = process_,
                     .address = options_.peer,
                     .lease_ns = lease_ns(),
                     .fresh_ns = options_.fresh_ns,
                     .preferred = shard.prefers == options_.name,
                     .seed = process_ + id,
                     .rules = {}});
    hosted_.emplace(id, std::move(hosted));
  }
}

const ClusterNode::Neighbour* ClusterNode::alive(const std::string& name, std::uint64_t now_ns) const {
  const auto found = neighbours_.find(name);
  return found != neighbours_.end() && now_ns - found->second.heard_ns < kSilentNs ? &found->second : nullptr;
}

std::string ClusterNode::obstacle(const std::string& name, const HostedShard& shard,
                                  std::uint64_t now_ns) const {
  const Neighbour* const node = alive(name, now_ns);
  if (node == nullptr) {
    return name + " is silent";
  }
  const ShardPresence* const theirs = node->presence.find(shard.id());
  if (theirs == nullptr) {
    return name + " has no copy of it";
  }
  if (theirs->role != "follows") {
    return name + " says \"" + theirs->role + "\"";
  }
  const std::uint64_t own = shard.engine().position();
  return theirs->position + kNearMessages >= own
             ? std::string{}
             : name + " is " + std::to_string(own - theirs->position) + " messages behind";
}

// Silence is measured against the last word of any node: if none arrives, the board is unreachable.
bool ClusterNode::may_be_left(const HostedShard& shard) const {
  return std::ranges::any_of(map_.shards[shard.id()].replicas, [&](const std::string& name) {
    const Neighbour* const node = name == options_.name ? nullptr : alive(name, board_ns_);
    return node != nullptr && !node->presence.ends();
  });
}

std::size_t ClusterNode::moving() const {
  return static_cast<std::size_t>(std::ranges::count_if(hosted_, [](const auto& entry) {
    const HostedShard& shard = *entry.second;
    return shard.engine().now() == Shard::role::leaves || (shard.open() && !shard.may_leave());
  }));
}

// Leaves an owned shard to the node that is to own it, once that node is alive and has nearly all of the
// shard.
void ClusterNode::follow_map(std::uint64_t now_ns) {
  const bool ends = handing_over_.load(std::memory_order_relaxed);
  if (ends && ends_ns_ == 0) {
    ends_ns_ = now_ns;
    presence_ns_ = 0;  // so that other nodes give nothing back to it
  }
  std::uint32_t open = 0;
  bool hands_over = false;
  not_left_.clear();
  std::uint32_t stuck = 0;
  std::size_t moves_now = moving();
  for (std::uint32_t id = 0; id < map_.shards.size(); ++id) {
    const ClusterMap::Shard& shard = map_.shards[id];
    const auto hosted = hosted_.find(id);
    if (hosted == hosted_.end()) {
      continue;
    }
    const bool stays = hosted->second->open() || hosted->second->engine().now() == Shard::role::leaves;
    open += static_cast<std::uint32_t>(stays);
    hands_over = hands_over || (stays && (!hosted->second->may_leave() || may_be_left(*hosted->second)));
    // A node that lives and cannot claim gets the shard less and less often.
    Moves& moves = moves_[id];
    const std::uint64_t rest_ns = kAtLeastNs << std::min(moves.tries, kMostRestDoublings);
    if (!hosted->second->may_leave() ||
        (ends ? now_ns < ends_ns_ + kNoticeNs : now_ns < hosted->second->open_since_ns() + rest_ns)) {
      continue;
    }
    std::string obstacles;
    const auto leave_to = [&](const std::string& name) {
      if (name == options_.name) {
        return false;
      }
      if (const std::string why = obstacle(name, *hosted->second, now_ns); !why.empty()) {
        obstacles += (obstacles.empty() ? "" : ", ") + why;
        return false;
      }
      lines_.info("shard " + std::to_string(id) + ": is handed over to " + name);
      hosted->second->leave(alive(name, now_ns)->presence.process);
      return true;
    };
    if (ends) {
      if (!std::ranges::any_of(shard.replicas, leave_to) && ++stuck <= kMostNamed) {
        not_left_ += (not_left_.empty() ? "shard " : "; shard ") + std::to_string(id) + ": " +
                     (obstacles.empty() ? "no other node keeps it" : obstacles);
      }
    } else if (moves_now < kMostMoves && shard.prefers != options_.name && leave_to(shard.prefers)) {
      ++moves_now;
      moves.tries = now_ns - moves.last_ns < kForgottenNs ? moves.tries + 1 : 0;
      moves.last_ns = now_ns;
    }
  }
  if (stuck > kMostNamed) {
    not_left_ += "; and " + std::to_string(stuck - kMostNamed) + " more";
  }
  leaving_ = hands_over || !ends || now_ns < ends_ns_ + kNoticeNs;
  open_shards_.store(open, std::memory_order_relaxed);
}

// A durable epoch implies that each worker has ended a round since the epoch was closed. So each change whose
// clock reading is older than the close is in that epoch or an earlier one.
void ClusterNode::note_settled(std::uint64_t now_ns) {
  if (settling_epoch_ != 0 && pipeline_.epochs().durable() < settling_epoch_) {
    return;
  }
  MXKV_ASSERT(settled_ns_ <= settling_ns_ && settling_ns_ <= now_ns, "settled moments never go back");
  settled_ns_ = settling_ns_;
  settling_ns_ = now_ns;
  settling_epoch_ = pipeline_.end_epoch();
}

// An item that seems expired may have been touched since, by a record that is not read yet. It stays until
// this node is known to have read as much as the shard's owner had then (words_read.hpp).
void ClusterNode::hold_expired(std::uint64_t now_ns) {
  const bool applied = memory_.waiting_bytes() == 0;
  std::uint64_t known_ns = now_ns;
  for (const auto& [id, shard] : hosted_) {
    std::uint64_t& caught_up_ns = caught_up_ns_[id];
    if (shard->open()) {
      caught_up_ns = now_ns;
      continue;
    }
    if (shard->loading()) {
      caught_up_ns = 0;
    }
    if (shard->is_empty()) {
      continue;
    }
    for (const auto& [name, neighbour] : neighbours_) {
      const auto theirs = std::ranges::find(neighbour.presence.shards, id, &ShardPresence::id);
      if (applied && shard->follows() && theirs != neighbour.presence.shards.end() && theirs->serves &&
          shard->engine().position() >= theirs->position) {
        caught_up_ns = std::max(caught_up_ns, neighbour.known_ns);
      }
    }
    known_ns = std::min(known_ns, caught_up_ns);
  }
  store_.hold_expired(known_ns == now_ns ? ~std::uint64_t{0}
                      : known_ns == 0    ? 1
                                         : runtime_.clock().steady_us(known_ns));
}

// Retires the shards that the map gives to other nodes, once another node serves them.
void ClusterNode::leave_surplus(std::uint64_t now_ns) {
  for (std::uint32_t id = 0; id < map_.shards.size(); ++id) {
    const ClusterMap::Shard& shard = map_.shards[id];
    const auto hosted = hosted_.find(id);
    if (hosted == hosted_.end() || !hosted->second->may_retire() ||
        std::ranges::find(shard.replicas, options_.name) != shard.replicas.end()) {
      continue;
    }
    const bool served = std::ranges::any_of(shard.replicas, [&](const std::string& name) {
      const Neighbour* const node = alive(name, now_ns);
      return node != nullptr && std::ranges::any_of(node->presence.shards, [&](const ShardPresence& theirs) {
               return theirs.id == id && theirs.serves;
             });
    });
    if (!served) {
      continue;
    }
    lines_.info("shard " + std::to_string(id) + ": the map no longer assigns it to this node");
    surplus_.emplace(id, hosted->second->retire());
    retired_.push_back(std::move(hosted->second));
    hosted_.erase(hosted);
  }
}

// Waits for the epoch, because of reads under way: see EpochPipeline::end_reads().
void ClusterNode::drop_surplus() {
  const std::size_t dropped = std::erase_if(surplus_, [this](const auto& entry) {
    const auto& [id, epoch] = entry;
    if (pipeline_.passed() < epoch) {
      return false;
    }
    MXKV_ASSERT(!hosted_.contains(id), "a surplus shard's memory is dropped before it is loaded again");
    memory_.drop(id, routes_.begin_of(id), routes_.end_of(id));
    return true;
  });
  if (dropped > 0) {
    host_shards();  // the map may have given it back
  }
}

// Routes the shards that are not held here, or not loaded: to the node that says that it serves the shard, else to
// any live replica, which may know the owner.
void ClusterNode::route_others(std::uint64_t now_ns) {
  for (std::uint32_t id = 0; id < map_.shards.size(); ++id) {
    const ClusterMap::Shard& shard = map_.shards[id];
    if (const auto hosted = hosted_.find(id); hosted != hosted_.end() && !hosted->second->loading()) {
      continue;
    }
    // A hint is newer than the nodes' words, which come once a second. It stands while its node is alive and
    // no other node says that it serves the shard.
    const Route before = routes_.route(id);
    const std::string kept =
        before.where == Route::to::peer ? routes_.peer_address(before.peer) : std::string{};
    std::string peer;
    std::string server;
    bool is_there = false;
    for (const std::string& name : shard.replicas) {
      const Neighbour* const node = alive(name, now_ns);
      if (node == nullptr) {
        continue;
      }
      const auto theirs = std::ranges::find(node->presence.shards, id, &ShardPresence::id);
      if (theirs != node->presence.shards.end() && theirs->serves) {
        server = node->presence.peer;
      }
      is_there = is_there || node->presence.peer == kept;
      peer = peer.empty() ? node->presence.peer : peer;
    }
    peer = !server.empty() ? server : is_there ? kept : peer;
    if (peer.empty()) {
      routes_.set(id, {});
    } else if (peer != kept) {
      routes_.set(id, {.where = Route::to::peer, .peer = routes_.peer(peer)});
    }
  }
}

// By now, not by the last word of any node: if the board is unreachable, silence in a shard's own log decides. A node
// that dropped its copy has given up the shard.
bool ClusterNode::lives(std::uint64_t process, std::uint32_t shard) const {
  const std::uint64_t now_ns = runtime_.clock().monotonic_ns();
  return std::ranges::any_of(neighbours_, [&](const auto& named) {
    const Presence& said = named.second.presence;
    const ShardPresence* const theirs = said.find(shard);
    return said.process == process && now_ns < named.second.heard_ns + std::max(kLivesNs, lease_ns()) &&
           (theirs == nullptr || theirs->has_data());
  });
}

std::string ClusterNode::address_of(std::uint64_t process) const {
  for (const auto& [name, neighbour] : neighbours_) {
    if (neighbour.presence.process == process) {
      return neighbour.presence.peer;
    }
  }
  return {};
}

// A shard's snapshot is taken by one of its live followers, else by its owner.
void ClusterNode::take_snapshots(std::uint64_t now_ns) {
  for (auto& [id, shard] : hosted_) {
    const std::vector<std::string>& replicas = map_.shards[id].replicas;
    const auto takes = std::ranges::find_if(replicas, [&](const std::string& name) {
      if (name == options_.name) {
        return shard->follows();
      }
      const Neighbour* const node = alive(name, now_ns);
      return node != nullptr && std::ranges::any_of(node->presence.shards, [&](const ShardPresence& theirs) {
               return theirs.id == id && theirs.role == "follows";
             });
    });
    if (takes == replicas.end() ? shard->open() : *takes == options_.name) {
      shard->take_snapshot(options_.snapshot_bytes);
    }
  }
}

}  // namespace mxkv::server

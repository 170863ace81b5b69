// A node of a cluster: the thread that talks to the logs and the board, and the shards that the map gives to this node.
//
// Its life: read_board() before anything else starts, which tells the map; the constructor; start() when the workers
// are about to; hand_over() before the sockets are closed; finish() when no worker runs any more.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/scheduler/runtime.hpp"
#include "server/cluster/board_reader.hpp"
#include "server/cluster/cluster_map.hpp"
#include "server/cluster/epoch_pipeline.hpp"
#include "server/cluster/hosted_shard.hpp"
#include "server/cluster/node_status.hpp"
#include "server/cluster/pipeline_gate.hpp"
#include "server/cluster/presence.hpp"
#include "server/cluster/routes.hpp"
#include "server/cluster/shard_feed.hpp"
#include "server/cluster/shard_memory.hpp"
#include "server/cluster/store_items.hpp"
#include "server/cluster/words_read.hpp"
#include "server/durability/store_journal.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

struct NodeOptions {
  std::string cluster;  ///< its name
  std::string name;     ///< of this node
  std::string address;  ///< that clients are told
  std::string peer;     ///< that other nodes use
  std::string version;  ///< of the program
  std::uint64_t fresh_ns =
      0;  ///< between two times that followers find out how fresh they are; 0: they do not
  std::uint64_t snapshot_bytes = std::uint64_t{64} << 20U;  ///< of a shard's log, at least, between two
  std::uint64_t deadline_ns = 10'000'000'000;  ///< a reply that waits for the logs so long is given up
  /// What about the topics would lose acknowledged writes, as found last; null: nobody looks.
  std::shared_ptr<const std::atomic<std::uint64_t>> topic_dangers{};
  std::uint64_t most_waiting = std::uint64_t{256} << 20U;  ///< bytes; above it connections are not read
};

/// Where its lines go. Thread-safety: any thread.
struct NodeLines {
  std::function<void(const std::string& line)> info;
  std::function<void(const std::string& line)> warn;
};

/// The cluster's topics.
[[nodiscard]] inline std::string board_topic(const std::string& cluster) {
  return cluster + ".map";
}
[[nodiscard]] inline std::string shards_topic(const std::string& cluster) {
  return cluster + ".shards";
}
[[nodiscard]] inline std::string snapshots_topic(const std::string& cluster) {
  return cluster + ".snapshots";
}

/// Reads the board until it has been seen whole. Nothing: there is no map within `patience_ms`; `why` says which of
/// brokers, topic or map is missing. Thread-safety: the thread that is going to be the cluster's, or no other yet.
[[nodiscard]] std::optional<ClusterMap> read_board(Board& board, BoardReader& reader, int patience_ms,
                                                   std::string& why);

/// Thread-safety: given per function.
class ClusterNode {
 public:
  /// `board` and `engine` are its thread's from start() on. All arguments outlive it. Listens to the store.
  ClusterNode(NodeOptions options, ClusterMap map, LogEngine& engine, Board& board, BoardReader& reader,
              runtime::Runtime& runtime, Store& store, Routes& routes, NodeLines lines);
  ~ClusterNode();
  ClusterNode(const ClusterNode&) = delete;
  ClusterNode& operator=(const ClusterNode&) = delete;

  [[nodiscard]] DiskGate& gate() noexcept { return gate_; }
  /// `wake` ends a worker's sleep. Start-up only.
  void start(std::function<void(std::size_t)> wake);
  /// Leaves what it owns to others that are there, and waits until they have it, or for `patience_ms`; a warning tells
  /// what was not left, and why. Any thread.
  void hand_over(int patience_ms);
  /// No worker runs any more; ends the thread.
  void finish();
  /// As of some recent moment. Any thread.
  [[nodiscard]] NodeStatus status() const;

 private:
  /// Messages that a replica may be behind where it counts as one that has the data.
  static constexpr std::uint64_t kNearMessages = 1000;

  /// Another node, as it said.
  struct Neighbour {
    Presence presence;
    std::uint64_t heard_ns = 0;
    std::uint64_t known_ns = 0;  ///< see WordsRead
  };

  void ring() noexcept;
  void run();
  void turn();
  void tick(std::uint64_t now_ns);
  void read_news(std::uint64_t now_ns);
  void take_map(const ClusterMap& map);
  void host_shards();
  [[nodiscard]] std::uint64_t lease_ns() const noexcept { return std::uint64_t{map_.lease_ms} * 1'000'000; }
  void follow_map(std::uint64_t now_ns);
  void note_settled(std::uint64_t now_ns);
  void hold_expired(std::uint64_t now_ns);
  void leave_surplus(std::uint64_t now_ns);
  void drop_surplus();
  void route_others(std::uint64_t now_ns);
  [[nodiscard]] const Neighbour* alive(const std::string& name, std::uint64_t now_ns) const;
  /// Why the node may not be left a shard of this one; empty: it may.
  [[nodiscard]] std::string obstacle(const std::string& name, const HostedShard& shard,
                                     std::uint64_t now_ns) const;
  [[nodiscard]] std::string address_of(std::uint64_t process) const;
  void take_snapshots(std::uint64_t now_ns);
  [[nodiscard]] std::vector<std::uint32_t> served_now() const;
  void tell_outages(std::uint64_t now_ns);
  void note_completeness(std::uint64_t now_ns);
  void tell_presence();
  void show(std::uint64_t now_ns);

  NodeOptions options_;
  ClusterMap map_;
  LogEngine& engine_;
  Board& board_;
  BoardReader& reader_;
  runtime::Runtime& runtime_;
  Store& store_;
  Routes& routes_;
  NodeLines lines_;
  std::uint64_t process_;
  std::function<void(std::size_t)> wake_;
  std::atomic<bool> news_{false};  // acq_rel: one wake-up for much news
  EpochPipeline pipeline_;
  PipelineGate gate_;
  ShardMemory memory_;
  std::unique_ptr<StoreJournal> journal_;
  std::unique_ptr<ShardFeed> feed_;
  EndingScans ending_;
  ShardSurroundings around_;
  std::map<std::uint32_t, std::unique_ptr<HostedShard>> hosted_;
  /// Of a shard, to whom the map prefers.
  struct Moves {
    unsigned tries = 0;  ///< lately
    std::uint64_t last_ns = 0;
  };

  std::map<std::uint32_t, Moves> moves_;
  std::vector<std::uint32_t> strayed_;
  std::map<std::uint32_t, std::uint64_t> surplus_;  ///< not held any more: dropped once this epoch has passed
  std::vector<std::uint64_t> strayed_drops_;        ///< of shards that are not held any more
  std::map<std::uint32_t, std::uint64_t> caught_up_ns_;  ///< by shard: it was as far as its owner was then
  std::vector<std::unique_ptr<HostedShard>> retired_;    ///< answers of their logs may still come
  std::map<std::string, Neighbour> neighbours_;
  WordsRead words_;
  std::uint64_t settled_ns_ =
      0;  ///< all changes of this node from before then are acknowledged; 0: nothing is known
  std::uint64_t settling_ns_ = 0;  ///< it will be that once this epoch is durable
  std::uint64_t settling_epoch_ = 0;
  std::uint64_t told_twin_ = 0;      ///< the process that says it is this node, and was told of last
  std::uint64_t told_left_out_ = 0;  ///< of what the reader has left out
  std::uint64_t board_ns_ = 0;       ///< when anybody was heard last, this node too
  std::uint64_t tick_ns_ = 0;
  bool reads_ = true;  ///< the logs; else memory is to come after first
  std::uint64_t presence_ns_ = 0;
  std::vector<std::uint32_t> told_served_;  ///< shards that others were told it serves
  std::uint64_t started_ns_ = 0;
  std::size_t lapsed_ = 0;  ///< shards that are open and not served; this and the next: as was told last
  bool board_silent_ = false;
  bool memory_failed_ = false;
  bool complete_ = false;
  std::size_t incomplete_ = 0;
  std::string not_left_;
  std::uint64_t ends_ns_ = 0;              ///< since when; 0: it goes on
  std::atomic<bool> handing_over_{false};  // relaxed: seen at the next tick
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint32_t> open_shards_{0};
  std::thread thread_;
  mutable std::mutex mutex_;  ///< of what follows
  NodeStatus shown_;
};

}  // namespace mxkv::server

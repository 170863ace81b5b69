// A node of a cluster: the thread that talks to the logs and the board, and the shards that the map gives to
// this node.
//
// Its life: read_board() reads the map before anything else starts. Then come the constructor, start() just
// before the workers start, hand_over() before the sockets are closed, and finish() when no worker runs any
// more.
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
#include <utility>
#include <vector>

#include "runtime/scheduler/runtime.hpp"
#include "server/cluster/board_reader.hpp"
#include "server/cluster/cluster_map.hpp"
#include "server/cluster/epoch_pipeline.hpp"
#include "server/cluster/hosted_shard.hpp"
#include "server/cluster/node_status.hpp"
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
  std::string cluster;         ///< the cluster's name
  std::string name;            ///< this node's name
  std::string address;         ///< for clients
  std::string peer;            ///< for other nodes
  std::string version;         ///< the program's version
  std::uint64_t fresh_ns = 0;  ///< between two checks of a follower's freshness; 0: no checks
  std::uint64_t snapshot_bytes = std::uint64_t{64} << 20U;  ///< least log growth between snapshots
  std::uint64_t deadline_ns = 10'000'000'000;  ///< a reply that waits for the logs this long is given up
  /// Problems of the topics' settings that would lose acknowledged writes, as of the last check; null: no
  /// checks.
  std::shared_ptr<const std::atomic<std::uint64_t>> topic_dangers{};
  std::uint64_t most_waiting = std::uint64_t{256} << 20U;  ///< bytes; above this connections are not read
};

/// The destinations of its log lines. Thread-safety: any thread.
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

/// Reads the whole board. Returns nothing if there is no map within `patience_ms`; then `why` says whether
/// brokers, topic or map are missing. Thread-safety: the thread that becomes the cluster's, or any one before
/// that exists.
[[nodiscard]] std::optional<ClusterMap> read_board(Board& board, BoardReader& reader, int patience_ms,
                                                   std::string& why);

/// Thread-safety: given per function.
class ClusterNode {
 public:
  /// From start() on only its thread uses `board` and `engine`. All arguments outlive it. Listens to the
  /// store.
  ClusterNode(NodeOptions options, ClusterMap map, LogEngine& engine, Board& board, BoardReader& reader,
              runtime::Runtime& runtime, Store& store, Routes& routes, NodeLines lines);
  ~ClusterNode();
  ClusterNode(const ClusterNode&) = delete;
  ClusterNode& operator=(const ClusterNode&) = delete;

  [[nodiscard]] CommitGate& gate() noexcept { return pipeline_; }
  /// `wake` wakes a sleeping worker. Start-up only.
  void start(std::function<void(std::size_t)> wake);
  /// Leaves the shards it owns to other live nodes, and waits until they have them, at most `patience_ms`, and not
  /// for shards that no live node keeps. A warning lists the shards that stay here, and why. Any thread.
  void hand_over(int patience_ms);
  /// Ends the thread. No worker may run any more.
  void finish();
  /// The state at some recent moment. Any thread.
  [[nodiscard]] NodeStatus status() const;

 private:
  /// A replica that lags by no more messages counts as having the data.
  static constexpr std::uint64_t kNearMessages = 1000;

  /// Another node, by its last word.
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
  /// The shards that are being handed over now.
  [[nodiscard]] std::size_t moving() const;
  void note_settled(std::uint64_t now_ns);
  void hold_expired(std::uint64_t now_ns);
  void leave_surplus(std::uint64_t now_ns);
  void drop_surplus();
  void route_others(std::uint64_t now_ns);
  [[nodiscard]] const Neighbour* alive(const std::string& name, std::uint64_t now_ns) const;
  /// Why this shard may not be left to the node; empty: it may.
  [[nodiscard]] std::string obstacle(const std::string& name, const HostedShard& shard,
                                     std::uint64_t now_ns) const;
  /// Whether another node keeps the shard, or gets it, and does not end.
  [[nodiscard]] bool may_be_left(const HostedShard& shard) const;
  [[nodiscard]] std::string address_of(std::uint64_t process) const;
  [[nodiscard]] bool lives(std::uint64_t process, std::uint32_t shard) const;
  void take_snapshots(std::uint64_t now_ns);
  [[nodiscard]] std::vector<std::uint32_t> served_now() const;
  /// Tells shards whose copy was dropped for lack of memory that there is more, or that they have reached their owner.
  void look_at_copies(std::uint64_t now_ns);
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
  ShardMemory memory_;
  std::unique_ptr<StoreJournal> journal_;
  std::unique_ptr<ShardFeed> feed_;
  EndingScans ending_;
  ShardSurroundings around_;
  std::map<std::uint32_t, std::unique_ptr<HostedShard>> hosted_;
  /// The moves of a shard to the node that the map prefers.
  struct Moves {
    unsigned tries = 0;  ///< recent attempts
    std::uint64_t last_ns = 0;
  };

  std::map<std::uint32_t, Moves> moves_;
  std::vector<std::uint32_t> strayed_;
  std::map<std::uint32_t, std::uint64_t> surplus_;  ///< not held; dropped after this epoch
  /// Drops of shards that are not held, because of stray records: the shard, and the call of memory.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> strayed_drops_;
  std::map<std::uint32_t, std::uint64_t> caught_up_ns_;  ///< by shard: all known up to then
  std::vector<std::unique_ptr<HostedShard>> retired_;    ///< answers from their logs may come
  std::map<std::string, Neighbour> neighbours_;
  WordsRead words_;
  std::uint64_t settled_ns_ =
      0;  ///< all changes of this node from before then are acknowledged; 0: nothing is known
  std::uint64_t settling_ns_ = 0;  ///< the next settled_ns_, once settling_epoch_ is durable
  std::uint64_t settling_epoch_ = 0;
  std::uint64_t told_twin_ = 0;      ///< the process that last claimed this node's name, as logged
  std::uint64_t told_left_out_ = 0;  ///< the reader's count of left-out values, as logged last
  std::uint64_t board_ns_ = 0;       ///< when the last word of any node arrived, this node included
  std::uint64_t tick_ns_ = 0;
  bool reads_ = true;                   ///< whether the logs are read; false: memory has to catch up first
  std::uint64_t presence_ns_ = 0;       ///< when the next word is due
  std::uint64_t told_presence_ns_ = 0;  ///< when it said the last one
  std::vector<std::uint32_t> told_served_;  ///< the served shards as announced last
  std::uint64_t started_ns_ = 0;
  std::size_t lapsed_ = 0;  ///< open shards whose lease has lapsed; this and the next: as logged last
  bool board_silent_ = false;
  std::size_t memory_limit_ = 0;  ///< as seen last
  std::size_t lacking_ = 0;       ///< shards for which memory is short, as logged last
  std::string lack_;              ///< why, of one of them
  bool complete_ = false;
  std::size_t incomplete_ = 0;
  std::string not_left_;
  std::uint64_t ends_ns_ = 0;              ///< when the hand-over began; 0: it has not
  std::atomic<bool> handing_over_{false};  // relaxed: the next tick sees it
  std::atomic<bool> hands_over_{true};     ///< leaving_ as of the last tick, once status() says why
  bool leaving_ = true;                    ///< a shard is being left, or may be
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint32_t> open_shards_{0};
  std::thread thread_;
  mutable std::mutex mutex_;  ///< guards the members below
  NodeStatus shown_;
};

}  // namespace mxkv::server

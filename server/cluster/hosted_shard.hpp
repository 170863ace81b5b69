// A shard that this node holds: its engine (shard.hpp) with the store as its memory, the pipeline as the
// source of its groups, and its route, which tells requests where the shard is.
//
//   loads ──> follows ──> owns, and applies the rest ──────> open: requests come, groups go to the log ──┐
//     ^         ^                                                                                         │
//     │         └── left: requests are turned away first, and their records follow ───────────────────────┤ leave()
//     └──────────── memory is dropped: the log has another owner, so memory may hold void data ───────────┘ lost
//
// It loads the newest snapshot, if there is one, and follows the log from there. From time to time it takes a
// snapshot.
//
// *Short of memory.* If memory lacks a record of a shard that is not open, the copy is dropped: so the other
// shards get its memory. It is loaded again after a pause, which doubles while that fails. Meanwhile the shard
// neither claims nor owns, and other nodes are told that it is stranded. A shard that is loaded again gives way to
// those that have their memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/cluster/applied_memory.hpp"
#include "server/cluster/epoch_pipeline.hpp"
#include "server/cluster/node_status.hpp"
#include "server/cluster/routes.hpp"
#include "server/cluster/shard.hpp"
#include "server/cluster/shard_snapshot.hpp"

namespace mxkv::server {

/// The shared surroundings of a node's shards. All members outlive the shards.
struct ShardSurroundings {
  Routes& routes;
  EpochPipeline& pipeline;
  AppliedMemory& memory;
  const runtime::Clock& clock;
  /// The peer address of the process with this number; empty: unknown.
  std::function<std::string(std::uint64_t process)> address_of;
  /// Whether the process with this number was heard on the board lately, and can own the shard.
  std::function<bool(std::uint64_t process, std::uint32_t shard)> lives;
  /// From now on the store keeps expired items, until the node knows more: a shard is about to be loaded.
  std::function<void()> keep_expired;
  /// The newest snapshot of a shard on the board.
  std::function<std::optional<SnapshotEntry>(std::uint32_t shard)> newest_snapshot;
  /// Starts a scan of a shard's items.
  std::function<std::unique_ptr<SnapshotSource>(std::string_view from, std::string_view to)> items_of;
  /// Announces a snapshot on the board.
  std::function<void(std::uint32_t shard, const SnapshotEntry& entry, std::function<void(bool stored)> done)>
      tell_snapshot;
  std::function<void(const std::string& line)> info;
  std::function<void(const std::string& line)> warn;
};

/// Thread-safety: the cluster's thread.
class HostedShard final : private ShardHost {
 public:
  HostedShard(const ShardSurroundings& around, std::uint32_t id, std::unique_ptr<OrderedLog> log,
              std::unique_ptr<OrderedLog> snapshots, const ShardOptions& options);

  /// Reacts to changes of time, memory, the logs or the pipeline. Call it whenever one of them may have
  /// changed.
  void settle();
  /// Call it a few times a beat. `reads`: see Shard.
  void tick(bool reads = true);
  /// Sets the lease that the map states now.
  void set_lease(std::uint64_t lease_ns) noexcept;
  /// Gives up the shard's logs; answers under way are ignored. Only if may_retire(). Its memory may be dropped once
  /// the returned epoch has passed.
  [[nodiscard]] std::uint64_t retire();

  /// Submits an epoch's records; false: they are void, see EpochPipeline.
  [[nodiscard]] bool submit(std::uint64_t epoch, const std::string& body);
  /// Void records arrived, and the pipeline knows: drops memory and loads it again.
  void strayed();
  /// Leaves an open shard to another process, in order: no acknowledged change is lost, and no request fails. The
  /// last message waits until all changes that began here have ended and are recorded. If that takes too long, the
  /// shard stays open here.
  void leave(std::uint64_t to);
  /// It has read its log as far as its owner had: once memory has all that, it lacks nothing.
  void is_level();
  /// There is more memory: a copy that was dropped for lack of it is loaded without a further pause.
  void load_now() noexcept;
  /// Takes a snapshot, if the log has grown since the last one by `least_bytes` and by twice that snapshot's
  /// size.
  void take_snapshot(std::uint64_t least_bytes);

  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  /// The node's word about it.
  [[nodiscard]] ShardPresence presence() const;
  [[nodiscard]] const Shard& engine() const noexcept { return shard_; }
  [[nodiscard]] const HostedCounters& counters() const noexcept { return counters_; }
  /// Whether this node owns the shard and lets requests in; it answers them while serves().
  [[nodiscard]] bool open() const noexcept { return open_; }
  /// Whether requests for its keys are answered here, now: it is open, and its lease runs.
  [[nodiscard]] bool serves() const noexcept { return open_ && shard_.serves(); }
  /// When it was opened, or was last to be left and stayed; monotonic clock.
  [[nodiscard]] std::uint64_t open_since_ns() const noexcept { return open_since_ns_; }
  /// Whether it is open and not about to be left.
  [[nodiscard]] bool may_leave() const noexcept { return open_ && !leaving_; }
  /// Whether it follows its log, with nothing to clean or load.
  [[nodiscard]] bool follows() const noexcept { return shard_.now() == Shard::role::follows && is_sound(); }
  /// Whether no request and no reply depends on the copy here.
  [[nodiscard]] bool may_retire() const noexcept { return follows() || (loading_ && !owes_clean_); }
  /// Whether its items here are reliable: they are loaded, are not about to be dropped, and memory lacks no
  /// record of them.
  [[nodiscard]] bool is_sound() const noexcept {
    return !loading_ && !clean_at_ && !around_.memory.failed(id_);
  }
  [[nodiscard]] bool loading() const noexcept { return loading_; }
  /// Whether memory has no item of it, and none is about to come.
  [[nodiscard]] bool is_empty() const noexcept {
    return loading_ && loader_ == nullptr && !drop_at_ && !clean_at_;
  }
  /// Why the copy here was dropped, until it is whole again; empty: it was not.
  [[nodiscard]] const std::string& lack() const noexcept { return lack_; }
  /// All changes acknowledged at least this long ago are in memory; nothing: unknown, or the shard is open.
  [[nodiscard]] std::optional<std::uint64_t> staleness_ns(std::uint64_t now_ns) const noexcept {
    const std::uint64_t from_ns = freshness_.from_ns();
    return from_ns == 0 ? std::nullopt : std::optional{now_ns - std::min(from_ns, now_ns)};
  }

 private:
  /// Requests are held for so long while a shard is being left. Then it stays, and requests are let in again.
  static constexpr std::uint64_t kMostLeavingNs = 1'000'000'000;

  struct Leaving {
    std::uint64_t to = 0;
    std::uint64_t began_ns = 0;
    std::uint64_t changes = 0;  ///< the period whose end says that all changes that began here have ended
    std::uint64_t epoch = 0;    ///< has their records, and must have passed; 0: they have not ended
  };
  /// A snapshot in progress.
  struct Taking {
    ShardStart start;
    std::uint64_t after = 0;  ///< memory must have reached this call
    std::uint64_t thrown_away = 0;
    std::unique_ptr<SnapshotWriter> writer;  ///< null: not yet
    std::uint64_t end_epoch = 0;             ///< all is written: this epoch must be durable; 0: not yet
    bool told = false;
  };

  void apply(std::uint64_t epoch, std::string_view records) override;
  void owns(std::uint64_t term) override;
  void acknowledged(std::uint64_t epoch) override;
  std::optional<ShardStart> ousted() override;
  void stranded() override;

  /// Asserts the invariants between two events.
  void assert_state() const noexcept;
  void close();
  /// Memory may hold void data.
  void reload();
  /// The pipeline counts one more loss, and is told when memory is clean.
  void throw_away_void();
  void throw_away();
  /// Call it when no read is let in any more: see EpochPipeline::end_reads().
  [[nodiscard]] std::uint64_t end_reads();
  void give_up_copy(std::uint64_t now_ns);
  void has_all();
  void go_on_leaving(std::uint64_t now_ns);
  void stay(std::uint64_t now_ns);
  void load(std::uint64_t now_ns);
  void follow(const ShardStart& start);
  void go_on_taking();
  void give_up_taking(const char* why);
  void look_for_end(OrderedLog& log, LogPosition needed, const char* what);
  void show_route();
  void show_freshness(std::uint64_t now_ns);
  /// Whether memory has exactly the log's data.
  [[nodiscard]] bool replicates() const noexcept;
  [[nodiscard]] std::string name() const { return "shard " + std::to_string(id_); }

  const ShardSurroundings& around_;
  std::uint32_t id_;
  ShardOptions options_;
  std::unique_ptr<OrderedLog> log_;
  std::unique_ptr<OrderedLog> snapshots_;
  Shard shard_;
  Freshness freshness_;
  HostedCounters counters_;
  bool open_ = false;
  std::uint64_t open_since_ns_ = 0;
  bool held_void_ = false;                 ///< it was open in this term, so memory may hold void data
  bool was_here_ = false;                  ///< it was open since memory was dropped last
  std::optional<std::uint64_t> open_at_;   ///< owned: opens once memory has reached this call
  std::optional<std::uint64_t> drop_at_;   ///< to be dropped once this epoch has passed
  std::optional<std::uint64_t> clean_at_;  ///< dropped once memory has reached this call
  bool owes_clean_ = false;                ///< the pipeline waits for that drop
  std::optional<Leaving> leaving_;
  bool loading_ = true;
  std::uint64_t load_ns_ = 0;  ///< do not load before then
  std::uint64_t load_pause_ns_ = 0;
  std::string lack_;
  std::uint64_t lacked_ns_ = 0;                ///< when memory lacked a record last; 0: never
  std::optional<std::uint64_t> level_at_;      ///< lacks nothing once memory has reached this call
  std::uint64_t failed_snapshot_ = 0;          ///< the number of the snapshot that failed last
  LogPosition stranded_at_ = ~LogPosition{0};  ///< where the log last had a hole, or began too late
  std::unique_ptr<SnapshotLoader> loader_;
  std::uint64_t loader_taken_ = 0;     ///< its messages at the last check
  std::uint64_t loader_moved_ns_ = 0;  ///< when the last of them arrived
  std::uint64_t log_bytes_ = 0;        ///< since the last snapshot
  std::unique_ptr<Taking> taking_;
};

}  // namespace mxkv::server

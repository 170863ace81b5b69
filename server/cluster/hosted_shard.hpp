// A shard that this node holds: its engine (shard.hpp) with the store as its memory, the pipeline as the source of its
// groups, and its route, which says to requests what has become of it.
//
//   loads ──> follows ──> owns, and applies what is left ──> open: requests come, groups go to the log ──┐
//     ^         ^                                                                                         │
//     │         └── it was left: requests were turned away first, and their records followed ─────────────┤ leave()
//     └──────────── memory was thrown away: the log has another owner, and what it holds may be void ─────┘ lost
//
// It loads the newest snapshot, if there is one, and follows the log from there. Now and then it takes one itself.
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

/// What the shards of a node share. All outlive them.
struct ShardSurroundings {
  Routes& routes;
  EpochPipeline& pipeline;
  AppliedMemory& memory;
  const runtime::Clock& clock;
  /// Where the process with this number is reached by its peers; empty: not known.
  std::function<std::string(std::uint64_t process)> address_of;
  /// The newest snapshot of a shard that the board tells of.
  std::function<std::optional<SnapshotEntry>(std::uint32_t shard)> newest_snapshot;
  /// The items of a shard, from now on.
  std::function<std::unique_ptr<SnapshotSource>(std::string_view from, std::string_view to)> items_of;
  /// Tells the board of a snapshot.
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

  /// What time, memory, the logs or the pipeline bring about. To be called whenever one of them may have moved.
  void settle();
  /// A few times a beat; `reads`: see Shard.
  void tick(bool reads = true);
  /// The cluster's lease, as the map says now.
  void set_lease(std::uint64_t lease_ns) noexcept;
  /// Its logs are another one's from now on; answers that are under way go nowhere. Only while it is not open.
  void retire();

  /// Records of an epoch; false: they do not count, see EpochPipeline.
  [[nodiscard]] bool submit(std::uint64_t epoch, const std::string& body);
  /// Such records came, and the pipeline knows: memory is thrown away, and what it was is read again.
  void strayed();
  /// Leaves it to another process, in order, if it is open. Nothing that was acknowledged is lost, and nothing fails.
  void leave(std::uint64_t to);
  /// Takes a snapshot, if the log has `least_bytes` since the last one and twice as many as that had.
  void take_snapshot(std::uint64_t least_bytes);

  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  [[nodiscard]] const Shard& engine() const noexcept { return shard_; }
  [[nodiscard]] const HostedCounters& counters() const noexcept { return counters_; }
  /// This node owns it, and is the one to answer requests for its keys: while serves().
  [[nodiscard]] bool open() const noexcept { return open_; }
  /// Requests for its keys are answered here, now: it is open, and its lease runs.
  [[nodiscard]] bool serves() const noexcept { return open_ && shard_.serves(); }
  /// Since when; monotonic clock.
  [[nodiscard]] std::uint64_t open_since_ns() const noexcept { return open_since_ns_; }
  /// It is open and not about to be left.
  [[nodiscard]] bool may_leave() const noexcept { return open_ && !leaving_; }
  /// It follows its log, with nothing to be cleaned or loaded.
  [[nodiscard]] bool follows() const noexcept { return shard_.now() == Shard::role::follows && is_sound(); }
  /// Its items here may be relied on: they are loaded, not about to be thrown away, and memory took in all of them.
  [[nodiscard]] bool is_sound() const noexcept {
    return !loading_ && !clean_at_ && (open_ || !around_.memory.failed());
  }
  [[nodiscard]] bool loading() const noexcept { return loading_; }
  /// All that was acknowledged so long ago is in memory; nothing: that is not known, or it is open.
  [[nodiscard]] std::optional<std::uint64_t> staleness_ns(std::uint64_t now_ns) const noexcept {
    const std::uint64_t from_ns = freshness_.from_ns();
    return from_ns == 0 ? std::nullopt : std::optional{now_ns - std::min(from_ns, now_ns)};
  }

 private:
  static constexpr std::uint64_t kStragglersNs = 20'000'000;  ///< requests that began before it was closed
  static constexpr std::uint64_t kSentOnNs = 1'000'000'000;   ///< most that those wait for others

  struct Leaving {
    std::uint64_t to = 0;
    std::uint64_t epoch = 0;  ///< has to have passed
    std::uint64_t at_ns = 0;
    /// What had been sent on to other nodes: writes that began here wait for those of their connection.
    std::vector<std::uint64_t> sent_on;
    std::optional<bool> waits{};  ///< for them; nothing: that was not asked yet
  };
  /// A snapshot that is being taken.
  struct Taking {
    ShardStart start;
    std::uint64_t after = 0;  ///< memory has to have come so far
    std::uint64_t thrown_away = 0;
    std::unique_ptr<SnapshotWriter> writer;  ///< null: not yet
    std::uint64_t end_epoch = 0;             ///< written: is to be durable, or 0
    bool told = false;
  };

  void apply(std::uint64_t epoch, std::string_view records) override;
  void owns(std::uint64_t term) override;
  void acknowledged(std::uint64_t epoch) override;
  std::optional<ShardStart> ousted() override;
  void stranded() override;

  /// What holds between two events, whatever they were.
  void assert_state() const noexcept;
  void close();
  void reload();
  void throw_away();
  void go_on_leaving(std::uint64_t now_ns);
  void load(std::uint64_t now_ns);
  void follow(const ShardStart& start);
  void go_on_taking();
  void give_up_taking(const char* why);
  void look_for_end(OrderedLog& log, LogPosition needed, const char* what);
  void show_route();
  void show_freshness(std::uint64_t now_ns);
  /// Memory is what the log says, and nothing else.
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
  bool held_void_ = false;                 ///< it was open in this term, so that memory may hold what is void
  std::optional<std::uint64_t> open_at_;   ///< owned: once memory has come so far
  std::optional<std::uint64_t> drop_at_;   ///< to be thrown away: once this epoch has passed
  std::optional<std::uint64_t> clean_at_;  ///< thrown away: once memory has come so far
  std::optional<Leaving> leaving_;
  bool loading_ = true;
  std::uint64_t load_ns_ = 0;  ///< not before then
  std::uint64_t load_pause_ns_ = 0;
  std::uint64_t failed_snapshot_ = 0;          ///< the number of the one that could not be read last
  LogPosition stranded_at_ = ~LogPosition{0};  ///< where its log had a hole last, or began too late
  std::unique_ptr<SnapshotLoader> loader_;
  std::uint64_t loader_taken_ = 0;     ///< messages, when they were looked at last
  std::uint64_t loader_moved_ns_ = 0;  ///< when one of them came
  std::uint64_t log_bytes_ = 0;        ///< since the last snapshot
  std::unique_ptr<Taking> taking_;
};

}  // namespace mxkv::server

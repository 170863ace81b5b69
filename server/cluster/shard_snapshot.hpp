// Snapshots of a shard: its items as of a position of its log, in a log of their own beside it. The cluster's
// board says where the newest one is.
//
// The engine that keeps the changes keeps the snapshots as well. So a new replica needs no peer, a cluster
// whose nodes are all gone comes back, and the log can be trimmed whatever the nodes' disks hold. A snapshot
// on the board is whole: all its messages were stored before it was announced.
//
//   board     snapshot/3 -> {number, node, first, messages, items, bytes | log position, state there, position before}
//   its log   [part 1][part 2] ... [part n], maybe with parts of an abandoned snapshot in between
//
// A snapshot is taken while items change: it holds all items as of its position or later. Later messages of
// the log are applied on top, and the result is the same (LWW by order, server/cluster/shard_memory.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/cluster/message.hpp"
#include "server/cluster/ordered_log.hpp"
#include "server/cluster/shard.hpp"

namespace mxkv::server {

/// A complete snapshot.
struct SnapshotEntry {
  std::uint64_t number = 0;
  std::uint64_t node = 0;  ///< the node that wrote it
  LogPosition first = 0;   ///< of its messages, in the log of snapshots
  std::uint64_t messages = 0;
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;
  ShardStart start;        ///< where the shard's log continues after it
  LogPosition before = 0;  ///< the position of the snapshot before: the log still has all from there

  friend bool operator==(const SnapshotEntry& a, const SnapshotEntry& b) {
    return a.number == b.number && a.node == b.node && a.first == b.first && a.messages == b.messages &&
           a.items == b.items && a.bytes == b.bytes && a.start.position == b.start.position &&
           a.start.state == b.start.state && a.before == b.before;
  }
};

/// Whether `later` may replace `known`: neither its position in the shard's log nor its place in the log of
/// snapshots is smaller. So for the snapshot in force neither ever goes back, in whatever order several nodes
/// announce theirs, and a trim up to one snapshot removes nothing that a later one needs.
[[nodiscard]] inline bool comes_behind(const SnapshotEntry& later, const SnapshotEntry& known) noexcept {
  return later.start.position >= known.start.position && later.first >= known.first;
}

/// "snapshot/3". Thread-safety: any thread; also the functions below.
[[nodiscard]] std::string snapshot_key(std::uint32_t shard);
/// Nothing: the key is not a snapshot's.
[[nodiscard]] std::optional<std::uint32_t> shard_of_snapshot_key(std::string_view key);
[[nodiscard]] std::string write_snapshot_entry(const SnapshotEntry& entry);
/// Nothing: the text is no entry.
[[nodiscard]] std::optional<SnapshotEntry> parse_snapshot_entry(std::string_view text);

/// Delivers items piece by piece.
class SnapshotSource {
 public:
  virtual ~SnapshotSource() = default;
  enum class state : std::uint8_t { busy, piece, end, failed };
  /// The next piece of a body (record_body.hpp), if one is ready; `items` grows by the piece's items.
  [[nodiscard]] virtual state next(std::string& piece, std::uint64_t& items) = 0;
};

/// Writes one snapshot. Thread-safety: the log's thread.
class SnapshotWriter {
 public:
  static constexpr std::size_t kMostUnderWay = 8;
  static constexpr std::size_t kPartBytes = std::size_t{900} << 10U;  ///< limit of a message

  /// `start`: memory has all before it, and no group was incomplete there.
  SnapshotWriter(OrderedLog& log, const MessageScope& scope, std::uint64_t node, std::uint64_t number,
                 const ShardStart& start, std::unique_ptr<SnapshotSource> source);
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  enum class state : std::uint8_t { writing, stored, failed };
  /// Continues as far as it can. When it is stored, announce entry() on the board.
  state step();
  [[nodiscard]] const SnapshotEntry& entry() const noexcept { return entry_; }

 private:
  struct Shared {  ///< shared with the answers, which may outlive this
    std::size_t under_way = 0;
    bool failed = false;
    LogPosition first = ~LogPosition{0};
  };

  void append(std::string_view piece);

  OrderedLog& log_;
  MessageScope scope_;
  SnapshotEntry entry_;
  std::unique_ptr<SnapshotSource> source_;
  std::shared_ptr<Shared> shared_;
  bool ended_ = false;
};

/// Reads one snapshot. Thread-safety: the log's thread.
class SnapshotLoader final : private LogSink {
 public:
  /// `apply` gets each body.
  SnapshotLoader(OrderedLog& log, const MessageScope& scope, const SnapshotEntry& entry,
                 std::function<void(std::string_view body)> apply);
  ~SnapshotLoader() override;
  SnapshotLoader(const SnapshotLoader&) = delete;
  SnapshotLoader& operator=(const SnapshotLoader&) = delete;

  /// Failed: the snapshot is not there any more.
  enum class state : std::uint8_t { reading, loaded, failed };
  /// The number of messages taken; the entry says how many there are.
  [[nodiscard]] std::uint64_t taken() const noexcept { return next_ - 1; }
  [[nodiscard]] state now() const noexcept { return state_; }
  [[nodiscard]] const SnapshotEntry& entry() const noexcept { return entry_; }

 private:
  void message(LogPosition position, std::string_view bytes) override;
  void begins_later() override;

  OrderedLog& log_;
  MessageScope scope_;
  SnapshotEntry entry_;
  std::function<void(std::string_view)> apply_;
  std::uint64_t next_ = 1;  ///< the next message's number
  std::string piece_;       ///< the piece whose parts are arriving
  state state_ = state::reading;
};

}  // namespace mxkv::server

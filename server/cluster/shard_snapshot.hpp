// Snapshots of a shard: its items as of a position of its log, in a log of their own beside it, and where the newest one
// is, on the cluster's board.
//
// The engine that keeps the changes keeps these as well: so a new replica needs no peer, a cluster whose nodes are all
// gone comes back, and the log is trimmed without a thought about who has what on which disk. What is told on the board
// is whole: all of its messages were stored before.
//
//   board     snapshot/3 -> {number, node, first, messages, items, bytes | log position, state there, position before}
//   its log   [part 1][part 2] ... [part n], maybe with parts of one that was given up in between
//
// A snapshot is taken while items change: it holds them all as of its position or later. What follows in the log is
// applied on top, and comes to the same (LWW by order, server/cluster/shard_memory.hpp).
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

/// A snapshot that is whole.
struct SnapshotEntry {
  std::uint64_t number = 0;
  std::uint64_t node = 0;  ///< that wrote it
  LogPosition first = 0;   ///< of its messages, in the log of snapshots
  std::uint64_t messages = 0;
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;
  ShardStart start;        ///< where the shard's log goes on behind it
  LogPosition before = 0;  ///< the same of the snapshot before: what the log still has

  friend bool operator==(const SnapshotEntry& a, const SnapshotEntry& b) {
    return a.number == b.number && a.node == b.node && a.first == b.first && a.messages == b.messages &&
           a.items == b.items && a.bytes == b.bytes && a.start.position == b.start.position &&
           a.start.state == b.start.state && a.before == b.before;
  }
};

/// Whether it may take another one's place: it reaches as far, and is as far behind in the log of snapshots. So neither
/// of what is in force ever goes back, whatever order several nodes tell theirs in: what is trimmed up to one of them is
/// before all that come into force later.
[[nodiscard]] inline bool comes_behind(const SnapshotEntry& later, const SnapshotEntry& known) noexcept {
  return later.start.position >= known.start.position && later.first >= known.first;
}

/// "snapshot/3". Thread-safety: any thread, and so the next ones.
[[nodiscard]] std::string snapshot_key(std::uint32_t shard);
/// Nothing: the key is no such one.
[[nodiscard]] std::optional<std::uint32_t> shard_of_snapshot_key(std::string_view key);
[[nodiscard]] std::string write_snapshot_entry(const SnapshotEntry& entry);
/// Nothing: that is none.
[[nodiscard]] std::optional<SnapshotEntry> parse_snapshot_entry(std::string_view text);

/// Items as they are written, piece by piece.
class SnapshotSource {
 public:
  virtual ~SnapshotSource() = default;
  enum class state : std::uint8_t { busy, piece, end, failed };
  /// The next piece of a body (record_body.hpp), if there is one by now; `items` grows by what is in it.
  [[nodiscard]] virtual state next(std::string& piece, std::uint64_t& items) = 0;
};

/// Writes one snapshot. Thread-safety: the log's thread.
class SnapshotWriter {
 public:
  static constexpr std::size_t kMostUnderWay = 8;
  static constexpr std::size_t kPartBytes = std::size_t{900} << 10U;  ///< of a message

  /// `start`: all before it is in memory, and no group was open there.
  SnapshotWriter(OrderedLog& log, const MessageScope& scope, std::uint64_t node, std::uint64_t number,
                 const ShardStart& start, std::unique_ptr<SnapshotSource> source);
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  enum class state : std::uint8_t { writing, stored, failed };
  /// Goes on as far as it can. Stored: entry() is what the board is to be told.
  state step();
  [[nodiscard]] const SnapshotEntry& entry() const noexcept { return entry_; }

 private:
  struct Shared {  ///< with the answers, which may come later than this lives
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

  enum class state : std::uint8_t { reading, loaded, failed };
  /// Failed: it is not there any more.
  /// Messages, of as many as its entry says.
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
  std::uint64_t next_ = 1;  ///< message
  std::string piece_;       ///< whose parts are coming
  state state_ = state::reading;
};

}  // namespace mxkv::server

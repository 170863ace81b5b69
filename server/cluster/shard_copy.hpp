// The items of a shard as of one position of its log, put together from the logs alone: the newest snapshot,
// and the later messages of the log. For backups: no node is asked, and none has to run.
//
//   end of the log asked ──> snapshot read ──> log read up to that end ──> whole
//
// The end is asked for first. So the copy has all writes that were acknowledged before the question, and no
// write that was appended later. A snapshot holds items of its position *or later*. So later records of the
// log are applied on top, as in a node's memory (durability/record_effect.hpp): of two changes of a key the
// one with the greater order counts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/cluster/change_feed.hpp"
#include "server/cluster/ordered_log.hpp"
#include "server/cluster/record_body.hpp"
#include "server/cluster/shard_snapshot.hpp"
#include "server/durability/range_operations.hpp"

namespace mxkv::server {

struct CopiedItem {
  std::string value;
  std::uint64_t order = 0;
  std::uint64_t cas = 0;  ///< as clients see it
  std::uint32_t flags = 0;
  std::uint32_t expiry = 0;  ///< seconds of the wall clock; 0: never
};

/// By key. Thread-safety: one thread.
class CopiedItems {
 public:
  using Map = std::map<std::string, CopiedItem, std::less<>>;

  void apply(const BodyEntry& entry);
  [[nodiscard]] const Map& all() const noexcept { return items_; }

 private:
  void apply_to_key(std::string_view key, const RecordedChange& change, const BodyEntry& entry);
  void apply_to_range(const RangeOperation& range);

  Map items_;
};

/// Reads one shard. Thread-safety: the logs' thread.
class ShardCopy final : private LogSink {
 public:
  /// The logs outlive this. `snapshot`: the newest one; nothing: there is none, and the log is read from its
  /// beginning.
  ShardCopy(OrderedLog& log, OrderedLog& snapshots, const MessageScope& scope,
            const std::optional<SnapshotEntry>& snapshot);
  ~ShardCopy() override;
  ShardCopy(const ShardCopy&) = delete;
  ShardCopy& operator=(const ShardCopy&) = delete;

  enum class state : std::uint8_t {
    reading,
    whole,    ///< items() are the shard's at end()
    trimmed,  ///< the logs went on meanwhile: read a newer snapshot
    broken,   ///< see wrong()
  };
  /// Continues. Call it after each poll of the engine.
  state step();

  [[nodiscard]] const CopiedItems::Map& items() const noexcept { return items_.all(); }
  /// The position behind the last message that the copy includes.
  [[nodiscard]] LogPosition end() const noexcept { return end_->value_or(0); }
  /// Grows while messages arrive.
  [[nodiscard]] std::uint64_t progress() const noexcept;
  /// Why the copy is broken, in words.
  [[nodiscard]] const std::string& wrong() const noexcept { return wrong_; }

 private:
  void message(LogPosition position, std::string_view bytes) override;
  void begins_later() override { trimmed_ = true; }
  void ask_end();
  void take_snapshot_body(std::string_view body);
  state broken(std::string why);

  OrderedLog& log_;
  ShardStart start_;
  CopiedItems items_;
  std::string wrong_;
  bool follows_ = false;  ///< the log is being read
  bool trimmed_ = false;
  bool reached_ = false;
  std::shared_ptr<std::optional<LogPosition>> end_;  ///< shared with the answer, which may outlive this
  std::shared_ptr<bool> asking_;
  ChangeFeed feed_;
  SnapshotLoader loader_;
};

}  // namespace mxkv::server

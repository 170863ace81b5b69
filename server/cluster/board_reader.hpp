// What a node knows of the board: the map in force, who is there, and where snapshots are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/cluster/board.hpp"
#include "server/cluster/map_history.hpp"
#include "server/cluster/shard_snapshot.hpp"

namespace mxkv::server {

/// Thread-safety: that of the board that it reads.
class BoardReader final : public BoardSink {
 public:
  void put_up(std::uint64_t position, std::string_view key, std::optional<std::string_view> value) override;
  void caught_up() override { caught_up_ = true; }

  [[nodiscard]] bool is_caught_up() const noexcept { return caught_up_; }
  /// Null: there is none yet.
  [[nodiscard]] const ClusterMap* map() const noexcept { return maps_.current(); }
  /// Of what was put up last that is nothing for a board, or no map to follow; empty: nothing was.
  [[nodiscard]] const std::string& complaint() const noexcept { return complaint_; }
  /// How much of that there was.
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }
  void leave_out(std::string why);
  [[nodiscard]] std::optional<SnapshotEntry> snapshot(std::uint32_t shard) const;
  /// Shards of which something older was put up since the last call than what is known, or nothing: it may be trimmed.
  [[nodiscard]] std::vector<std::uint32_t> take_outdated() { return std::exchange(outdated_, {}); }
  /// What a node said, and where that stands.
  struct Said {
    std::string node;
    std::string text;
    std::uint64_t position = 0;
  };
  /// Since the last call.
  [[nodiscard]] std::vector<Said> take_presences() { return std::exchange(presences_, {}); }
  /// All before this position was read.
  [[nodiscard]] std::uint64_t read() const noexcept { return read_; }

 private:
  void take_snapshot(std::uint32_t shard, std::string_view key, std::optional<std::string_view> value);

  MapHistory maps_;
  std::map<std::uint32_t, SnapshotEntry> snapshots_;
  std::vector<std::uint32_t> outdated_;
  std::vector<Said> presences_;
  std::uint64_t read_ = 0;
  std::string complaint_;
  std::uint64_t left_out_ = 0;
  bool caught_up_ = false;
};

}  // namespace mxkv::server

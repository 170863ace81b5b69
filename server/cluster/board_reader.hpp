// A node's knowledge of the board: the map in force, which nodes are alive, and where snapshots are.
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

/// Thread-safety: as the board that it reads.
class BoardReader final : public BoardSink {
 public:
  void put_up(std::uint64_t position, std::string_view key, std::optional<std::string_view> value) override;
  void caught_up() override { caught_up_ = true; }

  [[nodiscard]] bool is_caught_up() const noexcept { return caught_up_; }
  /// Null: no map yet.
  [[nodiscard]] const ClusterMap* map() const noexcept { return maps_.current(); }
  /// Describes the last value that is invalid, or is no map to follow; empty: none so far.
  [[nodiscard]] const std::string& complaint() const noexcept { return complaint_; }
  /// The number of such values.
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }
  void leave_out(std::string why);
  [[nodiscard]] std::optional<SnapshotEntry> snapshot(std::uint32_t shard) const;
  /// Shards whose board entry was replaced, since the last call, by an older or invalid one: the caller puts
  /// up snapshot() again.
  [[nodiscard]] std::vector<std::uint32_t> take_outdated() { return std::exchange(outdated_, {}); }
  /// A node's word, and its position on the board.
  struct Said {
    std::string node;
    std::string text;
    std::uint64_t position = 0;
  };
  /// The words since the last call.
  [[nodiscard]] std::vector<Said> take_presences() { return std::exchange(presences_, {}); }
  /// All values before this position have been read.
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

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
  /// Of a map that was left out; empty: none was.
  [[nodiscard]] const std::string& complaint() const noexcept { return maps_.complaint(); }
  [[nodiscard]] std::optional<SnapshotEntry> snapshot(std::uint32_t shard) const;
  /// Shards of which something older was put up since the last call than what is known: it may be trimmed.
  [[nodiscard]] std::vector<std::uint32_t> take_outdated() { return std::exchange(outdated_, {}); }
  /// Nodes and what they said, since the last call.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> take_presences() {
    return std::exchange(presences_, {});
  }

 private:
  MapHistory maps_;
  std::map<std::uint32_t, SnapshotEntry> snapshots_;
  std::vector<std::uint32_t> outdated_;
  std::vector<std::pair<std::string, std::string>> presences_;
  bool caught_up_ = false;
};

}  // namespace mxkv::server

// Changes the map: makes the next version of the map in force, puts it on the board, and reads it back to see
// whether it was the first of its version. If another map was, it starts again from that map.
//
// For tools: the caller waits. Thread-safety: the board's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "server/cluster/board.hpp"
#include "server/cluster/cluster_state.hpp"
#include "server/cluster/map_history.hpp"

namespace mxkv::server {

/// A tool's view of the board.
class BoardView final : public BoardSink {
 public:
  void put_up(std::uint64_t position, std::string_view key, std::optional<std::string_view> value) override;
  void caught_up() override { at_end_ = true; }

  [[nodiscard]] bool at_end() const noexcept { return at_end_; }
  [[nodiscard]] const MapHistory& history() const noexcept { return history_; }
  /// The map, which must exist, and the nodes: a node is alive if it put up a word since the end was reached.
  [[nodiscard]] ClusterState state() const;
  /// Whether all nodes of the map put up a word since the end was reached.
  [[nodiscard]] bool all_heard() const;
  /// Marks all nodes as not heard.
  void forget_who_is_alive();
  /// Keys of maps below the version.
  [[nodiscard]] std::vector<std::string> keys_below(std::uint64_t version) const;

 private:
  MapHistory history_;
  std::map<std::string, ClusterState::Node, std::less<>> nodes_;
  std::map<std::string, std::uint64_t> versions_;  ///< of the map keys on the board
  bool at_end_ = false;
};

/// Reads all values on the board. Empty, or the error: the brokers do not answer.
[[nodiscard]] std::string read_all(Board& board, const BoardView& view, std::chrono::milliseconds patience);

/// Makes the next map, or says why there is none. `current` is null if no map is in force.
using MapEdit = std::function<runtime::Result<ClusterMap>(const ClusterMap* current)>;

struct MapWritten {
  std::optional<ClusterMap> before;
  ClusterMap map;
  std::uint32_t lost_races = 0;
};

/// Changes the map as described above, after all has been read. `writer`: a unique number. Errors: the
/// edit's; or the brokers did not take the map, and may still take it. Takes down old versions, except the
/// last few.
[[nodiscard]] runtime::Result<MapWritten> write_map(Board& board, const BoardView& view, const MapEdit& edit,
                                                    std::uint64_t writer, std::chrono::milliseconds patience);

}  // namespace mxkv::server

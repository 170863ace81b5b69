// Changing the map: the next version is made of the one in force, put on the board, and read again to see whether it was
// the first. If another one was, it is made anew of that one.
//
// For tools: whoever calls waits. Thread-safety: the board's thread.
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

/// What a tool sees of the board.
class BoardView final : public BoardSink {
 public:
  void put_up(std::uint64_t position, std::string_view key, std::optional<std::string_view> value) override;
  void caught_up() override { at_end_ = true; }

  [[nodiscard]] bool at_end() const noexcept { return at_end_; }
  [[nodiscard]] const MapHistory& history() const noexcept { return history_; }
  /// The map, which there must be, and nodes: alive are those that said something since the end was reached.
  [[nodiscard]] ClusterState state() const;
  /// Whether all nodes of the map said something since the end was reached.
  [[nodiscard]] bool all_heard() const;
  /// Who was heard is to be heard again.
  void forget_who_is_alive();
  /// Keys of maps below the version.
  [[nodiscard]] std::vector<std::string> keys_below(std::uint64_t version) const;

 private:
  MapHistory history_;
  std::map<std::string, ClusterState::Node, std::less<>> nodes_;
  std::map<std::string, std::uint64_t> versions_;  ///< of the keys of maps that are there
  bool at_end_ = false;
};

/// Reads all that is there. Empty, or why not: the brokers do not answer.
[[nodiscard]] std::string read_all(Board& board, const BoardView& view, std::chrono::milliseconds patience);

/// The next map, or why there is none. The map in force is not there where nothing is in force.
using MapEdit = std::function<runtime::Result<ClusterMap>(const ClusterMap* current)>;

struct MapWritten {
  std::optional<ClusterMap> before;
  ClusterMap map;
  std::uint32_t lost_races = 0;
};

/// As above, with everything read before. `writer`: a number that no other one has. Errors: the edit's; that the brokers
/// did not take it, of which nobody knows whether they will. Old versions are taken down, but for the last few.
[[nodiscard]] runtime::Result<MapWritten> write_map(Board& board, const BoardView& view, const MapEdit& edit,
                                                    std::uint64_t writer, std::chrono::milliseconds patience);

}  // namespace mxkv::server

#include "server/cluster/map_writer.hpp"

#include <utility>

#include "runtime/base/assert.hpp"
#include "server/cluster/cluster_json.hpp"

namespace mxkv::server {
namespace {

using runtime::Error;
using runtime::Result;
using WaitClock = std::chrono::steady_clock;

constexpr int kPollMs = 50;
constexpr std::uint64_t kKeptVersions = 20;

bool holds_within(Board& board, std::chrono::milliseconds patience, const std::function<bool()>& what) {
  const auto end = WaitClock::now() + patience;
  while (!what() && WaitClock::now() < end) {
    board.poll(kPollMs);
  }
  return what();
}

std::string reason(const Board& board) {
  const std::string error = board.last_error();
  return error.empty() ? std::string{} : ": " + error;
}

}  // namespace

void BoardView::put_up(std::uint64_t /*position*/, std::string_view key,
                       std::optional<std::string_view> value) {
  const std::string node{node_of_key(key)};
  if (node.empty()) {
    history_.take(key, value);
    if (const std::uint64_t version = version_of_map_key(key); version != 0 && value) {
      versions_[std::string{key}] = version;
    } else {
      versions_.erase(std::string{key});
    }
  } else if (!value) {
    nodes_.erase(node);
  } else if (std::optional<Presence> said = parse_presence(*value)) {
    nodes_[node] = {.said = *std::move(said), .alive = at_end_};
  }
}

ClusterState BoardView::state() const {
  MXKV_ASSERT(history_.current() != nullptr, "a state is of a map");
  return {.map = *history_.current(), .nodes = nodes_};
}

bool BoardView::all_heard() const {
  for (const ClusterMap::Node& node : history_.current()->nodes) {
    const auto heard = nodes_.find(node.name);
    if (heard == nodes_.end() || !heard->second.alive) {
      return false;
    }
  }
  return true;
}

void BoardView::forget_who_is_alive() {
  for (auto& [name, node] : nodes_) {
    node.alive = false;
  }
}

std::vector<std::string> BoardView::keys_below(std::uint64_t version) const {
  std::vector<std::string> keys;
  for (const auto& [key, of] : versions_) {
    if (of < version) {
      keys.push_back(key);
    }
  }
  return keys;
}

std::string read_all(Board& board, const BoardView& view, std::chrono::milliseconds patience) {
  return holds_within(board, patience, [&view] { return view.at_end(); })
             ? std::string{}
             : "the brokers do not answer" + reason(board);
}

Result<MapWritten> write_map(Board& board, const BoardView& view, const MapEdit& edit, std::uint64_t writer,
                             std::chrono::milliseconds patience) {
  MapWritten written;
  for (;; ++written.lost_races) {
    const ClusterMap* const current = view.history().current();
    written.before = current == nullptr ? std::nullopt : std::optional{*current};
    Result<ClusterMap> next = edit(current);
    if (!next) {
      return next.error();
    }
    written.map = std::move(next).value();
    MXKV_ASSERT(current == nullptr || written.map.version == current->version + 1,
                "an edit makes the next version");
    const std::string key = map_key(written.map.version, writer);
    board.put(key, to_json(written.map), {});
    const bool decided = holds_within(board, patience, [&] {
      return view.history().current() != nullptr && view.history().current()->version >= written.map.version;
    });
    if (!decided) {
      return Error{
          "the brokers have not acknowledged the new map, but may still write it: see mxkvd cluster status "
          "before you retry" +
          reason(board)};
    }
    // Another writer that made the same change did no harm.
    if (view.history().key() == key || *view.history().current() == written.map) {
      break;
    }
    // The losing map does no harm, but has no use either.
    board.remove(key, {});
  }
  std::size_t under_way = 0;
  if (written.map.version > kKeptVersions) {
    for (const std::string& key : view.keys_below(written.map.version - kKeptVersions)) {
      ++under_way;
      board.remove(key, [&under_way](bool) {
        MXKV_ASSERT(under_way > 0, "a removal is answered once");
        --under_way;
      });
    }
  }
  // This cleanup is optional: the next writer removes the rest. But no callback may run after this function
  // has returned.
  while (under_way != 0) {
    board.poll(kPollMs);
  }
  return written;
}

}  // namespace mxkv::server

#include "server/cluster/board_reader.hpp"

namespace mxkv::server {

void BoardReader::put_up(std::uint64_t /*position*/, std::string_view key,
                         std::optional<std::string_view> value) {
  if (const std::string_view node = node_of_key(key); !node.empty()) {
    // What was said before this one looked is no sign of life.
    if (value && caught_up_) {
      presences_.emplace_back(node, *value);
    }
    return;
  }
  if (const std::optional<std::uint32_t> shard = shard_of_snapshot_key(key)) {
    if (const std::optional<SnapshotEntry> entry = value ? parse_snapshot_entry(*value) : std::nullopt) {
      const auto [known, first] = snapshots_.emplace(*shard, *entry);
      if (!first && !comes_behind(*entry, known->second)) {
        outdated_.push_back(*shard);
      } else {
        known->second = *entry;
      }
    }
    return;
  }
  static_cast<void>(maps_.take(key, value));
}

std::optional<SnapshotEntry> BoardReader::snapshot(std::uint32_t shard) const {
  const auto found = snapshots_.find(shard);
  return found == snapshots_.end() ? std::nullopt : std::optional{found->second};
}

}  // namespace mxkv::server

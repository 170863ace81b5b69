#include "server/cluster/board_reader.hpp"

#include <utility>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

void BoardReader::put_up(std::uint64_t position, std::string_view key,
                         std::optional<std::string_view> value) {
  read_ = position + 1;
  if (const std::string_view node = node_of_key(key); !node.empty()) {
    // A word that was on the board before this reader began is no sign of life.
    if (value && caught_up_) {
      presences_.push_back({.node = std::string{node}, .text = std::string{*value}, .position = position});
    }
    return;
  }
  if (const std::optional<std::uint32_t> shard = shard_of_snapshot_key(key)) {
    take_snapshot(*shard, key, value);
    return;
  }
  if (version_of_map_key(key) == 0) {
    leave_out(std::string{key} + ": is not a key of mxkvd");
    return;
  }
  const std::uint64_t before = maps_.left_out();
  static_cast<void>(maps_.take(key, value));
  if (maps_.left_out() != before) {
    leave_out(maps_.complaint());
  }
}

// The newest entry has to be the last one on the board, because a node that starts finds only the last one.
void BoardReader::take_snapshot(std::uint32_t shard, std::string_view key,
                                std::optional<std::string_view> value) {
  const std::optional<SnapshotEntry> entry = value ? parse_snapshot_entry(*value) : std::nullopt;
  if (!entry) {
    leave_out(std::string{key} + ": is not a snapshot's entry");
    if (snapshots_.contains(shard)) {
      outdated_.push_back(shard);
    }
    return;
  }
  const auto [known, first] = snapshots_.emplace(shard, *entry);
  if (!first && !comes_behind(*entry, known->second)) {
    outdated_.push_back(shard);
  } else {
    MXKV_ASSERT(first || entry->start.position >= known->second.start.position,
                "the snapshot in force never goes back");
    known->second = *entry;
  }
}

void BoardReader::leave_out(std::string why) {
  ++left_out_;
  complaint_ = std::move(why);
}

std::optional<SnapshotEntry> BoardReader::snapshot(std::uint32_t shard) const {
  const auto found = snapshots_.find(shard);
  return found == snapshots_.end() ? std::nullopt : std::optional{found->second};
}

}  // namespace mxkv::server

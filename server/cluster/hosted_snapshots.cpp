// HostedShard's functions: the snapshots that it takes.
#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/cluster/hosted_shard.hpp"

namespace mxkv::server {

void HostedShard::take_snapshot(std::uint64_t least_bytes) {
  if (taking_ != nullptr || loading_ || clean_at_ || !shard_.state().whole() ||
      shard_.now() == Shard::role::stranded || around_.memory.failed(id_)) {
    return;
  }
  const std::optional<SnapshotEntry> last = around_.newest_snapshot(id_);
  if (log_bytes_ < std::max(least_bytes, last ? 2 * last->bytes : 0)) {
    return;
  }
  taking_ = std::make_unique<Taking>(Taking{.start = {.position = shard_.position(), .state = shard_.state()},
                                            .after = around_.memory.begun(id_),
                                            .thrown_away = counters_.thrown_away,
                                            .writer = nullptr});
  log_bytes_ = 0;
}

void HostedShard::give_up_taking(const char* why) {
  ++counters_.snapshots_failed;
  around_.warn(name() + ": no snapshot was taken: " + why);
  taking_.reset();
}

// If this node owns the shard, the snapshot may hold unacknowledged changes: it is announced on the board
// once they are durable.
void HostedShard::go_on_taking() {
  if (taking_->thrown_away != counters_.thrown_away) {
    give_up_taking("the shard's memory was dropped meanwhile");
    return;
  }
  MXKV_ASSERT(shard_.position() >= taking_->start.position, "while memory stays, positions never go back");
  if (taking_->told || around_.memory.finished(id_) < taking_->after) {
    return;
  }
  if (around_.memory.failed(id_)) {
    give_up_taking("memory lacks a record of it");
    return;
  }
  if (taking_->writer == nullptr) {
    taking_->writer = std::make_unique<SnapshotWriter>(
        *snapshots_, options_.scope, options_.node, around_.clock.unix_us(), taking_->start,
        around_.items_of(around_.routes.begin_of(id_), around_.routes.end_of(id_)));
  }
  switch (taking_->writer->step()) {
    case SnapshotWriter::state::writing:
      return;
    case SnapshotWriter::state::failed:
      give_up_taking("the log did not acknowledge it");
      return;
    case SnapshotWriter::state::stored:
      break;
  }
  if (taking_->end_epoch == 0) {
    taking_->end_epoch = around_.pipeline.end_epoch();
  }
  if (around_.pipeline.epochs().durable() < taking_->end_epoch && options_.rules.snapshots_wait) {
    return;
  }
  SnapshotEntry entry = taking_->writer->entry();
  const std::optional<SnapshotEntry> last = around_.newest_snapshot(id_);
  if (last && entry.messages == 0) {
    entry.first = last->first;  // an empty snapshot has no messages
  }
  if (last && !comes_behind(entry, *last)) {
    give_up_taking("another node took a newer one meanwhile");
    return;
  }
  entry.before = last ? last->start.position : 0;
  MXKV_ASSERT(entry.before <= entry.start.position, "a snapshot needs nothing from before the one before");
  taking_->told = true;
  around_.tell_snapshot(id_, entry, [this, entry, last](bool stored) {
    if (taking_ == nullptr || !taking_->told || snapshots_ == nullptr) {
      return;
    }
    taking_.reset();
    if (!stored) {
      ++counters_.snapshots_failed;
      return;
    }
    ++counters_.snapshots_taken;
    around_.info(name() + ": snapshot of " + std::to_string(entry.items) + " items, " +
                 std::to_string(entry.bytes) + " bytes");
    // Trim only up to the previous snapshot: one announced at the same time may replace this one.
    if (last) {
      log_->trim(last->start.position);
      snapshots_->trim(last->first);
    }
  });
}

}  // namespace mxkv::server

// Recovery: turns the contents of a data directory into the store's tree, before any worker runs.
//
//   scan the journal's segments   judge them   open the checkpoint's parts   deal the journal's records by key
//   merge range after range into runs of leaves   build the tree above them   floors, flushes, expiry
//
// Each step but the judgement runs on one thread for each worker. The thread acts for its worker: items and
// nodes come from that worker's heaps. Nothing on disk changes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/result.hpp"
#include "server/durability/left_out_keys.hpp"
#include "server/durability/manifest.hpp"
#include "server/journal/disk.hpp"
#include "server/journal/segment_store.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

struct RecoveryProgress {
  double fraction = 0;  ///< of the work
  std::uint64_t items = 0;
  double seconds = 0;       ///< since recovery began
  double seconds_left = 0;  ///< at the current rate
};

struct RecoveryOptions {
  /// Takes the keys of the items that do not fit into memory: those that eviction would remove first. Null: the start is refused.
  /// The caller must record these keys before it serves (record_left_out).
  LeftOutKeys* left_out = nullptr;
  /// Use the records before damage of the journal, and leave out the others (--recover=prefix).
  bool recover_prefix = false;
  /// Called before items are judged: sets the store's clock to this steady time (resumed_time.hpp).
  std::function<void(std::uint64_t)> resume_time = [](std::uint64_t) {};
  /// Called about five times a second, on the calling thread.
  std::function<void(const RecoveryProgress&)> progress = [](const RecoveryProgress&) {};
};

/// A segment on disk.
struct KnownSegment {
  std::uint64_t number = 0;
  std::uint64_t last_epoch = 0;  ///< the greatest in it that counts; 0: the segment is of no use
  std::uint64_t bytes = 0;
  bool needed = false;  ///< else, with a last_epoch, it is history: readers of changes may want it
};

struct Recovered {
  std::uint64_t epoch = 0;         ///< the last one recovered; the next one written is behind it
  std::uint64_t ceiling = 0;       ///< no greater order was minted; the floor of the tree is raised to it
  std::uint64_t items = 0;         ///< in the store
  std::uint64_t item_bytes = 0;    ///< memory of the items
  std::uint64_t expired = 0;       ///< not loaded, since they had expired
  std::uint64_t base_items = 0;    ///< of the checkpoint
  std::uint64_t records = 0;       ///< of the journal
  std::uint64_t last_unix_us = 0;  ///< when the last group was written, by its clock; 0: there is no group
  bool clock_behind = false;       ///< both readings of the time are before the last group, see
                                   ///< resumed_time.hpp
  FlushState flushes;              ///< in force, as the store has it

  double checkpoint_seconds = 0;  ///< of merging and loading
  double journal_seconds = 0;     ///< of reading, judging and dealing the journal

  // Texts for operators; empty: it did not happen.
  std::string torn;      ///< a tail was cut: file and byte
  std::string gap;       ///< the journal ends at a gap
  std::string left_off;  ///< with recover_prefix: the damage at which the journal ends

  // For the journal that continues.
  std::vector<KnownSegment> segments;  ///< of all files, by number
  UnprovenTail unproven;               ///< the part of it that may not be on disk
  std::uint64_t next_segment = 1;      ///< above all numbers in use
  std::uint64_t chain = 0;
};

/// Fills an empty store whose runtime does not run. The error is one line; then the store is as it was, but
/// for memory. Throws nothing; start-up only.
[[nodiscard]] runtime::Result<Recovered> recover(Disk& disk, const Manifest& manifest, Store& store,
                                                 const RecoveryOptions& options);

}  // namespace mxkv::server

// A start: what a data directory holds becomes the store's tree, before any worker runs.
//
//   scan the journal's segments   judge them   open the checkpoint's parts   deal the journal's records by key
//   merge range after range into runs of leaves   build the tree above them   floors, flushes, expiry
//
// All but the judgement is done by a thread for each worker, which acts for it: items and nodes come from its
// heaps. Nothing on disk changes.
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
  double seconds = 0;       ///< since it began
  double seconds_left = 0;  ///< if it goes on so
};

struct RecoveryOptions {
  /// Takes the keys of the items that do not fit into memory: the newest are kept. Null: the start is refused.
  /// The caller must record these keys before it serves (record_left_out).
  LeftOutKeys* left_out = nullptr;
  /// Go on with what stands before damage of the journal (--recover=prefix).
  bool recover_prefix = false;
  /// Called before items are judged: the steady time of the store's clock is to be this (resumed_time.hpp).
  std::function<void(std::uint64_t)> resume_time = [](std::uint64_t) {};
  /// Called about five times a second, on the calling thread.
  std::function<void(const RecoveryProgress&)> progress = [](const RecoveryProgress&) {};
};

/// A segment that is there.
struct KnownSegment {
  std::uint64_t number = 0;
  std::uint64_t last_epoch = 0;  ///< the greatest that counts in it; 0: nobody needs the segment
  std::uint64_t bytes = 0;
};

struct Recovered {
  std::uint64_t epoch = 0;         ///< the last one that was recovered; the next one to write is behind it
  std::uint64_t ceiling = 0;       ///< no order above it was given out; the tree's floor is raised to it
  std::uint64_t items = 0;         ///< in the store
  std::uint64_t item_bytes = 0;    ///< memory of them
  std::uint64_t expired = 0;       ///< not loaded: their time had come
  std::uint64_t base_items = 0;    ///< of the checkpoint
  std::uint64_t records = 0;       ///< of the journal
  std::uint64_t last_unix_us = 0;  ///< when the last group was written, by its clock; 0: there is none
  bool clock_behind = false;       ///< the clock shows less than it should by then
  FlushState flushes;              ///< in force, as the store has it

  double checkpoint_seconds = 0;  ///< of merging and loading
  double journal_seconds = 0;     ///< of reading, judging and dealing the journal

  // For a person; empty: it is not so.
  std::string torn;      ///< a tail was cut: file and byte
  std::string gap;       ///< the journal ends at a gap
  std::string left_off;  ///< with recover_prefix: the damage that it ends at

  // For the journal that goes on.
  std::vector<KnownSegment> segments;  ///< of all files, by number
  UnprovenTail unproven;               ///< what of it may not be on disk
  std::uint64_t next_segment = 1;      ///< above all numbers that were used
  std::uint64_t chain = 0;
};

/// Fills an empty store, whose runtime does not run. The error is one line; then the store is as it was, but
/// for memory. Throws nothing; start-up only.
[[nodiscard]] runtime::Result<Recovered> recover(Disk& disk, const Manifest& manifest, Store& store,
                                                 const RecoveryOptions& options);

}  // namespace mxkv::server

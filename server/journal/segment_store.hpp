// Segments: the files that groups are written to, one after the other.
//
// A file gets its name, <number>.mxj, only with its header on disk: so a file with such a name is a segment.
// Before that it is a *spare*: made ahead while there is room in the current segment, or a segment that is no
// longer needed, whose old name is gone on disk before its header changes. Numbers are never used again.
//
// *History*: segments that no checkpoint needs any more, kept for readers of changes. The oldest go first: when there
// are more bytes of them than allowed, when the journal reaches its own limit, or when the disk is full. So history
// never keeps a write from its place.
//
// Thread-safety: one thread, the writer's; the figures any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/journal/disk.hpp"
#include "server/journal/journal_end.hpp"
#include "server/journal/segment_header.hpp"

namespace mxkv::server {

/// A segment that an earlier process ended, or this one.
struct ClosedSegment {
  std::uint64_t number = 0;
  std::uint64_t last_epoch =
      0;                    ///< the greatest epoch with a group in it, or the one before its first; 0: it is
                            ///< of no use
  std::uint64_t bytes = 0;  ///< of the file
};

/// Groups of the last closed segment that no commit block proves to be on disk. A process that was killed
/// leaves such groups: this one reads them from the system's memory, but a power cut takes them.
struct UnprovenTail {
  std::uint64_t number = 0;  ///< of the segment; 0: there are none
  std::uint64_t end = 0;     ///< bytes up to the end of these groups
};

struct SegmentOptions {
  std::string folder = "journal";  ///< of the Disk; it exists
  DirectoryId directory{};
  std::uint32_t incarnation = 1;
  std::uint64_t segment_bytes = std::uint64_t{64} << 20U;  ///< with the header; a multiple of a page
  std::uint64_t next_number = 1;                           ///< above the number of every earlier segment
  std::uint64_t chain = 0;                                 ///< of the last group before
  std::vector<ClosedSegment> closed;                       ///< oldest first
  std::uint64_t needed_from = 1;  ///< an epoch; segments with earlier ones are history
  std::uint64_t end_segment = 0;  ///< in which the kept end is; 0: unknown
  UnprovenTail unproven{};
  /// Keeps the end outside of the journal, on disk when it returns 0; else it returns an errno value. Called
  /// before a segment gets its first group, on the thread of make_room(). None: nothing proves the end.
  std::function<int(const JournalEnd&)> keep_end{};
};

/// The facts about the journal when a segment begins.
struct SegmentBegin {
  std::uint64_t epoch = 0;  ///< of its first group
  /// Epochs up to it are on disk once the segment before is; epoch - 1 if no write was lost.
  std::uint64_t durable = 0;
  std::uint64_t created_us = 0;  ///< by the wall clock
};

/// The result of an operation on the disk.
struct DiskOutcome {
  int error = 0;      ///< an errno value; 0: done
  bool lost = false;  ///< earlier bytes may be gone; else nothing happened, and a retry is possible

  [[nodiscard]] bool ok() const noexcept { return error == 0; }
  /// The disk, or the user's quota, is full.
  [[nodiscard]] bool no_space() const noexcept { return error == ENOSPC || error == EDQUOT; }
};

class SegmentStore {
 public:
  SegmentStore(Disk& disk, SegmentOptions options);

  /// Removes spares that an earlier process left, and brings its unproven groups to disk: no client may read
  /// them before. Start-up only.
  [[nodiscard]] DiskOutcome prepare();
  /// The path of the segment whose end prepare() copies, or of the folder.
  [[nodiscard]] std::string unproven_path() const;

  /// Makes room for a group of `bytes` in the current segment, or begins a new one for it; also keeps the
  /// journal's end.
  [[nodiscard]] DiskOutcome make_room(std::uint64_t bytes, const SegmentBegin& begin);

  // The place of the next group, after a make_room() that succeeded.
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] std::uint64_t chain() const noexcept { return chain_; }

  /// Writes a whole group there, but does not move on: after a failure without `lost` it can be written there
  /// again.
  [[nodiscard]] DiskOutcome write(std::span<const iovec> pieces);
  /// Moves behind the group that was written.
  void advance(std::uint64_t bytes, std::uint64_t epoch, std::uint64_t chain) noexcept;
  /// Brings all written bytes to disk. A failure loses the bytes since the last sync.
  [[nodiscard]] DiskOutcome sync();

  /// A write or sync failed: ends the current segment. The next one begins after a gap.
  void abandon() noexcept;

  /// Makes a spare if there is none and less than half of the current segment is left. `did`: it did
  /// something.
  [[nodiscard]] DiskOutcome allocate_ahead(bool& did);
  /// Makes segments whose epochs are all below `epoch` history, and shortens the history.
  [[nodiscard]] DiskOutcome truncate(std::uint64_t epoch);
  /// Keeps so many bytes of history, and with them at most `most_bytes` of all files; 0: no limit. Turns older segments
  /// into spares, or removes them. Costs two loads if there is nothing to do.
  [[nodiscard]] DiskOutcome keep_history(std::uint64_t history_bytes, std::uint64_t most_bytes);

  /// Of all files, with spares. Any thread.
  [[nodiscard]] std::uint64_t total_bytes() const noexcept {
    return total_bytes_.load(std::memory_order_relaxed);
  }
  /// Of history. Any thread.
  [[nodiscard]] std::uint64_t history_bytes() const noexcept {
    return history_bytes_.load(std::memory_order_relaxed);
  }
  /// Without history. Any thread.
  [[nodiscard]] std::uint64_t needed_bytes() const noexcept {
    return total_bytes() - std::min(total_bytes(), history_bytes());
  }
  /// Without spares. Any thread.
  [[nodiscard]] std::uint64_t segments() const noexcept { return segments_.load(std::memory_order_relaxed); }
  /// Number of the current segment; 0: there is none. Any thread.
  [[nodiscard]] std::uint64_t current() const noexcept { return current_.load(std::memory_order_relaxed); }
  /// Path of the current segment, or of the next.
  [[nodiscard]] std::string path() const;

 private:
  static constexpr std::size_t kMostSpares = 2;

  struct Spare {
    std::string path;
    std::unique_ptr<DiskFile> file;
    std::uint64_t bytes = 0;
  };

  [[nodiscard]] bool is_history(const ClosedSegment& segment) const noexcept {
    return segment.last_epoch != 0 && segment.last_epoch < options_.needed_from;
  }
  [[nodiscard]] DiskOutcome try_room(std::uint64_t bytes, const SegmentBegin& begin);
  enum class shortening : std::uint8_t { behind_checkpoint, to_history, on_full_disk };
  [[nodiscard]] DiskOutcome shorten(std::uint64_t history_bytes, shortening why);
  [[nodiscard]] DiskOutcome drop(const ClosedSegment& segment, bool recycles, std::vector<Spare>& recycled);
  [[nodiscard]] bool frees_history();
  [[nodiscard]] DiskOutcome leave();
  [[nodiscard]] DiskOutcome begin_next(std::uint64_t bytes, const SegmentBegin& begin);
  [[nodiscard]] int keep_end();
  [[nodiscard]] int make_spare(std::uint64_t bytes);
  [[nodiscard]] int name_spare(const SegmentHeader& header);
  void drop_spare() noexcept;
  [[nodiscard]] std::string path_of(const std::string& name) const;
  [[nodiscard]] std::string path_of(std::uint64_t number) const;
  void count() noexcept;

  Disk& disk_;
  SegmentOptions options_;
  std::deque<ClosedSegment> closed_;
  std::uint64_t history_allowed_ = 0;  ///< bytes
  std::deque<Spare> spares_;
  std::uint64_t spare_names_ = 0;

  std::unique_ptr<DiskFile> file_;
  std::uint64_t number_ = 0;
  std::uint64_t bytes_ = 0;  ///< of the current file
  std::uint64_t offset_ = 0;
  std::uint64_t last_epoch_ = 0;  ///< in the current segment
  std::uint64_t seed_ = 0;
  std::uint64_t chain_;
  bool unsynced_ = false;
  bool after_gap_ = false;
  std::optional<JournalEnd> end_to_keep_;  ///< of the current segment, which takes no group before it is kept

  // Relaxed: figures.
  std::atomic<std::uint64_t> total_bytes_{0};
  std::atomic<std::uint64_t> history_bytes_{0};
  std::atomic<std::uint64_t> segments_{0};
  std::atomic<std::uint64_t> current_{0};
};

}  // namespace mxkv::server

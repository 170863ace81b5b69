// Segments: the files that groups are written to, one after the other.
//
// A file gets its name, <number>.mxj, only with its header on disk: so whatever has such a name is a segment.
// Before that it is a *spare*, made ahead while there is room in the current segment, or a segment that nobody
// needs any more, whose old name is gone on disk before its header changes. Numbers are never used again.
//
// Thread-safety: one thread, the writer's; the figures any thread.
#pragma once

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

/// A segment that ended before this process.
struct ClosedSegment {
  std::uint64_t number = 0;
  std::uint64_t last_epoch = 0;  ///< the greatest with a group in it, or the one before its first
  std::uint64_t bytes = 0;       ///< of the file
};

/// Groups of the last of them that no commit block says to be on disk. A process that was killed leaves such: they
/// are read from the system's memory, and a power cut takes them.
struct UnprovenTail {
  std::uint64_t number = 0;  ///< of the segment; 0: there are none
  std::uint64_t end = 0;     ///< bytes, with these groups
};

struct SegmentOptions {
  std::string folder = "journal";  ///< of the Disk; it is there
  DirectoryId directory{};
  std::uint32_t incarnation = 1;
  std::uint64_t segment_bytes = std::uint64_t{64} << 20U;  ///< header included; a multiple of a page
  std::uint64_t next_number = 1;                           ///< greater than that of any segment before
  std::uint64_t chain = 0;                                 ///< of the last group before
  std::vector<ClosedSegment> closed;                       ///< oldest first
  UnprovenTail unproven{};
  /// Keeps the end outside of the journal, on disk when it returns 0; else an errno value. Called before a segment gets
  /// its first group, on the thread of make_room(). None: nothing proves the end.
  std::function<int(const JournalEnd&)> keep_end{};
};

/// What a segment begins with.
struct SegmentBegin {
  std::uint64_t epoch = 0;  ///< of its first group
  /// All epochs up to it are on disk once the segment before is; epoch - 1 where no write was lost.
  std::uint64_t durable = 0;
  std::uint64_t created_us = 0;  ///< by the wall clock
};

/// What a step on the disk came to.
struct DiskOutcome {
  int error = 0;  ///< an errno value; 0: done
  bool lost =
      false;  ///< what was written before may be gone; else nothing happened, and it may be tried again

  [[nodiscard]] bool ok() const noexcept { return error == 0; }
  /// The disk, or the user's part of it, is full.
  [[nodiscard]] bool no_space() const noexcept { return error == ENOSPC || error == EDQUOT; }
};

class SegmentStore {
 public:
  SegmentStore(Disk& disk, SegmentOptions options);

  /// Removes spares that a former process left, and brings what it left unproven to the disk: until then nobody may read
  /// that. Start-up only.
  [[nodiscard]] DiskOutcome prepare();
  /// The segment that prepare() copies the end of, or the folder.
  [[nodiscard]] std::string unproven_path() const;

  /// Makes sure that a group of `bytes` has room in the current segment, which a new one becomes where need be, and
  /// that the journal's end is kept.
  [[nodiscard]] DiskOutcome make_room(std::uint64_t bytes, const SegmentBegin& begin);

  // Of the place where the next group goes; make_room() succeeded.
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] std::uint64_t chain() const noexcept { return chain_; }

  /// Writes a group there, all of it, without going on: what fails with `lost` unset is written there again.
  [[nodiscard]] DiskOutcome write(std::span<const iovec> pieces);
  /// The group was written; the next one goes behind it.
  void advance(std::uint64_t bytes, std::uint64_t epoch, std::uint64_t chain) noexcept;
  /// What was written is on disk. A failure loses what was written since the last sync.
  [[nodiscard]] DiskOutcome sync();

  /// A write or sync failed: the current segment is not written any more. The next one begins after a gap.
  void abandon() noexcept;

  /// Makes a spare if there is none and less than half of the current segment is left. True: it did something.
  [[nodiscard]] DiskOutcome allocate_ahead(bool& did);
  /// Segments whose epochs are all below `epoch` become spares, or go.
  [[nodiscard]] DiskOutcome truncate(std::uint64_t epoch);

  /// All files, spares included. Any thread.
  [[nodiscard]] std::uint64_t total_bytes() const noexcept {
    return total_bytes_.load(std::memory_order_relaxed);
  }
  /// Without spares. Any thread.
  [[nodiscard]] std::uint64_t segments() const noexcept { return segments_.load(std::memory_order_relaxed); }
  /// Number of the current segment; 0: there is none. Any thread.
  [[nodiscard]] std::uint64_t current() const noexcept { return current_.load(std::memory_order_relaxed); }
  /// Path of the current segment, or of the one to come.
  [[nodiscard]] std::string path() const;

 private:
  static constexpr std::size_t kMostSpares = 2;

  struct Spare {
    std::string path;
    std::unique_ptr<DiskFile> file;
    std::uint64_t bytes = 0;
  };

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
  std::optional<JournalEnd> end_to_keep_;  ///< of the current segment, which takes no group before

  // Relaxed: figures.
  std::atomic<std::uint64_t> total_bytes_{0};
  std::atomic<std::uint64_t> segments_{0};
  std::atomic<std::uint64_t> current_{0};
};

}  // namespace mxkv::server

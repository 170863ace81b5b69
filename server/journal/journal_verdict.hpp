// Judges all segments of a journal together: up to which epoch it is whole, and whether anything is lost.
//
// The end is the last whole group in order. The bytes behind it are either a tail that a crash tore: no reply
// depended on it, and it is cut. Or they were on disk once and are damaged: then the start is refused. Facts
// tell the two apart: each commit block has the epoch that was on disk when it was written, and a segment is
// begun only when the one before it is on disk up to its end.
//
//   the next segment's first epoch is the missing one     a clean cut: a recovery ended the journal there
//   the next segment's first epoch is a later one         damaged
//   a commit block behind it knows it to be on disk       damaged
//   otherwise                                             the torn tail
//
// A segment's groups count while their epoch is below the first epoch of all segments behind it. So records
// that a recovery cut never come back. A segment may come after a gap: the one before ended in a failed
// write. It counts only if the checkpoint was begun in it or later; else the journal ends before it.
//
// Segments without a header are taken for segments made ahead, if no epoch is missing without them.
//
// Nothing in the journal proves that its last group is the last one. So the caller gives its end
// (journal_end.hpp): a journal without that segment, or without that epoch, is damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "server/journal/journal_end.hpp"
#include "server/journal/segment_scan.hpp"

namespace mxkv::server {

/// Facts from the manifest and the command line.
struct JournalExpectations {
  std::uint64_t first_segment = 1;  ///< segments with smaller numbers are not needed
  std::uint64_t from_epoch = 1;     ///< the first epoch needed, at which the checkpoint was begun
  std::uint64_t needs_epoch = 0;    ///< the last epoch that the checkpoint needs
  JournalEnd end{};                 ///< the journal has to reach it
  bool recover_prefix = false;      ///< if the journal is damaged, use the part before the damage
};

struct JournalVerdict {
  /// A segment that counts, with its first `groups` groups.
  struct Part {
    std::size_t segment = 0;  ///< index in the scans
    std::size_t groups = 0;
    std::uint64_t end = 0;  ///< byte behind the last group that counts
  };

  std::string damage;            ///< not empty: the journal may not be used; the reason, for an operator
  std::string left_out;          ///< with recover_prefix: the damage at which the journal ends
  std::string torn;              ///< a tail that was cut: its place and epoch, for an operator
  std::string gap;               ///< the journal ends at a gap: its place, for an operator
  std::uint64_t last_epoch = 0;  ///< whole up to here; from_epoch - 1: there is no group
  std::uint64_t ceiling = 0;     ///< no greater order was minted; 0: there is no group
  std::uint64_t newest_unix_us = 0;
  std::uint64_t chain = 0;          ///< a segment that continues from here has to have it
  std::vector<Part> parts;          ///< in order
  std::vector<std::size_t> unused;  ///< indexes of scans whose bytes are not needed

  [[nodiscard]] bool usable() const noexcept { return damage.empty(); }
};

/// `scans`: of all files of the journal, in the order of their numbers. Thread-safety: any thread.
[[nodiscard]] JournalVerdict judge_journal(std::span<const SegmentScan> scans,
                                           const JournalExpectations& expectations);

}  // namespace mxkv::server

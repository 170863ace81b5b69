// What all segments of a journal say together: up to which epoch it is whole, and whether anything is lost.
//
// The end is the last whole group in order. What stands behind it is either the tail that a crash tore, which
// nothing was answered for, and is cut; or it was on disk once and is damaged, and then nothing is started.
// They are told apart by facts: each commit block says which epoch was on disk when it was written, and a
// segment is begun only when the one before is on disk up to its end.
//
//   the next segment's first epoch is the missing one     a clean cut: a recovery ended the journal there
//   the next segment's first epoch is a later one         damaged
//   a commit block behind it knows it to be on disk       damaged
//   otherwise                                             the torn tail
//
// A segment's groups count while their epoch is below the first epoch of all segments behind it, so that what
// a recovery cut never comes back. A segment may say that it comes after a gap: the one before ended in a
// failed write. It counts only if the checkpoint was begun in it or later; else the journal ends before it.
//
// Segments without a header are taken for ones that were made ahead, if nothing is missing without them.
//
// Nothing in the journal proves that its last group is the last one. So its end is given (journal_end.hpp): without that
// segment, or without that epoch, it is damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "server/journal/journal_end.hpp"
#include "server/journal/segment_scan.hpp"

namespace mxkv::server {

/// What is known from elsewhere: the manifest, the command line.
struct JournalExpectations {
  std::uint64_t first_segment = 1;  ///< those of smaller numbers are not needed
  std::uint64_t from_epoch = 1;     ///< the first that is needed: where the checkpoint was begun
  std::uint64_t needs_epoch = 0;    ///< the last that the checkpoint cannot do without
  JournalEnd end{};                 ///< what the journal has to reach
  bool recover_prefix = false;      ///< where it is damaged, go on with what stands before
};

struct JournalVerdict {
  /// A segment that counts: the first `groups` of its groups do.
  struct Part {
    std::size_t segment = 0;  ///< index in the scans
    std::size_t groups = 0;
    std::uint64_t end = 0;  ///< byte behind the last group that counts
  };

  std::string damage;            ///< not empty: the journal may not be used; why, for a person
  std::string left_out;          ///< with recover_prefix: the damage that the journal ends at
  std::string torn;              ///< a tail that was cut: where and which epoch, for a person
  std::string gap;               ///< the journal ends at a gap: where, for a person
  std::uint64_t last_epoch = 0;  ///< whole up to here; from_epoch - 1: nothing is there
  std::uint64_t ceiling = 0;     ///< no order above this was given out; 0: no group says
  std::uint64_t newest_unix_us = 0;
  std::uint64_t chain = 0;          ///< that a segment which goes on from here has to have
  std::vector<Part> parts;          ///< in order
  std::vector<std::size_t> unused;  ///< indexes of scans whose bytes nobody needs

  [[nodiscard]] bool usable() const noexcept { return damage.empty(); }
};

/// `scans`: of all files of the journal, in the order of their numbers. Thread-safety: any thread.
[[nodiscard]] JournalVerdict judge_journal(std::span<const SegmentScan> scans,
                                           const JournalExpectations& expectations);

}  // namespace mxkv::server

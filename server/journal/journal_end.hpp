// Proves where a journal ends: the newest segment that was begun, and an epoch that was on disk.
//
// A group proves that the groups before it existed, and nothing proves that it is the last. So the end is
// kept outside of the journal, in the manifest, and a start has to find a journal that reaches it. The order
// makes that a proof:
//
//   1  a segment gets its name, with its header on disk
//   2  the end is kept on disk: that segment, and the last epoch before it
//   3  groups are written into the segment
//
// A crash between 1 and 2 leaves a segment without groups; its loss does no harm. After 2 a segment that is
// missing, or has no header, existed once. An orderly end keeps the last epoch, too, so that no loss of a
// group goes unnoticed.
//
// It does not prove the last groups of a process that was killed: nothing on disk says that they existed.
#pragma once

#include <cstdint>

namespace mxkv::server {

struct JournalEnd {
  std::uint64_t segment = 0;  ///< number of the newest segment that was begun; 0: the end is unknown
  std::uint64_t epoch = 0;    ///< all epochs up to it were on disk

  friend bool operator==(const JournalEnd&, const JournalEnd&) = default;
};

}  // namespace mxkv::server

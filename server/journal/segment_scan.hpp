// Reads one segment up to the end of its whole groups, and the commit blocks behind them.
//
// It reports the contents; journal_verdict.hpp judges all segments together. It uses no bytes without a valid
// hash, and keeps only a few words a group.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/journal/group_scan.hpp"
#include "server/journal/segment_header.hpp"

namespace mxkv::server {

struct SegmentScan {
  enum class state : std::uint8_t {
    good,
    no_header,  ///< zeros, or the header is damaged
    newer,      ///< of a format that this code does not read
    foreign,    ///< of another directory
    misnamed,   ///< of another number: a remnant in a recycled file, or renamed by mistake
  };

  std::string path;  ///< as in messages: "journal/0000000000000011.mxj"
  std::uint64_t number = 0;
  std::string_view bytes;
  state header_is = state::no_header;
  std::string complaint;  ///< of the header, if it is not good
  SegmentHeader header;

  std::vector<ScannedGroup> groups;  ///< of consecutive epochs, from the header's first on
  std::uint64_t end = kPageBytes;    ///< of the last whole group
  std::uint64_t bad_at = 0;          ///< the invalid block, in the group that would begin at `end`
  const char* why = nullptr;         ///< the error in it
  bool torn = false;                 ///< a group was begun at `end`

  /// Of the commit blocks behind `end` (all, if there is no header): the one that knows the greatest epoch on
  /// disk. 0: there is none.
  std::uint64_t later_epoch = 0;
  std::uint64_t later_durable = 0;
};

/// Reads a segment. `number`: from its name. Not `with_groups`: reads its header alone. Thread-safety: any
/// thread, many segments at the same time.
[[nodiscard]] SegmentScan scan_segment(std::string path, std::uint64_t number, std::string_view bytes,
                                       const DirectoryId& directory, bool with_groups = true);

}  // namespace mxkv::server

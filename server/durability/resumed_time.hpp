// The server's own time, which everything on disk is told by: expiries, the moments of touches, delayed flushes,
// orders. It is the steady time of the process (runtime/base/clock.hpp), and it goes on from one process to the next:
//
//   runs        with the monotonic clock; setting the wall clock changes nothing
//   a start     has two readings: the wall clock, and the wall clock less the difference between the two that the
//               last process measured. The earlier one counts that is not before the last time on disk
//
// The second reading is right where the wall clock was set while the last process ran, or is as wrong as it was then;
// the first one where it was set between the two. Where both are before the last time on disk, that counts: the time
// in which nothing ran is not known.
//
// So time never goes back, and what has expired once never returns, whatever the wall clock shows at a start. A wall
// clock that is behind at a start costs the time in which nothing ran: items live on for so long. One that is ahead
// expires what would have expired by then, for good.
#pragma once

#include <cstdint>
#include <span>

#include "server/journal/journal_verdict.hpp"

namespace mxkv::server {

struct ResumedTime {
  std::uint64_t steady_us = 0;  ///< at which the process goes on
  bool clock_behind = false;    ///< both readings are before the last time on disk
};

/// `scans` with the verdict on them; `wall_us`: the wall clock now. Thread-safety: any thread.
[[nodiscard]] ResumedTime resumed_time(std::span<const SegmentScan> scans, const JournalVerdict& verdict,
                                       std::uint64_t wall_us) noexcept;

}  // namespace mxkv::server

// The server's own time, by which all times on disk are recorded: expiries, the moments of touches, delayed
// flushes, orders. It is the steady time of the process (runtime/base/clock.hpp), and continues from one
// process to the next:
//
//   runs        with the monotonic clock; setting the wall clock changes nothing
//   a start     has two readings: the wall clock, and the wall clock less the difference between the two that the
//               last process measured. It takes the earlier one that is not before the last time on disk
//
// The second reading is right if the wall clock was set while the last process ran, or else is as wrong as it
// was then. The first is right if the clock was set between the two processes. If both are before the last
// time on disk, the start takes that time: how long no server ran is not known.
//
// So time never goes back, and an expired item never returns, whatever the wall clock shows at a start. A
// wall clock that is behind at a start costs the time in which no server ran: items live longer by that time.
// If it is ahead, items that would expire by then are gone for good.
#pragma once

#include <cstdint>
#include <span>

#include "server/journal/journal_verdict.hpp"

namespace mxkv::server {

struct ResumedTime {
  std::uint64_t steady_us = 0;  ///< where the process resumes
  bool clock_behind = false;    ///< both readings are before the last time on disk
};

/// `scans` with the verdict on them; `wall_us`: the wall clock now. Thread-safety: any thread.
[[nodiscard]] ResumedTime resumed_time(std::span<const SegmentScan> scans, const JournalVerdict& verdict,
                                       std::uint64_t wall_us) noexcept;

}  // namespace mxkv::server

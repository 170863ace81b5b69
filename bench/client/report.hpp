// A run's output: YCSB's progress line and its report, so that scripts which read YCSB's output read ours.
//
// Additions: [VERIFY] counts the checks of replies; [CLIENT] and [SERVER] have their CPU time an operation;
// [SCHEDULE] how well a paced run kept its schedule; [CACHE] the hits and misses of a trace. All values are numbers. As in YCSB with
// measurement.interval=both, [READ] is measured from the sending and [Intended-READ] from the operation's due
// time.
#pragma once

#include <cstdint>
#include <string>

#include "bench/report/run_result.hpp"

namespace mxkv::bench {

struct Progress {
  std::string label;  ///< opens the line
  std::uint64_t elapsed_ms = 0;
  std::uint64_t operations = 0;   ///< done so far
  std::uint64_t interval_ms = 0;  ///< since the last line
  std::uint64_t interval_operations = 0;
  std::uint64_t total_operations = 0;  ///< 0: unknown
  std::uint64_t total_ms = 0;          ///< after which the run ends at the latest; 0: no limit
  Second recent;                       ///< the seconds that ended since the last line
};

/// "<date> 10 sec: 1000 operations; 100.0 current ops/sec; 100.0 mean ops/sec; est completion in 5 seconds
/// [READ: Count=99, Max=211, Min=12, Avg=20.5, 50=19, 99=130, 99.9=200]", latencies in microseconds.
std::string progress_line(const Progress& progress, const std::string& date);

/// Warns that the load was not the requested one, and by how much; empty if it was.
std::string schedule_warning(const ScheduleFigures& schedule);

/// The report at the end, one "[SECTION], name, value" a line.
std::string report(const RunResult& result);

}  // namespace mxkv::bench

// What a run prints: YCSB's progress line and its report, so that scripts which read YCSB's output read ours.
//
// Additions: [VERIFY] counts what was checked in every reply; [CLIENT] says what the client itself cost.
#pragma once

#include <cstdint>
#include <string>

#include "bench/client/tally.hpp"

namespace mxkv::bench {

struct Progress {
  std::uint64_t elapsed_ms = 0;
  std::uint64_t operations = 0;   ///< done so far
  std::uint64_t interval_ms = 0;  ///< since the last line
  std::uint64_t interval_operations = 0;
  std::uint64_t total_operations = 0;  ///< 0: unknown
};

/// "<date> 10 sec: 1000 operations; 100.0 current ops/sec; est completion in 5 seconds".
std::string progress_line(const Progress& progress, const std::string& date);

struct RunFigures {
  std::uint64_t run_time_ms = 0;
  std::uint64_t client_cpu_ns = 0;  ///< user and system time of all client threads
};

/// The report at the end, one "[SECTION], name, value" a line.
std::string report(const Tally& tally, const RunFigures& figures);

}  // namespace mxkv::bench

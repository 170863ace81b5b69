// The server's statistics before and after a run, and the CPU time that it used meanwhile.
//
// Counters come from memcached's `stats` or redis' `INFO`, over a connection of their own. The CPU time is
// the clock of the server's process if it runs on this machine: that clock is in nanoseconds, counters are in
// whole microseconds or clock ticks. A process id alone proves nothing (a container has its own), so it is
// believed only if the process's clock and the server's own counters agree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/client/socket.hpp"
#include "bench/report/run_result.hpp"
#include "runtime/base/result.hpp"

namespace mxkv::bench {

enum class StatisticsDialect : std::uint8_t {
  none,       ///< the server has no statistics
  memcached,  ///< "STAT name value"
  redis,      ///< "name:value"
};

/// The server's statistics at one moment.
struct ServerLook {
  Counters counters;
  std::uint64_t unix_ms = 0;
  std::uint64_t pid = 0;             ///< 0: elsewhere, or not known
  std::uint64_t process_cpu_ns = 0;  ///< of that process
  std::uint64_t counted_cpu_ns = 0;  ///< by the server's own counters
};

/// Names and values of a reply; other lines are left out.
Counters parse_statistics(StatisticsDialect dialect, std::string_view reply);
/// User and system time by the server's own counters; 0 where it has none.
std::uint64_t counted_cpu_ns(StatisticsDialect dialect, const Counters& counters);

/// Asks the server, on a new connection; waits some seconds at most. Thread-safety: any thread.
runtime::Result<ServerLook> look_at_server(const Endpoint& server, StatisticsDialect dialect);
/// Combines both looks; uses the process's clock only if both found the same process.
ServerFacts facts_between(const Endpoint& server, StatisticsDialect dialect, const ServerLook& before,
                          const ServerLook& after);

}  // namespace mxkv::bench

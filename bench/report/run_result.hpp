// All that is known of a run when it is over: what was counted, on which machines, by which command, at whose
// cost. It is written to JSON and read back whole, so that the results of parallel clients can be put
// together afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/client/pacer.hpp"
#include "bench/client/recorder.hpp"
#include "bench/client/series.hpp"
#include "bench/client/tally.hpp"

namespace mxkv::bench {

struct RunFigures {
  std::uint64_t run_time_ms = 0;    ///< without the warm-up
  std::uint64_t client_cpu_ns = 0;  ///< user and system time of all client threads, without the warm-up
  std::uint64_t start_unix_ms = 0;  ///< when measuring began
  std::uint64_t warmup_ms = 0;
  bool interrupted = false;  ///< a signal ended it before its time
  WarmupFigures warmup;
};

/// The machine a client ran on.
struct Machine {
  std::string host;
  std::string cpu_model;
  std::uint64_t cpus = 0;          ///< online
  std::uint64_t cpus_allowed = 0;  ///< that this process may use
  std::uint64_t memory_bytes = 0;
  std::string kernel;
  std::string system;  ///< the distribution
};

struct ClientFacts {
  std::string version;
  std::string command;  ///< the command line, quoted for a shell
  std::string label;
  std::vector<std::pair<std::string, std::string>> settings;  ///< what the run was, by names of flags
  Machine machine;
};

/// What the server says of itself, by its own names.
using Counters = std::map<std::string, std::string>;

/// The server before and after measuring.
struct ServerFacts {
  std::string address;
  std::string version;
  std::string cpu_source;  ///< "process": its CPU clock; "counters": what it says itself; empty: not known
  std::uint64_t pid = 0;   ///< 0: not on this machine
  std::uint64_t before_unix_ms = 0;
  std::uint64_t after_unix_ms = 0;
  std::uint64_t cpu_before_ns = 0;
  std::uint64_t cpu_after_ns = 0;
  Counters before;
  Counters after;

  [[nodiscard]] std::uint64_t cpu_ns() const noexcept {
    return cpu_after_ns > cpu_before_ns ? cpu_after_ns - cpu_before_ns : 0;
  }
};

struct RunResult {
  Tally tally;
  RunFigures figures;
  ScheduleFigures schedule;
  Series series;
  std::vector<ClientFacts> clients;  ///< one, or several after merging
  std::vector<ServerFacts> servers;
  std::string
      refusal;  ///< what the server said to the first request that it refused; empty if it refused none
  std::string problem;  ///< what ended the run early; empty if nothing did

  /// Operations that did not do what they had to, in the warm-up too.
  [[nodiscard]] std::uint64_t failures(bool misses_allowed) const noexcept;
  /// Operations a second.
  [[nodiscard]] double throughput() const noexcept;
  /// CPU time of all servers an operation, in nanoseconds; 0 where not known.
  [[nodiscard]] double server_cpu_ns_per_operation() const noexcept;
};

/// Adds the result of a client that ran beside: as if one client had sent the operations of both. Seconds are
/// matched by the clocks of the machines.
void merge_into(RunResult& sum, const RunResult& other);
/// What makes the sum of these results mean less than it seems to: a sentence each.
[[nodiscard]] std::vector<std::string> doubts_of_merging(const std::vector<RunResult>& results);

}  // namespace mxkv::bench

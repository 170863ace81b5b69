// The result of a run: its counters, machines and commands, and the CPU time of client and server. It is
// written to JSON and read back whole, so that the results of parallel clients can be combined afterwards.
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
  std::vector<std::pair<std::string, std::string>> settings;  ///< settings of the run, by names of flags
  Machine machine;
};

/// The server's statistics, by its own names.
using Counters = std::map<std::string, std::string>;

/// The server before and after measuring.
struct ServerFacts {
  std::string address;
  std::string version;
  std::string cpu_source;  ///< "process": its CPU clock; "counters": its own counters; empty: unknown
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
      refusal;  ///< the server's answer to the first request that it refused; empty if it refused none
  std::string first_wrong;    ///< the first reply with wrong records: operation, key, reason; empty: none
  std::string first_missing;  ///< the same of the first missing record
  std::string problem;        ///< why the run ended early; empty if it did not

  /// Failed operations, also in the warm-up.
  [[nodiscard]] std::uint64_t failures(bool misses_allowed) const noexcept;
  /// What to tell of the first failure, if there were failures; empty: nothing is known.
  [[nodiscard]] std::string first_failure(bool misses_allowed) const;
  /// Operations a second.
  [[nodiscard]] double throughput() const noexcept;
  /// CPU time of all servers an operation, in nanoseconds; 0 where not known.
  [[nodiscard]] double server_cpu_ns_per_operation() const noexcept;
};

/// Adds the result of a client that ran at the same time, as if one client had sent the operations of both.
/// Seconds are matched by the clocks of the machines.
void merge_into(RunResult& sum, const RunResult& other);
/// Reasons to doubt the sum of these results, a sentence each.
[[nodiscard]] std::vector<std::string> doubts_of_merging(const std::vector<RunResult>& results);

}  // namespace mxkv::bench

// The flags of mxkv-ycsb and their defaults. Names follow YCSB's properties.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "bench/client/pacer.hpp"
#include "bench/client/sine_rate.hpp"
#include "bench/client/socket.hpp"
#include "bench/client/wire.hpp"
#include "bench/workload/spec.hpp"

namespace mxkv::bench {

enum class ServerKind : std::uint8_t {
  mxkv,       ///< memcached's classic text protocol, and mxkv's scan
  memcached,  ///< the same without scans
  redis,      ///< as YCSB's binding uses it for strings, and a sorted set for scans
  redis_lex,  ///< one sorted set, the value inside the member; ZADD and ZRANGEBYLEX
  echo,       ///< mxkv-echo: replies of fixed length, which are counted and not verified
};

struct Options {
  WorkloadSpec workload;
  ServerKind server_kind = ServerKind::mxkv;
  RedisOptions redis;
  Endpoint server{"127.0.0.1", 11211};
  std::uint32_t threads = 1;
  std::size_t connections = 1;  ///< over all threads
  std::size_t depth = 1;        ///< requests in flight a connection
  std::size_t refill = 0;       ///< answered requests before new ones are made; 0: the whole depth
  double target_ops_per_s = 0;  ///< over all connections; 0: as many as the server answers
  SineRate sine;                ///< around target_ops_per_s
  Arrivals arrivals = Arrivals::constant;
  std::uint64_t warmup_ms = 0;          ///< operations that end within it are left out of all figures
  std::uint64_t max_execution_s = 0;    ///< 0: no limit
  std::uint64_t status_interval_s = 0;  ///< seconds between progress lines; 0: none
  std::string label;                    ///< opens progress lines
  bool server_counters = false;         ///< ask the server for its counters, before and after
  std::string json_file;                ///< where results go; empty: nowhere
  std::string csv_file;
  std::string hgrm_prefix;
  bool misses_allowed = false;  ///< not_found is no failure (a cache that evicts)
  std::string trace_file;       ///< "-": standard input; empty: none
  std::uint64_t trace_value_bytes = std::uint64_t{1} << 20;  ///< the greatest value that a trace may have
  std::uint64_t max_failures = 0;  ///< failed operations that a run may have and still succeed
};

/// Exit code for a command line that is wrong.
inline constexpr int kUsageError = 2;

/// Options to run with, or an exit code to leave with at once (after help or an error message).
using ParsedOptions = std::variant<Options, int>;

/// Thread-safety: startup only.
ParsedOptions parse_options(int argc, const char* const* argv);

}  // namespace mxkv::bench

// The flags of mxkv-ycsb, and what they are by default. Names follow YCSB's properties.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "bench/client/socket.hpp"
#include "bench/workload/spec.hpp"

namespace mxkv::bench {

enum class Protocol : std::uint8_t {
  memcached,  ///< classic text, and mxkv's scan
  resp,       ///< redis: GET and SET
  resp_zset,  ///< redis: one sorted set, the value inside the member; ZADD and ZRANGEBYLEX
  echo,       ///< mxkv-echo: replies of fixed length, which are counted and not verified
};

struct Options {
  WorkloadSpec workload;
  Protocol protocol = Protocol::memcached;
  Endpoint target{"127.0.0.1", "11211"};
  std::uint32_t threads = 1;
  std::size_t connections = 1;           ///< over all threads
  std::size_t depth = 1;                 ///< requests in flight a connection
  std::size_t refill = 0;                ///< answered requests before new ones are made; 0: the whole depth
  std::uint64_t max_execution_s = 0;     ///< 0: no limit
  std::uint64_t status_interval_s = 10;  ///< 0: no progress lines
  bool misses_allowed = false;           ///< not_found is no failure (a cache that evicts)
};

/// What to do: run with options, or leave at once with an exit code (help, or a message that was printed).
using ParsedOptions = std::variant<Options, int>;

/// Thread-safety: startup only.
ParsedOptions parse_options(int argc, const char* const* argv);

}  // namespace mxkv::bench

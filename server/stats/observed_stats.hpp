// What a sample of requests tells: `stats latency`, `stats slow`, `stats hot`; and `stats conns`.
#pragma once

#include <cstdint>

namespace mxkv::runtime {
class Clock;
}

namespace mxkv::server {

class Network;
class StatText;

// Thread-safety of all: any thread; each number is a recent one.

/// Percentiles in ns, by command, of all workers and of each.
void add_latency_stats(StatText& text, const Network& network);
/// The latest slow requests, the oldest first.
void add_slow_stats(StatText& text, const Network& network);
/// Keys and ranges that are asked for most, most first: how often they were met at least, and how much more at most.
void add_hot_stats(StatText& text, const Network& network, std::uint64_t now_ns);
/// Who is connected, as memcached tells it.
void add_connection_stats(StatText& text, const Network& network);

}  // namespace mxkv::server

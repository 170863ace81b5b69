// What a sample of requests tells: `stats latency`, `stats slow`, `stats hot`; and `stats conns`.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "server/net/admin_source.hpp"
#include "server/net/request_sampler.hpp"

namespace mxkv::runtime {
class Clock;
}

namespace mxkv::server {

class Network;
class StatText;

// Thread-safety of all: any thread; each number is a recent one.

using LatencyCounts = std::array<LatencyHistogram::Counts, kCommandKinds>;
/// Of all workers, by command_kind.
[[nodiscard]] LatencyCounts latency_counts(const Network& network);

/// A key or range that is asked for often.
struct HotName {
  HotKeys::what kind = HotKeys::what::key;
  std::string name;         ///< as it is, not as people read it
  std::uint64_t sure = 0;   ///< times that it was met at least
  std::uint64_t error = 0;  ///< and at most so many more
};
/// Of all workers, the most first; what is not above its error is left out.
[[nodiscard]] std::vector<HotName> hot_names(const Network& network, std::uint64_t now_ns);

/// Percentiles in ns, by command, of all workers and of each.
void add_latency_stats(StatText& text, const Network& network);
/// The latest slow requests, the oldest first.
void add_slow_stats(StatText& text, const Network& network);
/// Keys and ranges that are asked for most, most first: how often they were met at least, and how much more at most.
void add_hot_stats(StatText& text, const Network& network, std::uint64_t now_ns);
/// Who is connected, as memcached tells it: a page of it. The listeners come first.
void add_connection_stats(StatText& text, const Network& network, AdminCursor& cursor);

}  // namespace mxkv::server

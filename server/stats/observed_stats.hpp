// Statistics of sampled requests: `stats latency`, `stats slow`, `stats hot`; and `stats conns`.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "server/net/observe/request_sampler.hpp"
#include "server/net/session/admin_source.hpp"

namespace mxkv::runtime {
class Clock;
}

namespace mxkv::server {

class Network;
class StatText;

// Thread-safety of all: any thread; each number is a recent one.

using LatencyCounts = std::array<LatencyHistogram::Counts, kCommandKinds>;
/// Sums over all workers, by command_kind.
[[nodiscard]] LatencyCounts latency_counts(const Network& network);

/// The number of requests, estimated from a sample.
struct RequestsAbout {
  std::uint64_t about = 0;
  std::uint64_t least = 0;  ///< the true number is not below this in 19 of 20 cases
  std::uint64_t most = 0;   ///< the true number is not above this in 19 of 20 cases
};
/// The estimate for `met` to `met + error` requests in a random sample of one in `one_in`.
[[nodiscard]] RequestsAbout requests_about(std::uint64_t met, std::uint64_t error, std::uint32_t one_in);

/// A frequently requested key or range.
struct HotName {
  HotKeys::what kind = HotKeys::what::key;
  std::string name;         ///< unescaped
  std::uint64_t sure = 0;   ///< at least so many sampled requests
  std::uint64_t error = 0;  ///< and at most so many more
  RequestsAbout requests;   ///< estimated from these
};
/// Names from all workers, most frequent first; without names that are not above their error.
[[nodiscard]] std::vector<HotName> hot_names(const Network& network, std::uint64_t now_ns);

/// The latencies timed so far.
struct LatencyLook {
  std::vector<LatencyCounts> workers{};  ///< empty: nothing was timed
  std::uint64_t untimed = 0;             ///< sampled requests that were not timed
};
[[nodiscard]] LatencyLook look_at_latencies(const Network& network);
/// Percentiles in ns, by command, of all workers and of each, for requests timed after `since`.
void add_latency_stats(StatText& text, const Network& network, const LatencyLook& since);
/// The latest slow requests, the oldest first.
void add_slow_stats(StatText& text, const Network& network);
/// The keys and ranges requested most, most frequent first, each with the estimated number of requests and
/// its bounds.
void add_hot_stats(StatText& text, const Network& network, std::uint64_t now_ns);
/// A page of the list of connections, in memcached's form. The listeners come first.
void add_connection_stats(StatText& text, const Network& network, AdminCursor& cursor);

}  // namespace mxkv::server

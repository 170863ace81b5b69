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

/// How many requests there were, as far as a sample of them tells.
struct RequestsAbout {
  std::uint64_t about = 0;
  std::uint64_t least = 0;  ///< there are as many in 19 of 20 cases
  std::uint64_t most = 0;   ///< and not more in as many
};
/// Of `met` to `met + error` requests in a random sample of one in `one_in`.
[[nodiscard]] RequestsAbout requests_about(std::uint64_t met, std::uint64_t error, std::uint32_t one_in);

/// A key or range that is asked for often.
struct HotName {
  HotKeys::what kind = HotKeys::what::key;
  std::string name;         ///< as it is, not as people read it
  std::uint64_t sure = 0;   ///< times that the sample met it at least
  std::uint64_t error = 0;  ///< and at most so many more
  RequestsAbout requests;   ///< that there were for it
};
/// Of all workers, the most first; what is not above its error is left out.
[[nodiscard]] std::vector<HotName> hot_names(const Network& network, std::uint64_t now_ns);

/// What was timed so far.
struct LatencyLook {
  std::vector<LatencyCounts> workers{};  ///< none: nothing
  std::uint64_t untimed = 0;             ///< requests of the sample that were not
};
[[nodiscard]] LatencyLook look_at_latencies(const Network& network);
/// Percentiles in ns, by command, of all workers and of each; of what was timed after `since`.
void add_latency_stats(StatText& text, const Network& network, const LatencyLook& since);
/// The latest slow requests, the oldest first.
void add_slow_stats(StatText& text, const Network& network);
/// Keys and ranges that are asked for most, most first: about how many requests there were, at least and at most.
void add_hot_stats(StatText& text, const Network& network, std::uint64_t now_ns);
/// A page of the list of connections, in memcached's form. The listeners come first.
void add_connection_stats(StatText& text, const Network& network, AdminCursor& cursor);

}  // namespace mxkv::server

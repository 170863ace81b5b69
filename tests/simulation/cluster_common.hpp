// Shared by the worlds of one shard and of several: waiting for an answer, a request's entry in a history,
// sums of counters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "server/cluster/shard.hpp"
#include "tests/simulation/cluster_engine.hpp"
#include "tests/unit/index/linearizability.hpp"

namespace mxkv::simulation {

/// One of the ways between a node and its logs.
inline constexpr unsigned kWays = 3;
inline bool& way_of(NodeLink& link, std::uint64_t which) {
  return which == 0 ? link.requests_cut : which == 1 ? link.answers_cut : link.reads_cut;
}

/// Calls `then` once the request was answered, or at `until_ns`.
template <class Request, class Then>
void when_answered(Timeline& timeline, const Request& request, std::uint64_t until_ns, const Then& then) {
  constexpr std::uint64_t kLookNs = 10'000'000;
  if (request.answered_ns != 0 || timeline.now_ns() >= until_ns) {
    then();
  } else {
    timeline.in(kLookNs,
                [&timeline, &request, until_ns, then] { when_answered(timeline, request, until_ns, then); });
  }
}

/// `stored_ns`: when it was stored, if it changes something that counts. From then on reads must see it,
/// whatever answer its client got.
template <class Request>
index::testing::HistoryEntry history_entry(const Request& request, index::testing::verb how,
                                           std::uint64_t operand, bool told,
                                           std::optional<std::uint64_t> stored_ns) {
  index::testing::HistoryEntry entry;
  entry.how = how;
  entry.operand = operand;
  entry.found = request.found.has_value();
  entry.number = request.found.value_or(0);
  entry.invoked = request.invoked_ns;
  entry.responded = stored_ns && told ? std::min(*stored_ns, request.answered_ns)
                    : stored_ns       ? *stored_ns
                                      : request.answered_ns;
  return entry;
}

inline void add_counters(server::ShardCounters& sum, const server::ShardCounters& other) {
  sum.claims += other.claims;
  sum.spared += other.spared;
  sum.terms += other.terms;
  sum.ousted += other.ousted;
  sum.yielded += other.yielded;
  sum.straight += other.straight;
  sum.gaps += other.gaps;
  sum.again += other.again;
  sum.repeats += other.repeats;
  sum.voids += other.voids;
  sum.discarded += other.discarded;
}

}  // namespace mxkv::simulation

// The families of /metrics. Counters are since the start, whatever `stats reset` did, so that they never go back.
// OPERATING.md lists all of them.
#pragma once

#include "server/admin/exposition.hpp"
#include "server/admin/health.hpp"
#include "server/admin/http_pages.hpp"
#include "server/admin/recorder.hpp"
#include "server/admin/serving_parts.hpp"
#include "server/stats/place_stats.hpp"

namespace mxkv::server {

/// What is known of the process from its start on.
void write_process(Exposition& out, const Health::State& state, const HttpCounters& http);

// Of a server that serves. Thread-safety: any thread.

/// Commands, their times, items, and what becomes of these.
void write_commands(Exposition& out, const ServingParts& parts);
/// Connections, bytes, logins.
void write_network(Exposition& out, const ServingParts& parts);
/// Memory by what it is used for, by NUMA node and by size.
void write_memory(Exposition& out, const ServingParts& parts);
/// Workers and locks.
void write_workers(Exposition& out, const ServingParts& parts, WorkerIdle& idle);
/// What look-ups met, and how much of it on other NUMA nodes; families without samples where there is one node.
void write_places(Exposition& out, const PlaceSums& sums);
/// Journal and checkpoints; nothing where there is no durability.
void write_durability(Exposition& out, const ServingParts& parts);
/// The shards of this node; nothing where there is no cluster.
void write_cluster(Exposition& out, const ServingParts& parts);

}  // namespace mxkv::server

// The metric families of /metrics. Counters start with the process and ignore `stats reset`, so that they
// never decrease. OPERATING.md lists all of them.
#pragma once

#include "server/admin/exposition.hpp"
#include "server/admin/health.hpp"
#include "server/admin/http_pages.hpp"
#include "server/admin/recorder.hpp"
#include "server/admin/serving_parts.hpp"
#include "server/stats/place_stats.hpp"

namespace mxkv::server {

/// Metrics that exist from the start of the process on.
void write_process(Exposition& out, const Health::State& state, const HttpCounters& http);

/// When the certificates of listeners end.
void write_certificates(Exposition& out, const std::vector<CertificateEnd>& certificates);

// Metrics of a server that serves. Thread-safety: any thread.

/// Commands and their latencies, and items from storing to eviction.
void write_commands(Exposition& out, const ServingParts& parts);
/// Connections, bytes, logins.
void write_network(Exposition& out, const ServingParts& parts);
/// Memory by purpose, by NUMA node and by size.
void write_memory(Exposition& out, const ServingParts& parts);
/// Workers and locks.
void write_workers(Exposition& out, const ServingParts& parts, WorkerIdle& idle);
/// Memory that sampled look-ups met, and how much of it is on other NUMA nodes. With one node the families have no
/// samples.
void write_places(Exposition& out, const PlaceSums& sums);
/// Journal and checkpoints; nothing without durability.
void write_durability(Exposition& out, const ServingParts& parts);
/// Watches of ranges; nothing where no range can be watched.
void write_watches(Exposition& out, const ServingParts& parts);
/// The shards of this node; nothing without a cluster.
void write_cluster(Exposition& out, const ServingParts& parts);

}  // namespace mxkv::server

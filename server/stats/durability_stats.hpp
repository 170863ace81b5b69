// `stats durability`: how far the journal is on disk, and how much waits for it.
#pragma once

#include "server/durability/durability.hpp"
#include "server/net/observe/net_counters.hpp"
#include "server/stats/stat_text.hpp"

namespace mxkv::server {

/// Thread-safety: any thread.
void add_durability_stats(StatText& text, const Durability& durability, const NetStats& net);

}  // namespace mxkv::server

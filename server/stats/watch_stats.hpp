// `stats watch`: watches of ranges.
#pragma once

#include "server/feed/feed.hpp"
#include "server/stats/stat_text.hpp"

namespace mxkv::server {

/// Thread-safety: any thread.
void add_watch_stats(StatText& text, const Feed& feed);

}  // namespace mxkv::server

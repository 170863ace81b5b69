// `stats locks`: operations that hold keys, and the writes that they held off.
#pragma once

#include "server/stats/stat_text.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

/// Since the start. Thread-safety: any thread.
void add_lock_stats(StatText& text, Store& store);

}  // namespace mxkv::server

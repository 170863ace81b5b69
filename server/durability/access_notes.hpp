// Records at an orderly end when items were last read, so that the next start evicts as this process would
// have. Reads write no records, and a checkpoint only knows the reads before it.
#pragma once

#include <cstdint>

#include "server/journal/journal.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

/// Records the access codes of all items that may have been read at `since_us` (steady) or later. Records
/// nothing if the journal cannot be written. When no worker runs any more; ends the journal's thread.
void record_accesses(Store& store, std::uint64_t since_us, std::uint64_t now_us, Journal& journal);

}  // namespace mxkv::server

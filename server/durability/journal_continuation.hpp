// Continues a journal behind the part that a start recovered, and closes it at an orderly end. Both keep the
// journal's end in the manifest (server/journal/journal_end.hpp).
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/base/result.hpp"
#include "server/durability/manifest_file.hpp"
#include "server/durability/recovery.hpp"
#include "server/journal/journal.hpp"

namespace mxkv::server {

/// Segments behind those on disk. `manifest` outlives the journal. Thread-safety: start-up only.
[[nodiscard]] SegmentOptions segments_behind(const Recovered& found, ManifestFile& manifest,
                                             std::uint64_t segment_bytes);

/// Call this after Journal::flush_all_now() returned true: all records are on disk. The error is one line.
/// Thread-safety: when no worker runs any more.
[[nodiscard]] std::optional<runtime::Error> note_orderly_end(ManifestFile& manifest, const Journal& journal,
                                                             std::uint64_t now_us, std::uint64_t ceiling);

}  // namespace mxkv::server

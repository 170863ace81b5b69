// MANIFEST: identifies a data directory, and says which checkpoint counts, where the journal ends, and which
// positions of clients are in its past. Lines `name value`; the last one is a hash of all before it.
//
// It is replaced, never changed: a new file is written and synced, the old one gets the second name
// MANIFEST.1, and a rename puts the new one in its place. So a whole manifest always exists. A checkpoint
// that it does not name does not count, even if its files are in the directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/result.hpp"
#include "server/commit/position.hpp"
#include "server/durability/range_operations.hpp"
#include "server/journal/disk.hpp"
#include "server/journal/journal_verdict.hpp"
#include "server/journal/segment_header.hpp"

namespace mxkv::server {

/// The format that this code writes. Format 2, without a lineage, and format 1, without the end of the journal,
/// can be read.
inline constexpr std::uint16_t kManifestFormat = 3;

inline constexpr const char* kManifestName = "MANIFEST";
inline constexpr const char* kOldManifestName = "MANIFEST.1";
inline constexpr const char* kCheckpointDirectory = "checkpoint";
inline constexpr const char* kJournalDirectory = "journal";
inline constexpr const char* kLockName = "LOCK";

/// The checkpoint that a start loads.
struct CheckpointEntry {
  std::uint64_t begun = 0;  ///< epoch: changes with a smaller label are in it, the others in the journal
  std::uint64_t needs = 0;  ///< no change in it has a greater label
  std::uint32_t parts = 0;
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;    ///< of its files
  std::uint64_t made_us = 0;  ///< wall clock
  /// In force when it began; records before it, which no start reads, may have set them.
  FlushState flushes;

  friend bool operator==(const CheckpointEntry&, const CheckpointEntry&) = default;
};

struct Manifest {
  DirectoryId directory{};
  std::uint32_t incarnation = 0;  ///< number of processes that have served from it
  bool clean = false;             ///< the last process ended in order
  std::uint64_t written_us = 0;   ///< wall clock
  std::uint64_t ceiling = 0;      ///< no greater order was minted before this was written
  std::uint64_t first_segment = 0;
  JournalEnd end;  ///< the end that the journal has to reach
  Lineage lineage;
  std::optional<CheckpointEntry> checkpoint;
  /// Numbers that survive restarts, by name: lower-case letters and '_'.
  std::vector<std::pair<std::string, std::uint64_t>> counters;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

[[nodiscard]] std::string manifest_text(const Manifest& manifest);
/// The error names the line: "line 4: `incarnation` has no number".
[[nodiscard]] runtime::Result<Manifest> parse_manifest(std::string_view text);

/// The manifest's claims about its journal, by which a start, the tools and a backup judge it.
[[nodiscard]] JournalExpectations expectations_of(const Manifest& manifest) noexcept;

/// Reads a directory's manifest; nothing: there is none. The error is one line with the path.
[[nodiscard]] runtime::Result<std::optional<Manifest>> read_manifest(Disk& disk);
/// Writes it to disk. The error is one line with the path; then the manifest before counts, or this one.
[[nodiscard]] std::optional<runtime::Error> write_manifest(Disk& disk, const Manifest& manifest);
/// The same. Returns 0, or an errno value, and in `path` the file or folder that failed.
[[nodiscard]] int replace_manifest(Disk& disk, const Manifest& manifest, std::string& path);

/// "checkpoint/000000000000032c".
[[nodiscard]] std::string checkpoint_path(std::uint64_t begun);
/// "checkpoint/000000000000032c/part-0.mxc".
[[nodiscard]] std::string checkpoint_part_path(std::uint64_t begun, std::uint32_t part);

}  // namespace mxkv::server

// Reads a data directory without changing anything, also while a daemon writes in it.
//
// Changes by a running daemon during a reading can look like damage: an earlier group is still missing
// although a later one is there, or a checkpoint has removed a segment. But everything on disk when one
// reading ends is there for the next. So damage counts only if two readings in a row find the same.
//
// One segment is in memory at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"
#include "server/commit/record.hpp"
#include "server/durability/manifest.hpp"
#include "server/journal/journal_verdict.hpp"
#include "server/journal/segment_scan.hpp"

namespace mxkv::server {

inline constexpr std::size_t kRecordTypes = 7;

/// "put", "gone", ...; types count from 0.
[[nodiscard]] const char* record_type_name(std::size_t type) noexcept;

/// The number of records in whole groups, by type.
struct RecordCounts {
  std::array<std::uint64_t, kRecordTypes> by_type{};
  std::uint64_t value_bytes = 0;  ///< of puts
  std::uint64_t batches = 0;

  void add(const Record& record) noexcept;
  RecordCounts& operator+=(const RecordCounts& other) noexcept;
  [[nodiscard]] std::uint64_t all() const noexcept;
};

struct DirectorySurvey {
  std::string path;
  DirectoryId directory{};
  std::optional<Manifest> manifest;
  /// By number. Their `bytes` are dropped.
  std::vector<SegmentScan> segments;
  std::vector<RecordCounts> counts;       ///< of each segment
  std::vector<std::uint64_t> file_bytes;  ///< of each segment
  JournalVerdict verdict;
  std::string damage;  ///< of the journal, as text for an operator; empty: none
};

/// Why a path cannot be surveyed: no directory, or not mxkv's.
[[nodiscard]] std::optional<runtime::Error> not_a_data_directory(const std::string& path);

/// Numbers of the segments, in order; ignores other names. Returns 0 or an errno value.
[[nodiscard]] int list_segments(const std::string& directory, std::vector<std::uint64_t>& numbers);

/// Reads the whole journal. The error is one line: the manifest is damaged, or a file cannot be read. Damage
/// of the journal is no error. Calls `between` before each reading but the first; by default it waits a
/// little. Thread-safety: any thread.
[[nodiscard]] runtime::Result<DirectorySurvey> survey_directory(const std::string& path,
                                                                const std::function<void()>& between = {});

/// Reads one segment again; `bytes` holds its current bytes. Nothing: it no longer exists.
[[nodiscard]] std::optional<SegmentScan> read_segment_again(const DirectorySurvey& survey,
                                                            std::size_t segment, std::string& bytes);

}  // namespace mxkv::server

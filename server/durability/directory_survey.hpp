// What stands in a data directory, read without changing anything, also while a daemon writes in it.
//
// What a running daemon does in the middle of a reading can look like damage: a group that was not there yet
// although a later one is, a segment that a checkpoint has made needless. Whatever was there when the reading
// ended is there in the next one. So damage counts if two readings in a row find the same.
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
#include "server/durability/manifest.hpp"
#include "server/journal/journal_verdict.hpp"
#include "server/journal/record.hpp"
#include "server/journal/segment_scan.hpp"

namespace mxkv::server {

inline constexpr std::size_t kRecordTypes = 7;

/// "put", "gone", ...; type: from 0 on.
[[nodiscard]] const char* record_type_name(std::size_t type) noexcept;

/// Records of whole groups, by their type.
struct RecordCounts {
  std::array<std::uint64_t, kRecordTypes> by_type{};
  std::uint64_t value_bytes = 0;  ///< of puts

  void add(const Record& record) noexcept;
  RecordCounts& operator+=(const RecordCounts& other) noexcept;
  [[nodiscard]] std::uint64_t all() const noexcept;
};

struct DirectorySurvey {
  std::string path;
  DirectoryId directory{};
  std::optional<Manifest> manifest;
  /// By number. Their `bytes` are gone.
  std::vector<SegmentScan> segments;
  std::vector<RecordCounts> counts;       ///< of each segment
  std::vector<std::uint64_t> file_bytes;  ///< of each segment
  JournalVerdict verdict;
  std::string damage;  ///< of the journal, for a person; empty: none
};

/// Why a path cannot be looked at: it is no directory, or no server's.
[[nodiscard]] std::optional<runtime::Error> not_a_data_directory(const std::string& path);

/// Numbers of the segments, in order. What has another name is none. Returns 0 or an errno value.
[[nodiscard]] int list_segments(const std::string& directory, std::vector<std::uint64_t>& numbers);

/// Reads all of the journal. The error is one line: the manifest is damaged, or a file cannot be read. Damage of
/// the journal is none. `between` is called before each reading but the first; by default it waits a little.
/// Thread-safety: any thread.
[[nodiscard]] runtime::Result<DirectorySurvey> survey_directory(const std::string& path,
                                                                const std::function<void()>& between = {});

/// One segment again, as it is now; `bytes` holds it. Nothing: it is there no more.
[[nodiscard]] std::optional<SegmentScan> read_segment_again(const DirectorySurvey& survey,
                                                            std::size_t segment, std::string& bytes);

}  // namespace mxkv::server

#include "server/durability/directory_survey.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/durability/data_directory.hpp"
#include "server/durability/file_copy.hpp"
#include "server/journal/group_reader.hpp"
#include "server/journal/posix_disk.hpp"

namespace mxkv::server {
namespace {

using runtime::Error;
using runtime::Result;

/// Readings before giving up, if no two in a row agree.
constexpr int kMostReadings = 20;
constexpr std::chrono::milliseconds kBetweenReadings{20};

/// One reading of a directory.
class Reading {
 public:
  explicit Reading(std::string path) { survey_.path = std::move(path); }

  /// No survey: a file was removed during the reading, so it has to be repeated.
  Result<std::optional<DirectorySurvey>> take() {
    // The manifest first: the segment at which it has the journal end then exists already.
    if (std::optional<Error> error = read_manifest_file()) {
      return *std::move(error);
    }
    std::vector<std::uint64_t> numbers;
    if (const int error = list_segments(survey_.path, numbers)) {
      return Error{file_complaint(survey_.path + "/" + kJournalDirectory, error)};
    }
    if (!survey_.manifest) {
      guess_directory(numbers);
    }
    for (const std::uint64_t number : numbers) {
      const int error = read_segment(number);
      if (error == ENOENT) {
        return std::optional<DirectorySurvey>{};
      }
      if (error != 0) {
        return Error{file_complaint(survey_.path + "/" + name_of(number), error)};
      }
    }
    MXKV_ASSERT(survey_.counts.size() == survey_.segments.size() &&
                    survey_.file_bytes.size() == survey_.segments.size(),
                "each segment has its counts and its length");
    judge();
    if (!survey_.manifest) {
      auto disk = PosixDisk::open_to_read(survey_.path);
      bool fresh = false;
      survey_.damage = disk ? complaint_about_names(*disk.value(), fresh) : disk.error().message;
    }
    return std::optional{std::move(survey_)};
  }

 private:
  static std::string name_of(std::uint64_t number) {
    return std::string{kJournalDirectory} + "/" + segment_name(number);
  }

  std::optional<Error> read_manifest_file() {
    std::string bytes;
    const std::string path = survey_.path + "/" + kManifestName;
    const int error = read_whole_file(path, bytes);
    if (error != 0 && error != ENOENT) {
      return Error{file_complaint(path, error)};
    }
    if (error == 0) {
      Result<Manifest> manifest = parse_manifest(bytes);
      if (!manifest) {
        return Error{path + ": " + manifest.error().message};
      }
      survey_.manifest = std::move(manifest).value();
      survey_.directory = survey_.manifest->directory;
      expectations_ = expectations_of(*survey_.manifest);
    }
    return std::nullopt;
  }

  /// Without a manifest: takes the directory's id from the first segment with a header.
  void guess_directory(const std::vector<std::uint64_t>& numbers) {
    std::string bytes;
    for (const std::uint64_t number : numbers) {
      if (read_whole_file(survey_.path + "/" + name_of(number), bytes) != 0) {
        continue;
      }
      if (const auto header = read_segment_header(bytes)) {
        survey_.directory = header.value().directory;
        expectations_.first_segment = numbers.front();
        expectations_.from_epoch = header.value().first_epoch;
        break;
      }
    }
  }

  int read_segment(std::uint64_t number) {
    std::string bytes;
    if (const int error = read_whole_file(survey_.path + "/" + name_of(number), bytes)) {
      return error;
    }
    SegmentScan scan = scan_segment(name_of(number), number, bytes, survey_.directory);
    RecordCounts counts;
    for (const ScannedGroup& group : scan.groups) {
      count(scan, group, counts);
    }
    scan.bytes = {};
    survey_.segments.push_back(std::move(scan));
    survey_.counts.push_back(counts);
    survey_.file_bytes.push_back(bytes.size());
    return 0;
  }

  void count(const SegmentScan& scan, const ScannedGroup& group, RecordCounts& counts) {
    GroupReader reader(scan.bytes, group);
    while (const auto entry = reader.next()) {
      counts.add(entry->record);
    }
    counts.batches += reader.batches();
    if (reader.wrong() != nullptr && wrong_.empty()) {
      wrong_ = scan.path + ": no record at byte " + std::to_string(reader.position()) + " (epoch " +
               std::to_string(group.epoch) + "), although its hash is right: " + reader.wrong();
    }
  }

  void judge() {
    survey_.verdict = judge_journal(survey_.segments, expectations_);
    survey_.damage = survey_.verdict.usable() ? wrong_ : survey_.verdict.damage;
  }

  DirectorySurvey survey_;
  JournalExpectations expectations_;
  std::string wrong_;  ///< with the first record that is invalid
};

}  // namespace

std::optional<Error> not_a_data_directory(const std::string& path) {
  std::error_code wrong;
  if (!std::filesystem::is_directory(path, wrong)) {
    return Error{path + ": " + (wrong ? wrong.message() : "is not a directory")};
  }
  const bool there = std::filesystem::is_directory(path + "/" + kJournalDirectory, wrong);
  return there ? std::nullopt
               : std::optional{
                     Error{path + (wrong && wrong != std::errc::no_such_file_or_directory
                                       ? ": " + wrong.message()
                                       : ": is not a data directory of mxkvd: it has no folder journal")}};
}

int list_segments(const std::string& directory, std::vector<std::uint64_t>& numbers) {
  std::error_code wrong;
  std::filesystem::directory_iterator entries(directory + "/" + kJournalDirectory, wrong);
  for (; !wrong && entries != std::filesystem::directory_iterator{}; entries.increment(wrong)) {
    if (const std::uint64_t number = segment_number(entries->path().filename().string())) {
      numbers.push_back(number);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return wrong.value();
}

const char* record_type_name(std::size_t type) noexcept {
  constexpr std::array<const char*, kRecordTypes> kNames{"put",         "gone",  "touch",   "range_gone",
                                                         "range_touch", "flush", "flush_at"};
  return kNames[type];
}

void RecordCounts::add(const Record& record) noexcept {
  ++by_type[record.index()];
  if (const auto* const put = std::get_if<PutRecord>(&record)) {
    value_bytes += put->apart_bytes != 0 ? put->apart_bytes : put->value.size();
  }
}

RecordCounts& RecordCounts::operator+=(const RecordCounts& other) noexcept {
  for (std::size_t type = 0; type < by_type.size(); ++type) {
    by_type[type] += other.by_type[type];
  }
  value_bytes += other.value_bytes;
  batches += other.batches;
  return *this;
}

std::uint64_t RecordCounts::all() const noexcept {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : by_type) {
    sum += count;
  }
  return sum;
}

Result<DirectorySurvey> survey_directory(const std::string& path, const std::function<void()>& between) {
  std::string before;
  for (int reading = 1; reading <= kMostReadings; ++reading) {
    Result<std::optional<DirectorySurvey>> taken = Reading(path).take();
    if (!taken) {
      return taken.error();
    }
    if (std::optional<DirectorySurvey>& survey = taken.value()) {
      if (survey->damage.empty() || survey->damage == before) {
        return *std::move(survey);
      }
      before = survey->damage;
    }
    if (between) {
      between();
    } else {
      std::this_thread::sleep_for(kBetweenReadings);
    }
  }
  return Error{path +
               ": changes faster than it can be read; try it on a backup (mxkvd checkpoint DIR --to BACKUP)"};
}

std::optional<SegmentScan> read_segment_again(const DirectorySurvey& survey, std::size_t segment,
                                              std::string& bytes) {
  MXKV_ASSERT(segment < survey.segments.size(), "a segment that is read again was read before");
  const SegmentScan& before = survey.segments[segment];
  if (read_whole_file(survey.path + "/" + before.path, bytes) != 0) {
    return std::nullopt;
  }
  SegmentScan scan = scan_segment(before.path, before.number, bytes, survey.directory);
  const bool same = scan.header_is == SegmentScan::state::good && scan.groups.size() >= before.groups.size();
  return same ? std::optional{std::move(scan)} : std::nullopt;
}

}  // namespace mxkv::server

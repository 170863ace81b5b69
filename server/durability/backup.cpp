#include "server/durability/backup.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/assert.hpp"
#include "server/durability/directory_survey.hpp"
#include "server/durability/file_copy.hpp"
#include "server/durability/record_text.hpp"
#include "server/journal/posix_disk.hpp"

namespace mxkv::server {
namespace {

using how = ToolOutcome::how;

/// Attempts before giving up, since checkpoints may remove files during each.
constexpr int kMostAttempts = 10;

ToolOutcome failure(const std::string& path, int error) {
  return {how::failed, file_complaint(path, error)};
}

/// Removes the files and folders that the copy made, unless they are kept.
class Made {
 public:
  Made() = default;
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  ~Made() {
    std::error_code unknown;
    for (auto path = paths_.rbegin(); path != paths_.rend(); ++path) {
      std::filesystem::remove(*path, unknown);
    }
  }

  void add(std::string path) { paths_.push_back(std::move(path)); }
  void keep() noexcept { paths_.clear(); }
  /// Makes a folder, with missing parents. Returns 0 or an errno value.
  int folder(const std::string& path) {
    std::error_code wrong;
    if (std::filesystem::is_directory(path, wrong)) {
      return 0;
    }
    if (!std::filesystem::create_directory(path, wrong)) {
      return wrong.value();
    }
    add(path);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, wrong);
    return 0;
  }

 private:
  std::vector<std::string> paths_;
};

/// One attempt to copy. It ends as failed, overtaken by a checkpoint, or whole.
class Copy {
 public:
  Copy(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}

  /// No outcome: a checkpoint has removed files to be copied, or damage() has text.
  std::optional<ToolOutcome> make(const LinePrinter& print) {
    for (const auto step :
         {&Copy::make_folders, &Copy::read_manifest, &Copy::link_parts, &Copy::copy_segments}) {
      if (std::optional<ToolOutcome> outcome = (this->*step)()) {
        return outcome;
      }
      if (overtaken_) {
        return std::nullopt;
      }
    }
    if (!judge()) {
      return std::nullopt;
    }
    if (std::optional<ToolOutcome> outcome = finish()) {
      return outcome;
    }
    made_.keep();
    static_cast<void>(print(told()));
    return ToolOutcome{};
  }

  /// The damage of the copied journal; empty: none.
  [[nodiscard]] const std::string& damage() const noexcept { return verdict_.damage; }

 private:
  std::optional<ToolOutcome> make_folders() {
    for (const std::string& folder : {to_, to_ + "/" + kJournalDirectory, to_ + "/" + kCheckpointDirectory}) {
      if (const int error = made_.folder(folder)) {
        return failure(folder, error);
      }
    }
    return std::nullopt;
  }

  std::optional<ToolOutcome> read_manifest() {
    const std::string path = from_ + "/" + kManifestName;
    std::string text;
    if (const int error = read_whole_file(path, text)) {
      return failure(path, error);
    }
    runtime::Result<Manifest> manifest = parse_manifest(text);
    if (!manifest) {
      return ToolOutcome{how::damaged, path + ": " + manifest.error().message};
    }
    manifest_ = std::move(manifest).value();
    return std::nullopt;
  }

  std::optional<ToolOutcome> link_parts() {
    if (!manifest_.checkpoint) {
      return std::nullopt;
    }
    const std::string folder = to_ + "/" + checkpoint_path(manifest_.checkpoint->begun);
    if (const int error = made_.folder(folder)) {
      return failure(folder, error);
    }
    for (std::uint32_t part = 0; part < manifest_.checkpoint->parts; ++part) {
      const std::string name = checkpoint_part_path(manifest_.checkpoint->begun, part);
      const int error = link_or_copy(from_ + "/" + name, to_ + "/" + name);
      if (error == ENOENT) {
        overtaken_ = true;
        verdict_.damage = file_complaint(from_ + "/" + name, error);
        return std::nullopt;
      }
      if (error != 0) {
        return failure(to_ + "/" + name, error);
      }
    }
    const int error = sync_folder(folder);
    return error != 0 ? std::optional{failure(folder, error)} : std::nullopt;
  }

  int link_or_copy(const std::string& from, const std::string& to) {
    made_.add(to);
    if (::link(from.c_str(), to.c_str()) == 0) {
      return 0;
    }
    if (errno == ENOENT) {
      return ENOENT;
    }
    // Another file system, or one without links. If the link failed for another reason, so does the copy.
    return copy_whole_file(from, to);
  }

  /// Copies segments from the newest back to the one in which the checkpoint was begun.
  std::optional<ToolOutcome> copy_segments() {
    std::vector<std::uint64_t> numbers;
    if (const int error = list_segments(from_, numbers)) {
      return failure(from_ + "/" + kJournalDirectory, error);
    }
    const std::uint64_t begun = manifest_.checkpoint ? manifest_.checkpoint->begun : 1;
    for (auto number = numbers.rbegin(); number != numbers.rend() && *number >= manifest_.first_segment;
         ++number) {
      if (std::optional<ToolOutcome> outcome = copy_segment(*number); outcome || overtaken_) {
        return outcome;
      }
      const SegmentScan& scan = scans_.back();
      if (scan.header_is == SegmentScan::state::good && scan.header.first_epoch <= begun) {
        break;
      }
    }
    std::reverse(scans_.begin(), scans_.end());
    return std::nullopt;
  }

  /// Copies the whole groups of a segment. Behind them is nothing, or a group that is being written.
  std::optional<ToolOutcome> copy_segment(std::uint64_t number) {
    const std::string name = std::string{kJournalDirectory} + "/" + segment_name(number);
    std::string bytes;
    const int error = read_whole_file(from_ + "/" + name, bytes);
    if (error == ENOENT) {
      overtaken_ = true;
      return std::nullopt;
    }
    if (error != 0) {
      return failure(from_ + "/" + name, error);
    }
    SegmentScan scan = scan_segment(name, number, bytes, manifest_.directory);
    made_.add(to_ + "/" + name);
    if (const int wrong = write_whole_file(to_ + "/" + name, std::string_view{bytes}.substr(0, scan.end))) {
      return failure(to_ + "/" + name, wrong);
    }
    scan.bytes = {};
    scans_.push_back(std::move(scan));
    return std::nullopt;
  }

  bool judge() {
    if (!scans_.empty()) {
      manifest_.first_segment = scans_.front().number;
    }
    MXKV_ASSERT(std::ranges::is_sorted(scans_, {}, &SegmentScan::number),
                "segments are judged in their order");
    verdict_ = judge_journal(scans_, expectations_of(manifest_));
    const auto last = std::find_if(scans_.rbegin(), scans_.rend(), [](const SegmentScan& scan) {
      return scan.header_is == SegmentScan::state::good;
    });
    if (verdict_.usable() && last != scans_.rend()) {
      manifest_.end = {.segment = last->number, .epoch = verdict_.last_epoch};
    }
    return verdict_.usable();
  }

  /// Writes the manifest last: the copy is no data directory before.
  std::optional<ToolOutcome> finish() {
    MXKV_ASSERT(verdict_.usable(), "a start can use what becomes a backup");
    for (const char* const folder : {kJournalDirectory, kCheckpointDirectory}) {
      if (const int error = sync_folder(to_ + "/" + folder)) {
        return failure(to_ + "/" + folder, error);
      }
    }
    auto disk = PosixDisk::open_directory(to_);
    if (!disk) {
      return ToolOutcome{how::failed, disk.error().message};
    }
    made_.add(to_ + "/" + kManifestName);
    if (std::optional<runtime::Error> error = write_manifest(*disk.value(), manifest_)) {
      return ToolOutcome{how::failed, std::move(error->message)};
    }
    const std::filesystem::path above = std::filesystem::absolute(to_).lexically_normal() / "..";
    const int error = sync_folder(above.string());
    return error != 0 ? std::optional{failure(to_, error)} : std::nullopt;
  }

  /// "BACKUP: checkpoint of epoch 812 with 1000 items; journal up to epoch 5123 of 2026-11-22 13:51:07.221 UTC"
  [[nodiscard]] std::string told() const {
    std::string text = to_ + ": ";
    if (manifest_.checkpoint) {
      text += "checkpoint of epoch " + std::to_string(manifest_.checkpoint->begun) + " with " +
              std::to_string(manifest_.checkpoint->items) + " items; ";
    }
    text += "journal up to epoch " + std::to_string(verdict_.last_epoch);
    return text + (verdict_.newest_unix_us != 0 ? " of " + utc_text(verdict_.newest_unix_us) + "\n" : "\n");
  }

  std::string from_;
  std::string to_;
  Made made_;
  Manifest manifest_;
  std::vector<SegmentScan> scans_;
  JournalVerdict verdict_;
  bool overtaken_ = false;
};

/// Why `to` cannot take the copy.
std::optional<ToolOutcome> refuses(const std::string& directory, const std::string& to) {
  std::error_code wrong;
  if (std::filesystem::exists(to, wrong)) {
    if (!std::filesystem::is_directory(to, wrong)) {
      return ToolOutcome{how::refused, to + ": is not a directory"};
    }
    if (!std::filesystem::is_empty(to, wrong)) {
      return ToolOutcome{how::refused, to + ": " + (wrong ? wrong.message() : "is not empty")};
    }
  }
  const std::filesystem::path inside = std::filesystem::weakly_canonical(to, wrong).lexically_relative(
      std::filesystem::weakly_canonical(directory, wrong));
  if (!inside.empty() && *inside.begin() != "..") {
    return ToolOutcome{how::refused, to + ": is inside " + directory};
  }
  return std::nullopt;
}

}  // namespace

ToolOutcome back_up(const std::string& directory, const std::string& to, const LinePrinter& print) {
  if (std::optional<runtime::Error> error = not_a_data_directory(directory)) {
    return {how::refused, std::move(error->message)};
  }
  if (std::optional<ToolOutcome> outcome = refuses(directory, to)) {
    return *std::move(outcome);
  }
  std::string before;
  for (int attempt = 1; attempt <= kMostAttempts; ++attempt) {
    Copy copy(directory, to);
    if (std::optional<ToolOutcome> outcome = copy.make(print)) {
      return *std::move(outcome);
    }
    if (!copy.damage().empty() && copy.damage() == before) {
      return {how::damaged, before};
    }
    before = copy.damage();
  }
  return {how::failed, directory + ": checkpoints remove its files faster than they are copied to " + to};
}

}  // namespace mxkv::server

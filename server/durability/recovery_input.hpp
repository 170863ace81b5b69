// The input of recovery: the journal's segments with the verdict on them, and the parts of the checkpoint.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/durability/manifest.hpp"
#include "server/durability/part_reader.hpp"
#include "server/durability/record_dealer.hpp"
#include "server/journal/disk.hpp"
#include "server/journal/journal_verdict.hpp"

namespace mxkv::server {

/// Used by one recovery. The bytes of all files stay mapped as long as this lives.
class RecoveryInput {
 public:
  RecoveryInput(Disk& disk, const Manifest& manifest) noexcept : disk_(disk), manifest_(manifest) {}

  // Call these in this order. They return empty, or one line that says why the start fails. They call `tick`
  // on this thread while other threads work.

  /// Maps all segments and reads them once.
  [[nodiscard]] std::string scan_journal(std::size_t threads, const std::function<void()>& tick);
  /// Decides whether the journal may be used, and up to where.
  [[nodiscard]] std::string judge(bool recover_prefix);
  [[nodiscard]] std::string open_parts();
  /// Deals the records from the checkpoint's epoch on; one dealer a thread.
  [[nodiscard]] std::string deal_records(std::size_t threads, const std::function<void()>& tick);

  [[nodiscard]] const std::vector<SegmentScan>& scans() const noexcept { return scans_; }
  [[nodiscard]] const JournalVerdict& verdict() const noexcept { return verdict_; }
  [[nodiscard]] const std::vector<Part>& parts() const noexcept { return parts_; }
  [[nodiscard]] const KeyRanges& ranges() const noexcept { return *ranges_; }
  [[nodiscard]] std::vector<RecordDealer>& dealers() noexcept { return dealers_; }
  /// Bytes of the checkpoint's files and of the segments.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// Bytes of them read so far. Any thread.
  [[nodiscard]] std::uint64_t bytes_read() const noexcept {
    return bytes_read_.load(std::memory_order_relaxed);
  }

 private:
  using FoundSegment = std::pair<std::string, std::uint64_t>;  ///< path and number

  struct Group {
    const SegmentScan* segment;
    const ScannedGroup* group;
  };
  [[nodiscard]] std::uint64_t from_epoch() const noexcept {
    return manifest_.checkpoint ? manifest_.checkpoint->begun : 1;
  }
  [[nodiscard]] std::string open_segments(std::vector<FoundSegment>& found);
  [[nodiscard]] std::vector<Group> groups() const;
  void cut_ranges(const std::vector<Group>& groups);

  Disk& disk_;
  const Manifest& manifest_;
  std::vector<std::unique_ptr<DiskBytes>> segments_;
  std::vector<SegmentScan> scans_;
  JournalVerdict verdict_;
  std::vector<Part> parts_;
  std::unique_ptr<KeyRanges> ranges_;
  std::vector<RecordDealer> dealers_;
  std::uint64_t bytes_ = 0;
  std::atomic<std::uint64_t> bytes_read_{0};  // relaxed: a figure
};

}  // namespace mxkv::server

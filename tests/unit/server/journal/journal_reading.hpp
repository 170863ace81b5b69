// Reads journals of tests as recovery does, and shows their contents.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/journal/group_reader.hpp"
#include "server/journal/journal_verdict.hpp"
#include "tests/unit/server/journal/journal_builder.hpp"

namespace mxkv::server::test {

/// Number and bytes of a segment's file.
using SegmentFile = std::pair<std::uint64_t, std::string>;

inline std::vector<SegmentScan> scan_all(const std::vector<SegmentFile>& files) {
  std::vector<SegmentScan> scans;
  scans.reserve(files.size());
  for (const auto& [number, bytes] : files) {
    scans.push_back(scan_segment("journal/" + segment_name(number), number, bytes, test_directory()));
  }
  return scans;
}

inline JournalVerdict judge_files(const std::vector<SegmentFile>& files,
                                  const JournalExpectations& expectations = {}) {
  const std::vector<SegmentScan> scans = scan_all(files);
  return judge_journal(scans, expectations);
}

/// All records of a group with their values, as text.
inline std::string shown_group(std::string_view file, const ScannedGroup& group) {
  GroupReader reader(file, group);
  std::string text = std::to_string(group.epoch) + ":";
  while (const auto entry = reader.next()) {
    std::visit(
        [&text](const auto& record) {
          std::string bytes(encoded_bytes(record), '\0');
          write_record(bytes.data(), record);
          text += " [" + bytes;
        },
        entry->record);
    for (const std::string_view piece : entry->apart) {
      text.append("|").append(piece);
    }
    text += "]";
  }
  return reader.wrong() == nullptr ? text : text + reader.wrong();
}

}  // namespace mxkv::server::test

// The contents of a journal's segments, up to the last whole group: read as plainly as the format allows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/journal/block.hpp"
#include "server/journal/disk.hpp"
#include "server/journal/segment_header.hpp"

namespace mxkv::server::test {

struct ReadPut {
  std::string key;
  std::string value;
  std::uint64_t order = 0;
  std::uint16_t worker = 0;
};

struct ReadGroup {
  std::uint64_t segment = 0;
  std::uint64_t epoch = 0;
  CommitMark commit;
  std::vector<ReadPut> puts;

  [[nodiscard]] std::vector<std::string> keys() const;
};

struct ReadSegment {
  SegmentHeader header;
  std::uint64_t bytes = 0;
  std::vector<ReadGroup> groups;
  std::uint64_t last_chain = 0;
};

/// The segments of a folder, by number, each up to its first block that is not right.
[[nodiscard]] std::vector<ReadSegment> read_segments(Disk& disk, const std::string& folder = "journal");
/// All groups. EXPECTs that segments link up, and that epochs follow each other except for recorded gaps.
[[nodiscard]] std::vector<ReadGroup> read_groups(Disk& disk, const std::string& folder = "journal");

}  // namespace mxkv::server::test

// The journal's reader takes any bytes: as records, as a group's blocks, as a segment, and as changes to a journal
// that was whole.
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "server/journal/checkpoint_header.hpp"
#include "tests/fuzz/inputs.hpp"
#include "tests/unit/server/journal/journal_reading.hpp"

namespace mxkv::fuzz {
namespace {

using namespace server;
using server::test::BuiltBlock;
using server::test::header_of;
using server::test::SegmentBuilder;
using server::test::SegmentFile;

/// Bytes that end where their memory does, so that a sanitizer sees reads behind them.
class Exact {
 public:
  explicit Exact(std::string_view bytes)
      : bytes_(std::make_unique<char[]>(bytes.size())), length_(bytes.size()) {
    bytes.copy(bytes_.get(), length_);
  }
  [[nodiscard]] std::string_view view() const { return {bytes_.get(), length_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t length_;
};

/// Records that are read are the same after they were written and read again.
std::string check_records(std::string_view input) {
  const Exact payload(input);
  BatchMarks marks;
  RecordReader reader(payload.view(), &marks);
  std::size_t before = 0;
  while (const auto record = reader.next()) {
    if (reader.position() <= before || reader.position() > input.size()) {
      return "a record takes no bytes, or more than there are";
    }
    before = reader.position();
    const std::string written = test::payload_of({*record});
    RecordReader again(written);
    if (again.next() != record || again.position() != written.size()) {
      return "a record is another one after it was written and read again";
    }
  }
  return reader.wrong() == nullptr && reader.position() != input.size() ? "the reader stopped in between"
                                                                        : "";
}

/// Reads all of a journal; nothing that is kept may be larger than the journal.
std::string check_files(const std::vector<SegmentFile>& files) {
  std::vector<SegmentScan> scans;
  std::vector<Exact> kept;
  kept.reserve(files.size());
  for (const auto& [number, bytes] : files) {
    const Exact& exact = kept.emplace_back(bytes);
    scans.push_back(
        scan_segment("journal/" + segment_name(number), number, exact.view(), test::test_directory()));
    if (scans.back().groups.size() > bytes.size() / kPageBytes ||
        scans.back().end > bytes.size() + kPageBytes) {
      return "more groups are read than there is room for";
    }
  }
  for (const bool prefix : {false, true}) {
    const JournalVerdict verdict = judge_journal(scans, {.recover_prefix = prefix});
    for (const JournalVerdict::Part& part : verdict.parts) {
      const SegmentScan& scan = scans.at(part.segment);
      for (std::size_t i = 0; i < part.groups; ++i) {
        GroupReader reader(scan.bytes, scan.groups.at(i));
        while (const auto entry = reader.next()) {
          if (entry->apart.size() > scan.bytes.size() / kBlockHeaderBytes) {
            return "a value has more pieces than there are blocks";
          }
        }
      }
    }
  }
  return {};
}

/// The input as the payload of blocks of a group that is whole.
std::string check_group(std::string_view input) {
  SegmentBuilder builder(header_of(1, 1));
  const std::size_t half = input.size() / 2;
  builder.add_payloads({{block_kind::records, input.substr(0, half), static_cast<std::uint32_t>(half % 7)},
                        {half % 2 == 0 ? block_kind::value : block_kind::records, input.substr(half), 1}});
  return check_files({{1, builder.bytes()}});
}

/// The input as the beginning of a file and of its first group.
std::string check_segment(std::string_view input) {
  std::string bytes(input);
  (void)read_checkpoint_header(Exact(bytes).view());
  CheckpointFooter footer;
  (void)read_footer(Exact(bytes).view(), footer);
  const std::string segment = SegmentBuilder(header_of(1, 1)).bytes();
  return check_files({{1, bytes}, {2, segment + bytes}});
}

/// The input as changes to two segments: places, and new bytes.
std::string check_changes(std::string_view input) {
  SegmentBuilder first(header_of(1, 1));
  first.add({{{PutRecord{.order = 1, .key = "key", .value = "value"}, GoneRecord{2, "gone"}}}}, 0);
  first.add({{{PutRecord{.order = 3, .key = "apart", .apart_bytes = 4}}, {"part"}}}, 1);
  SegmentBuilder second(header_of(2, 3, first.chain()));
  second.add({}, 2);
  second.add({{{FlushRecord{4}}}}, 3);
  std::vector<SegmentFile> files{{1, first.bytes()}, {2, second.bytes()}};
  for (; input.size() >= 4; input.remove_prefix(4)) {
    std::string& bytes = files[static_cast<std::uint8_t>(input[0]) % 2].second;
    const std::size_t page = static_cast<std::uint8_t>(input[0]) / 2;
    const std::size_t at = page * kPageBytes + static_cast<std::uint8_t>(input[1]) +
                           static_cast<std::size_t>(static_cast<std::uint8_t>(input[2]) % 16) * 256;
    if (at < bytes.size()) {
      bytes[at] = static_cast<char>(bytes[at] ^ input[3]);
    } else {
      bytes.resize(bytes.size() - bytes.size() / 8);
    }
    // A header that is whole after all.
    if (page == 0 && static_cast<std::uint8_t>(input[2]) >= 128 && bytes.size() >= kPageBytes) {
      seal_page(bytes.data());
    }
  }
  return check_files(files);
}

}  // namespace

std::string check_journal_input(std::string_view input) {
  if (input.empty()) {
    return {};
  }
  const std::string_view rest = input.substr(1);
  switch (static_cast<std::uint8_t>(input[0]) % 4) {
    case 0:
      return check_records(rest);
    case 1:
      return check_group(rest);
    case 2:
      return check_segment(rest);
    default:
      return check_changes(rest);
  }
}

}  // namespace mxkv::fuzz

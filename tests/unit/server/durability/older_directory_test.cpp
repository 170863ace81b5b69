// A directory that the version before batches and lineages left is recovered, and goes on in the new format.
//
// tests/data/directory_format_1 was written by that version: MANIFEST of format 2, two segments of format 1, cut behind
// their last group. Its first process was killed, its second ended in order.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/unit/server/durability/kept_disk.hpp"
#include "tests/unit/server/durability/recorded_store.hpp"
#include "tests/unit/server/journal/read_back.hpp"

namespace mxkv::server::testing {
namespace {

constexpr std::uint64_t kWrittenUs = 1'795'957'900'000'000;
constexpr std::uint64_t kLastEpoch = 9;

std::unique_ptr<KeptDisk> older_directory() {
  auto disk = std::make_unique<KeptDisk>();
  for (const std::string name :
       {"MANIFEST", "journal/0000000000000001.mxj", "journal/0000000000000002.mxj"}) {
    std::ifstream file(std::string{MXKV_GOLDEN "/../directory_format_1/"} + name, std::ios::binary);
    disk->put(name, {std::istreambuf_iterator<char>(file), {}});
  }
  return disk;
}

TEST(OlderDirectory, IsRecoveredAndGoesOnInTheNewFormat) {
  const std::unique_ptr<KeptDisk> disk = older_directory();
  {
    RecordedStore first{*disk, kWrittenUs};
    EXPECT_EQ(first.recovered.epoch, kLastEpoch);
    EXPECT_EQ(first.recovered.records, 8U);
    const ItemsSeen items = first.store.items();
    ASSERT_EQ(items.size(), 5U);
    EXPECT_EQ(items.at("one").value, "first");
    EXPECT_EQ(items.at("one").flags, 5U);
    EXPECT_EQ(items.at("two").value, "second");
    EXPECT_EQ(items.at("three").order, 1'795'957'886'100'000U);
    EXPECT_EQ(items.at("four").value, "fourth!");
    EXPECT_EQ(items.at("large").value, std::string(9000, 'v'));
    EXPECT_EQ(first.manifest->get().lineage.entries().size(), 1U) << "of this process";
    EXPECT_EQ(first.manifest->get().lineage.entries().front().first, kLastEpoch + 1);
    EXPECT_EQ(first.store.ask("mb 2\r\nms five 1\r\n5\r\nmd two\r\n"), "HD\r\nHD\r\nHD\r\n");
  }
  const auto segments = test::read_segments(*disk, kJournalDirectory);
  ASSERT_EQ(segments.size(), 3U);
  EXPECT_EQ(segments[0].header.format, 1U);
  EXPECT_EQ(segments[2].header.format, kFormatVersion);
  RecordedStore second{*disk, kWrittenUs + 1'000'000};
  const ItemsSeen items = second.store.items();
  EXPECT_EQ(items.size(), 5U);
  EXPECT_EQ(items.at("five").value, "5");
  EXPECT_EQ(second.manifest->get().lineage.entries().size(), 2U);
}

}  // namespace
}  // namespace mxkv::server::testing

// The manifest: a written one reads back the same, and no other bytes pass for a manifest.
#include "server/durability/manifest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "server/journal/hash.hpp"
#include "server/journal/posix_disk.hpp"

namespace mxkv::server::testing {
namespace {

using ::testing::HasSubstr;

Manifest some_manifest() {
  Manifest manifest;
  for (std::size_t i = 0; i < manifest.directory.size(); ++i) {
    manifest.directory[i] = static_cast<std::uint8_t>(i * 17);
  }
  manifest.incarnation = 3;
  manifest.clean = true;
  manifest.written_us = 1'700'000'000'000'001;
  manifest.ceiling = 1'700'000'010'000'001;
  manifest.first_segment = 17;
  manifest.end = {.segment = 19, .epoch = 840};
  manifest.lineage.begin(0x9c41e07a55d2b813, 1);
  manifest.lineage.begin(0x0123456789abcdef, 700);
  manifest.checkpoint = CheckpointEntry{.begun = 812,
                                        .needs = 830,
                                        .parts = 4,
                                        .items = 10'000'000,
                                        .bytes = 1'400'000'000,
                                        .made_us = 1'700'000'000'000'000,
                                        .flushes = {.next = 5, .before = 4}};
  manifest.counters = {{"total_items", 12}, {"evictions", 0}};
  return manifest;
}

/// A line changed, with the hash that goes with it.
std::string with_line(const std::string& line, const std::string& by) {
  std::string text = manifest_text(some_manifest());
  text.replace(text.find(line), line.size(), by);
  text.erase(text.rfind("hash "));
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(hash_of(text, 0)));
  return text + "hash " + hash + "\n";
}

TEST(ManifestText, ReadsAsItWasWritten) {
  const Manifest manifest = some_manifest();
  const auto read = parse_manifest(manifest_text(manifest));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value(), manifest);
  Manifest bare = manifest;
  bare.checkpoint.reset();
  bare.counters.clear();
  EXPECT_EQ(parse_manifest(manifest_text(bare)).value(), bare);
}

TEST(ManifestText, HasTheEndThatTheJournalMustReach) {
  const JournalExpectations expected = expectations_of(some_manifest());
  EXPECT_EQ(expected.first_segment, 17U);
  EXPECT_EQ(expected.from_epoch, 812U);
  EXPECT_EQ(expected.needs_epoch, 830U);
  EXPECT_EQ(expected.end, (JournalEnd{.segment = 19, .epoch = 840}));
}

TEST(ManifestText, NoByteMayBeMissingOrChanged) {
  const std::string text = manifest_text(some_manifest());
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(parse_manifest(std::string_view{text}.substr(0, i)).ok()) << i;
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(parse_manifest(changed).ok()) << i;
  }
  EXPECT_FALSE(parse_manifest(text + "x").ok());
}

TEST(ManifestText, ErrorsNameTheLineAndTheFault) {
  const auto error = [](const std::string& text) { return parse_manifest(text).error().message; };
  EXPECT_THAT(error(""), HasSubstr("line 1: this is not a manifest"));
  EXPECT_THAT(error(with_line("incarnation 3", "incarnation x")), HasSubstr("line 5: `x`"));
  EXPECT_THAT(error(with_line("clean yes", "clean maybe")), HasSubstr("line 6: `clean` is yes or no"));
  EXPECT_THAT(error(with_line("written_us ", "wrote_us ")),
              HasSubstr("line 7: `written_us ...` was expected"));
  EXPECT_THAT(error(with_line("oldest_reader 3", "oldest_reader 9")), HasSubstr("newer mxkvd"));
  EXPECT_THAT(error(with_line("counter.evictions 0", "counter. 0")), HasSubstr("a counter has"));
  EXPECT_THAT(error(with_line("lineage.0123456789abcdef 700", "lineage.0123456789abcde 700")),
              HasSubstr("line 13: a lineage has a tag"));
  EXPECT_THAT(error(with_line("lineage.0123456789abcdef 700", "lineage.0123456789abcdef 0")),
              HasSubstr("line 13: a lineage has a tag"));
  EXPECT_THAT(error(with_line("lineage.0123456789abcdef 700", "lineage.9c41e07a55d2b813 700")),
              HasSubstr("line 13: a lineage has up to 64 tags"));
  EXPECT_THAT(error(with_line("lineage.9c41e07a55d2b813 1", "lineage.9c41e07a55d2b813 701")),
              HasSubstr("line 13: a lineage has up to 64 tags"));
  EXPECT_THAT(error(manifest_text(some_manifest()).substr(0, 60)), HasSubstr("the file ends here"));
}

TEST(ManifestFile, IsReplacedAndTheOneBeforeIsKept) {
  const std::string path = ::testing::TempDir() + "manifest_test" + std::to_string(::getpid());
  std::filesystem::remove_all(path);
  auto disk = PosixDisk::open_directory(path);
  ASSERT_TRUE(disk.ok()) << disk.error().message;
  EXPECT_FALSE(read_manifest(*disk.value()).value().has_value());
  Manifest manifest = some_manifest();
  for (std::uint32_t incarnation = 1; incarnation < 4; ++incarnation) {
    manifest.incarnation = incarnation;
    EXPECT_EQ(write_manifest(*disk.value(), manifest), std::nullopt);
    EXPECT_EQ(read_manifest(*disk.value()).value(), manifest);
  }
  std::unique_ptr<DiskBytes> old;
  ASSERT_EQ(disk.value()->read(kOldManifestName, old), 0);
  EXPECT_EQ(parse_manifest(old->bytes()).value().incarnation, 2U);
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace mxkv::server::testing

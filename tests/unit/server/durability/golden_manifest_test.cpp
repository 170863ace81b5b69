// Manifests as they were first written: this code writes the manifest of format 2 byte for byte, and also
// reads the manifest of format 1. They are in tests/data/journal_format_1, beside the segments, and in
// tests/data/journal_format_2; MXKV_WRITE_GOLDEN=1 in the environment writes the latter.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "server/durability/manifest.hpp"

namespace mxkv::server::test {
namespace {

const std::string kFormat1 = MXKV_GOLDEN "/MANIFEST";
const std::string kFormat2 = MXKV_GOLDEN "/../journal_format_2/MANIFEST";

Manifest golden_manifest(const JournalEnd& end) {
  Manifest manifest;
  manifest.directory.fill(0x5A);
  manifest.incarnation = 2;
  manifest.clean = true;
  manifest.written_us = 1'763'000'000'000'000;
  manifest.ceiling = 1'763'000'010'000'000;
  manifest.first_segment = 0x11;
  manifest.end = end;
  manifest.checkpoint =
      CheckpointEntry{.begun = 3, .needs = 4, .made_us = 1'763'000'000'000'000, .flushes = {}};
  manifest.counters = {{"total_items", 12}};
  return manifest;
}

const JournalEnd kGoldenEnd{.segment = 0x12, .epoch = 5};

std::string read_golden(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(GoldenManifest, IsWrittenByteForByte) {
  const std::string text = manifest_text(golden_manifest(kGoldenEnd));
  if (std::getenv("MXKV_WRITE_GOLDEN") != nullptr) {
    std::ofstream(kFormat2, std::ios::binary) << text;
  }
  EXPECT_EQ(read_golden(kFormat2), text);
}

TEST(GoldenManifest, IsReadAsItsContents) {
  const auto manifest = parse_manifest(read_golden(kFormat2));
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest.value(), golden_manifest(kGoldenEnd));
}

TEST(GoldenManifest, OfTheFormatBeforeHasNoEndOfTheJournal) {
  const auto manifest = parse_manifest(read_golden(kFormat1));
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest.value(), golden_manifest({}));
}

}  // namespace
}  // namespace mxkv::server::test

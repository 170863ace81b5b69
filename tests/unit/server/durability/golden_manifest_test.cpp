// Manifests as they were first written: this code writes the manifest of format 3 byte for byte, and also
// reads manifests of formats 1 and 2. They are in tests/data/journal_format_1, beside the segments, and in the folders
// journal_format_2 and manifest_format_3; MXKV_WRITE_GOLDEN=1 in the environment writes the latter.
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
const std::string kFormat3 = MXKV_GOLDEN "/../manifest_format_3/MANIFEST";

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

Manifest with_lineage() {
  Manifest manifest = golden_manifest(kGoldenEnd);
  manifest.lineage.begin(0x9c41e07a55d2b813, 1);
  manifest.lineage.begin(0x0123456789abcdef, 3);
  return manifest;
}

std::string read_golden(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(GoldenManifest, IsWrittenByteForByte) {
  const std::string text = manifest_text(with_lineage());
  if (std::getenv("MXKV_WRITE_GOLDEN") != nullptr) {
    std::ofstream(kFormat3, std::ios::binary) << text;
  }
  EXPECT_EQ(read_golden(kFormat3), text);
}

TEST(GoldenManifest, IsReadAsItsContents) {
  const auto manifest = parse_manifest(read_golden(kFormat3));
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest.value(), with_lineage());
}

TEST(GoldenManifest, OfFormat2HasNoLineage) {
  const auto manifest = parse_manifest(read_golden(kFormat2));
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest.value(), golden_manifest(kGoldenEnd));
}

TEST(GoldenManifest, OfFormat1HasNoEndOfTheJournal) {
  const auto manifest = parse_manifest(read_golden(kFormat1));
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest.value(), golden_manifest({}));
}

}  // namespace
}  // namespace mxkv::server::test

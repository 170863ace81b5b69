// A manifest of format 1, as it was written first: this code writes it byte for byte, and reads it. It is in
// tests/data/journal_format_1, beside the segments; MXKV_WRITE_GOLDEN=1 in the environment writes it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "server/durability/manifest.hpp"

namespace mxkv::server::test {
namespace {

const std::string kPath = MXKV_GOLDEN "/MANIFEST";

Manifest golden_manifest() {
  Manifest manifest;
  manifest.directory.fill(0x5A);
  manifest.incarnation = 2;
  manifest.clean = true;
  manifest.written_us = 1'763'000'000'000'000;
  manifest.ceiling = 1'763'000'010'000'000;
  manifest.first_segment = 0x11;
  manifest.checkpoint =
      CheckpointEntry{.begun = 3, .needs = 4, .made_us = 1'763'000'000'000'000, .flushes = {}};
  manifest.counters = {{"total_items", 12}};
  return manifest;
}

std::string read_golden() {
  std::ifstream file(kPath, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(GoldenManifest, IsWrittenByteForByte) {
  if (std::getenv("MXKV_WRITE_GOLDEN") != nullptr) {
    std::ofstream(kPath, std::ios::binary) << manifest_text(golden_manifest());
  }
  EXPECT_EQ(read_golden(), manifest_text(golden_manifest()));
}

TEST(GoldenManifest, IsReadAsWhatItSays) {
  const auto manifest = parse_manifest(read_golden());
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest.value(), golden_manifest());
}

}  // namespace
}  // namespace mxkv::server::test

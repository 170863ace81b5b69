// A data directory for tests of tools: segments and a manifest in a folder of its own, which goes at the end.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>

#include "server/durability/journal_tool.hpp"
#include "server/durability/manifest.hpp"
#include "tests/unit/server/journal/journal_builder.hpp"

namespace mxkv::server::test {

/// A tool's output and its exit.
struct Told {
  std::string text;
  ToolOutcome outcome;
};

inline Told told_by(const std::function<ToolOutcome(const LinePrinter&)>& tool) {
  Told told;
  told.outcome = tool([&told](std::string_view line) {
    told.text += line;
    return true;
  });
  return told;
}

class TestDirectory {
 public:
  TestDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "mxkv-data-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    above_ = pattern;
    std::filesystem::create_directories(path() + "/journal");
  }
  ~TestDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(above_, ignored);
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;

  [[nodiscard]] std::string path() const { return above_ + "/data"; }
  /// A directory that does not exist, beside it.
  [[nodiscard]] std::string beside() const { return above_ + "/backup"; }
  [[nodiscard]] static std::string segment(std::uint64_t number) { return "journal/" + segment_name(number); }

  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path() + "/" + name, std::ios::binary) << bytes;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(path() + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write_manifest(const Manifest& manifest) const { write(kManifestName, manifest_text(manifest)); }

  /// Names and bytes of all files, to see that nothing changed.
  [[nodiscard]] std::string everything() const { return everything_in(path()); }
  [[nodiscard]] static std::string everything_in(const std::string& path) {
    std::string all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      all += entry.path().string() + "\n";
      if (!entry.is_regular_file()) {
        continue;
      }
      std::ifstream file(entry.path(), std::ios::binary);
      all += std::string{std::istreambuf_iterator<char>(file), {}};
    }
    return all;
  }

 private:
  std::string above_;
};

/// Three epochs in two segments: puts of a and of a value apart, a gone, a flush; room behind the last.
struct SmallJournal {
  SmallJournal() {
    first.add({{{PutRecord{.order = 1, .key = "a", .value = "one"}}}}, 0);
    first.add({{{GoneRecord{2, "a"}, PutRecord{.order = 3, .key = "b", .apart_bytes = 9000}},
                {std::string(9000, 'v')}}},
              1);
    SegmentHeader next = header_of(2, first.next_epoch(), first.chain());
    second = SegmentBuilder(next);
    last_group = second.add({{{FlushRecord{4}}}}, 2);
  }
  void write_to(const TestDirectory& directory) const {
    directory.write(TestDirectory::segment(1), first.bytes());
    directory.write(TestDirectory::segment(2), second.bytes() + std::string(2 * kPageBytes, '\0'));
  }

  SegmentBuilder first{header_of(1, 1)};
  SegmentBuilder second{header_of(2, 1)};
  std::uint64_t last_group = 0;  ///< where it begins in the second segment
};

inline Manifest small_manifest() {
  Manifest manifest;
  manifest.directory = test_directory();
  manifest.incarnation = 1;
  manifest.first_segment = 1;
  return manifest;
}

}  // namespace mxkv::server::test

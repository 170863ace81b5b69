// Parts of a checkpoint: written items are read again, from any key to any other; changed bytes are reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "runtime/base/random.hpp"
#include "server/durability/apart_blocks.hpp"
#include "server/durability/part_reader.hpp"
#include "server/durability/part_writer.hpp"
#include "server/journal/posix_disk.hpp"

namespace mxkv::server::testing {
namespace {

constexpr std::uint64_t kBegun = 17;

class CheckpointPart : public ::testing::TestWithParam<bool> {
 protected:
  using Values = std::map<std::string, std::string>;

  void SetUp() override {
    std::filesystem::remove_all(path_);
    auto opened = PosixDisk::open_directory(path_);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    disk_ = std::move(opened).value();
    directory_.fill(7);
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

  /// Blocks of a few puts each; values of more than 300 bytes are apart.
  void write(std::uint32_t number, const Values& values) {
    PartWriter writer;
    ASSERT_EQ(writer.begin(*disk_, name(number),
                           {.directory = directory_,
                            .begun = kBegun,
                            .part = number,
                            .parts = 2,
                            .compressed = GetParam(),
                            .has_no_end = true,
                            .from = {},
                            .to = {}}),
              0);
    std::string block;
    std::uint32_t records = 0;
    std::string first;
    for (auto at = values.begin(); at != values.end(); ++at) {
      const bool apart = at->second.size() > 300;
      PutRecord put{.order = 5, .key = at->first, .flags = 3};
      put.value = apart ? std::string_view{} : at->second;
      put.apart_bytes = apart ? at->second.size() : 0;
      const std::size_t before = block.size();
      block.resize(before + encoded_bytes(put));
      write_record(block.data() + before, put);
      first = records++ == 0 ? at->first : first;
      if (apart || records == 7 || std::next(at) == values.end()) {
        ASSERT_EQ(writer.add(block, records, first, at->first), 0);
        block.clear();
        records = 0;
      }
      if (apart) {
        const std::string_view value = at->second;
        const std::string_view pieces[] = {value.substr(0, 100), value.substr(100)};
        ASSERT_EQ(writer.add_value(pieces), 0);
      }
    }
    ASSERT_EQ(writer.end(), 0);
    EXPECT_EQ(writer.items(), values.size());
    EXPECT_EQ(writer.bytes(), std::filesystem::file_size(path_ + "/" + name(number)));
  }
  runtime::Result<Part> open(std::uint32_t number) {
    return Part::open(*disk_, name(number), directory_, kBegun, number);
  }
  static std::string name(std::uint32_t number) { return "part-" + std::to_string(number) + ".mxc"; }

  static Values read(std::span<const Part> parts, std::string_view from, std::string_view to) {
    Values values;
    PartItems items{parts, from, to};
    for (; items.at() != nullptr; items.next()) {
      const PutRecord& put = items.at()->put;
      EXPECT_EQ(put.flags, 3U);
      std::string value{put.value};
      ApartBlocks apart{items.at()->apart, put.apart_bytes};
      for (std::string_view piece; !(piece = apart.next()).empty();) {
        value += piece;
      }
      values.emplace(put.key, value);
    }
    EXPECT_EQ(items.error(), "");
    return values;
  }

  static Values some_values(std::uint64_t seed, std::size_t count, const std::string& prefix) {
    runtime::Random random{seed};
    Values values;
    while (values.size() < count) {
      const std::size_t bytes = random.below(10) == 0 ? 301 + random.below(60'000) : random.below(300);
      values.emplace(prefix + std::to_string(random.below(5000)),
                     std::string(bytes, static_cast<char>('a' + random.below(26))));
    }
    return values;
  }

  std::string path_ = ::testing::TempDir() + "checkpoint_part_test" + std::to_string(::getpid());
  std::unique_ptr<PosixDisk> disk_;
  DirectoryId directory_{};
};

TEST_P(CheckpointPart, IsReadFromAnyKeyToAnyOther) {
  const Values first = some_values(1, 300, "k");
  const Values second = some_values(2, 300, "l");
  write(0, first);
  write(1, second);
  std::vector<Part> parts;
  for (const std::uint32_t number : {0U, 1U}) {
    auto part = open(number);
    ASSERT_TRUE(part.ok()) << part.error().message;
    parts.push_back(std::move(part).value());
    EXPECT_EQ(verify_part(parts.back()).value(), 300U);
  }
  Values all = first;
  all.insert(second.begin(), second.end());
  EXPECT_EQ(read(parts, {}, {}), all);
  runtime::Random random{3};
  for (int i = 0; i < 200; ++i) {
    std::string from = (random.below(2) == 0 ? "k" : "l") + std::to_string(random.below(6000));
    std::string to = (random.below(2) == 0 ? "k" : "l") + std::to_string(random.below(6000));
    if (to < from) {
      std::swap(from, to);
    }
    EXPECT_EQ(read(parts, from, to), Values(all.lower_bound(from), all.lower_bound(to))) << from << " " << to;
  }
}

TEST_P(CheckpointPart, MayBeEmpty) {
  write(0, {});
  auto part = open(0);
  ASSERT_TRUE(part.ok()) << part.error().message;
  EXPECT_EQ(verify_part(part.value()).value(), 0U);
  EXPECT_TRUE(read({&part.value(), 1}, "a", "b").empty());
}

TEST_P(CheckpointPart, EveryChangedByteIsSaidWithItsFile) {
  write(0, some_values(5, 30, "key:"));
  const std::string file = path_ + "/" + name(0);
  std::string bytes(std::filesystem::file_size(file), '\0');
  std::ifstream{file, std::ios::binary}.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  runtime::Random random{9};
  for (std::size_t at = 0; at < bytes.size(); at += 1 + random.below(bytes.size() / 400)) {
    std::string changed = bytes;
    if (random.below(4) == 0) {
      changed.resize(at);
    } else {
      changed[at] = static_cast<char>(changed[at] ^ (1 << random.below(8)));
    }
    std::ofstream{file, std::ios::binary | std::ios::trunc} << changed;
    const auto part = open(0);
    if (part.ok()) {
      const auto items = verify_part(part.value());
      ASSERT_FALSE(items.ok()) << at;
      EXPECT_THAT(items.error().message, ::testing::HasSubstr("part-0.mxc: damaged at byte "));
    } else {
      EXPECT_THAT(part.error().message, ::testing::HasSubstr("part-0.mxc"));
    }
  }
}

TEST_P(CheckpointPart, OfAnotherCheckpointIsRefused) {
  write(0, some_values(6, 10, "k"));
  EXPECT_FALSE(Part::open(*disk_, name(0), directory_, kBegun + 1, 0).ok());
  EXPECT_FALSE(Part::open(*disk_, name(0), directory_, kBegun, 1).ok());
  EXPECT_FALSE(Part::open(*disk_, name(0), DirectoryId{}, kBegun, 0).ok());
  EXPECT_FALSE(Part::open(*disk_, name(1), directory_, kBegun, 1).ok());
}

INSTANTIATE_TEST_SUITE_P(Both, CheckpointPart, ::testing::Bool());

}  // namespace
}  // namespace mxkv::server::testing

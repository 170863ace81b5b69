// Starts that are refused, or that leave something out: each says so, and changes nothing on disk.
#include "server/durability/recovery.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "server/journal/posix_disk.hpp"
#include "tests/unit/server/durability/kept_disk.hpp"
#include "tests/unit/server/durability/recorded_store.hpp"
#include "tests/unit/server/store/full_count.hpp"

namespace mxkv::server::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kNow = 1'700'000'000'000'000;

/// A directory with `items` items of four kilobytes, of which every fourth one was read a minute later; in a
/// checkpoint, or in the journal.
void fill(Disk& disk, int items, bool checkpoint, bool read_some) {
  RecordedStore recorded{disk, kNow};
  const std::string value(4000, 'v');
  for (int i = 0; i < items; ++i) {
    ASSERT_EQ(recorded.store.ask("set key:" + std::to_string(10'000 + i) + " 0 0 " +
                                 std::to_string(value.size()) + "\r\n" + value + "\r\n"),
              "STORED\r\n");
    recorded.store.machine.clock.advance_us(5'000);
  }
  recorded.store.machine.clock.advance_us(60'000'000);
  for (int i = 0; read_some && i < items; i += 4) {
    recorded.store.ask("get key:" + std::to_string(10'000 + i) + "\r\n");
  }
  if (checkpoint) {
    recorded.checkpointer->begin();
    recorded.finish_checkpoint();
  }
}

runtime::Result<Recovered> recover_into(TextStore& store, Disk& disk, const RecoveryOptions& options = {}) {
  auto manifest = read_manifest(disk);
  EXPECT_TRUE(manifest.ok() && manifest.value());
  return recover(disk, *manifest.value(), store.store, options);
}

TEST(Recovery, WithLessMemoryThanDataIsRefusedWithBothNumbers) {
  KeptDisk disk;
  fill(disk, 3000, true, false);
  TextStore store{2};
  runtime::MemoryBudget& budget = store.machine.runtime.budget();
  budget.set_limit_bytes(budget.used_bytes() + (std::size_t{2} << 20U));
  const auto recovered = recover_into(store, disk);
  ASSERT_FALSE(recovered.ok());
  EXPECT_THAT(recovered.error().message, HasSubstr("memory limit of "));
  EXPECT_THAT(recovered.error().message, HasSubstr("below the data, which needs about "));
  unsigned limit = 0;
  unsigned needed = 0;
  ASSERT_EQ(
      std::sscanf(recovered.error().message.c_str(),
                  "the memory limit of %u MiB is below the data, which needs about %u MiB", &limit, &needed),
      2);
  // 3,000 items of 4,000 bytes, of which two megabytes found room.
  EXPECT_EQ(limit, budget.limit_bytes() >> 20U);
  EXPECT_GE(needed, limit + 9);
  EXPECT_LE(needed, limit + 14);
  budget.set_limit_bytes(std::size_t{256} << 20U);
  EXPECT_TRUE(store.items().empty());
  EXPECT_EQ(recover_into(store, disk).value().items, 3000U) << "nothing has changed";
}

TEST(Recovery, WithLessMemoryThanDataKeepsTheBestOfACache) {
  KeptDisk disk;
  fill(disk, 8000, true, true);
  TextStore store{1, std::size_t{24} << 20U};
  LeftOutKeys left_out;
  const auto recovered = recover_into(store, disk, {.left_out = &left_out});
  ASSERT_TRUE(recovered.ok()) << recovered.error().message;
  EXPECT_GT(left_out.size(), 500U);
  EXPECT_GT(recovered.value().items, 2000U);
  EXPECT_EQ(recovered.value().items + left_out.size(), 8000U);
  std::size_t read = 0;
  for (const auto& [key, item] : store.items()) {
    read += item.access != 0 ? 1U : 0U;
  }
  EXPECT_EQ(read, 2000U) << "an item that was read outweighs all that were not";
  EXPECT_EQ(wrong_count(store.store), "") << "items of the first try count no more";
}

// Ages alone would keep all that was set last.
TEST(Recovery, WithLessMemoryThanDataKeepsWhatEvictionWouldKeep) {
  KeptDisk disk;
  constexpr int kEach = 4000;
  {
    RecordedStore recorded{disk, kNow};
    const auto set = [&](const std::string& key, std::size_t bytes) {
      ASSERT_EQ(recorded.store.ask("set " + key + " 0 0 " + std::to_string(bytes) + "\r\n" +
                                   std::string(bytes, 'v') + "\r\n"),
                "STORED\r\n");
      recorded.store.machine.clock.advance_us(1'000);  // no two items are as good
    };
    for (int i = 0; i < kEach; ++i) {
      set("read:" + std::to_string(i), 2000);
    }
    for (int read = 0; read < 3; ++read) {
      recorded.store.machine.clock.advance_us(60'000'000);
      for (int i = 0; i < kEach; ++i) {
        recorded.store.ask("get read:" + std::to_string(i) + "\r\n");
      }
    }
    recorded.store.machine.clock.advance_us(60'000'000);
    for (int i = 0; i < kEach; ++i) {
      set("unread:" + std::to_string(i), 2000);
    }
    recorded.store.machine.clock.advance_us(10'000'000);
    recorded.checkpointer->begin();
    recorded.finish_checkpoint();
  }
  TextStore store{1, std::size_t{16} << 20U};
  LeftOutKeys left_out;
  const auto recovered = recover_into(store, disk, {.left_out = &left_out});
  ASSERT_TRUE(recovered.ok()) << recovered.error().message;
  EXPECT_GT(left_out.size(), 1000U);
  std::size_t read = 0;
  for (const auto& [key, item] : store.items()) {
    read += key.starts_with("read:") ? 1U : 0U;
  }
  EXPECT_EQ(read, std::size_t{kEach});
}

// Items that were all set in one moment. If all of them are tried, none of the memory is left for the upper tree.
TEST(Recovery, EquallyGoodItemsLeaveMemoryForTheTreeAboveThem) {
  for (const std::size_t bytes : {2000U, 4000U}) {
    SCOPED_TRACE(bytes);
    KeptDisk disk;
    const std::size_t count = (std::size_t{20} << 20U) / (bytes + 60);
    {
      RecordedStore recorded{disk, kNow};
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(recorded.store.ask("set key:" + std::to_string(i) + " 0 0 " + std::to_string(bytes) +
                                     "\r\n" + std::string(bytes, 'v') + "\r\n"),
                  "STORED\r\n");
      }
      recorded.checkpointer->begin();
      recorded.finish_checkpoint();
    }
    TextStore store{1, std::size_t{16} << 20U};
    LeftOutKeys left_out;
    const auto recovered = recover_into(store, disk, {.left_out = &left_out});
    ASSERT_TRUE(recovered.ok()) << recovered.error().message;
    EXPECT_EQ(recovered.value().items + left_out.size(), count);
    EXPECT_GT(recovered.value().items, count / 3);
    const runtime::MemoryBudget& budget = store.machine.runtime.budget();
    EXPECT_GT(budget.limit_bytes() - budget.used_bytes(), std::size_t{1} << 20U);
    EXPECT_EQ(store.items().size(), recovered.value().items);
    EXPECT_EQ(wrong_count(store.store), "") << "items of earlier tries count no more";
  }
}

TEST(Recovery, AFullCacheComesBackWholeAtTheSameLimit) {
  constexpr std::size_t kLimit = std::size_t{24} << 20U;
  for (const bool checkpoint : {false, true}) {
    SCOPED_TRACE(checkpoint);
    KeptDisk disk;
    std::size_t items = 0;
    {
      RecordedStore recorded{disk, kNow, 1, {.rate_bytes = 0, .parts = 2}, false, kLimit};
      const std::string value(4000, 'v');
      const auto set = [&](std::size_t i) {
        return recorded.store.ask("set key:" + std::to_string(100'000 + i * 7919 % 50'000) + " 0 0 4000\r\n" +
                                  value + "\r\n");
      };
      while (set(items) == "STORED\r\n") {
        ++items;
        recorded.store.machine.clock.advance_us(1'000);
        static_cast<void>(recorded.journal->step());
      }
      ASSERT_GT(items, 2000U);
      // Eviction keeps one 32nd of the memory free.
      for (std::size_t i = 0; i < items; i += 32) {
        recorded.store.ask("delete key:" + std::to_string(100'000 + i * 7919 % 50'000) + "\r\n");
      }
      items = recorded.store.items().size();
      if (checkpoint) {
        recorded.checkpointer->begin();
        recorded.finish_checkpoint();
      }
    }
    for (int start = 0; start < 2; ++start) {
      RecordedStore recorded{disk, kNow + 3'600'000'000, 1, {.rate_bytes = 0, .parts = 2}, false, kLimit};
      EXPECT_EQ(recorded.left_out.size(), 0U);
      EXPECT_EQ(recorded.store.items().size(), items);
    }
  }
}

TEST(Recovery, TellsItsProgressAndItsFindings) {
  KeptDisk disk;
  fill(disk, 500, false, false);
  TextStore store{2};
  store.machine.clock.set_wall_us(kNow - 3'600'000'000);
  const auto recovered = recover_into(store, disk);
  ASSERT_TRUE(recovered.ok()) << recovered.error().message;
  EXPECT_EQ(recovered.value().items, 500U);
  EXPECT_EQ(recovered.value().base_items, 0U);
  EXPECT_GE(recovered.value().records, 500U);
  EXPECT_GE(recovered.value().last_unix_us, kNow);
  EXPECT_TRUE(recovered.value().clock_behind);
  EXPECT_GT(recovered.value().item_bytes, 500'000U);
  EXPECT_EQ(recovered.value().torn, "");
}

std::vector<std::string> segments_of(Disk& disk) {
  std::vector<std::string> names;
  EXPECT_EQ(disk.list(kJournalDirectory, names), 0);
  std::erase_if(names, [](const std::string& name) { return segment_number(name) == 0; });
  return names;
}

TEST(Recovery, SegmentsThatACrashLeftBehindACheckpointGoWithTheNextOne) {
  KeptDisk disk;
  fill(disk, 100, false, false);
  const std::string oldest = std::string{kJournalDirectory} + "/" + segments_of(disk).front();
  std::unique_ptr<DiskBytes> bytes;
  ASSERT_EQ(disk.read(oldest, bytes), 0);
  fill(disk, 0, true, false);
  ASSERT_EQ(segments_of(disk).size(), 1U);
  // As if the process had ended before it removed that one.
  std::unique_ptr<DiskFile> file;
  ASSERT_EQ(disk.create(oldest, file), 0);
  std::string content{bytes->bytes()};
  const iovec piece{content.data(), content.size()};
  ASSERT_EQ(file->write_at({&piece, 1}, 0).bytes, content.size());
  {
    TextStore store{2};
    const auto recovered = recover_into(store, disk);
    ASSERT_TRUE(recovered.ok()) << recovered.error().message;
    ASSERT_EQ(recovered.value().segments.size(), 2U);
    EXPECT_GT(recovered.value().segments[1].last_epoch, recovered.value().segments[0].last_epoch);
    EXPECT_EQ(recovered.value().items, 100U);
  }
  fill(disk, 0, true, false);
  EXPECT_THAT(segments_of(disk), Not(Contains(oldest.substr(oldest.find('/') + 1))));
}

TEST(Recovery, OfADamagedCheckpointIsRefusedWithFileAndByte) {
  const std::string path = ::testing::TempDir() + "recovery_test" + std::to_string(::getpid());
  std::filesystem::remove_all(path);
  auto disk = PosixDisk::open_directory(path);
  fill(*disk.value(), 300, true, false);
  const std::uint64_t begun = read_manifest(*disk.value()).value()->checkpoint->begun;
  std::fstream part{path + "/" + checkpoint_part_path(begun, 0),
                    std::ios::in | std::ios::out | std::ios::binary};
  part.seekp(20'000);
  part.put('\x7F');
  part.close();
  TextStore store{2};
  const auto recovered = recover_into(store, *disk.value());
  ASSERT_FALSE(recovered.ok());
  EXPECT_THAT(recovered.error().message, HasSubstr("part-0.mxc: damaged at byte "));
  EXPECT_TRUE(store.items().empty());
  std::filesystem::remove(path + "/" + checkpoint_part_path(begun, 0));
  EXPECT_THAT(recover_into(store, *disk.value()).error().message, HasSubstr("part-0.mxc"));
  std::filesystem::remove_all(path);
}

TEST(DataDirectory, IsServedByOneProcessAndIsNobodyElses) {
  const std::string path = ::testing::TempDir() + "data_directory_test" + std::to_string(::getpid());
  std::filesystem::remove_all(path);
  auto disk = PosixDisk::open_directory(path);
  ASSERT_TRUE(disk.ok()) << disk.error().message;
  {
    auto first = open_data_directory(*disk.value());
    ASSERT_TRUE(first.ok());
    EXPECT_TRUE(first.value().fresh);
    auto again = PosixDisk::open_directory(path);
    auto second = open_data_directory(*again.value());
    ASSERT_FALSE(second.ok());
    EXPECT_THAT(second.error().message, HasSubstr("LOCK"));
    EXPECT_EQ(begin_service(*disk.value(), first.value(), 1, 1), std::nullopt);
    EXPECT_EQ(first.value().manifest.incarnation, 1U);
  }
  auto next = open_data_directory(*disk.value());
  ASSERT_TRUE(next.ok());
  EXPECT_FALSE(next.value().fresh);
  EXPECT_EQ(next.value().manifest.incarnation, 1U);
  std::filesystem::remove(path + "/" + kManifestName);
  next = runtime::Error{"closed"};
  EXPECT_TRUE(open_data_directory(*disk.value()).ok()) << "a first start that ended early";
  std::ofstream{path + "/MANIFEST.1"} << "x";
  EXPECT_THAT(open_data_directory(*disk.value()).error().message, HasSubstr("MANIFEST is missing"));
  std::filesystem::remove(path + "/MANIFEST.1");
  std::ofstream{path + "/holiday.jpg"} << "x";
  EXPECT_THAT(open_data_directory(*disk.value()).error().message, HasSubstr("it has holiday.jpg"));
  std::filesystem::remove_all(path);
}

TEST(KeyRanges, EveryKeyIsInTheRangeThatHasIt) {
  runtime::Random random{3};
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> keys;
    const std::string prefix(random.below(12), 'p');
    for (std::uint64_t i = random.below(60); i > 0; --i) {
      std::string key = random.below(20) == 0 ? std::string{} : prefix;
      for (std::uint64_t n = 1 + random.below(12); n > 0; --n) {
        key += "\0a\xFF"[random.below(3)];
      }
      keys.push_back(key);
    }
    std::vector<KeyRanges::Sample> samples;
    for (const std::string& key : keys) {
      samples.emplace_back(key, 1 + random.below(3));
    }
    const KeyRanges ranges{samples, 1 + random.below(10)};
    for (std::string key : keys) {
      key += random.below(2) == 0 ? "" : "x";
      const std::size_t at = ranges.of(key);
      EXPECT_LE(ranges.from(at), key);
      EXPECT_TRUE(ranges.to(at).empty() || key < ranges.to(at));
      EXPECT_EQ(key.substr(0, ranges.shared(at)), ranges.from(at).substr(0, ranges.shared(at)));
    }
  }
}

}  // namespace
}  // namespace mxkv::server::testing

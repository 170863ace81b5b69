// Items that a start leaves out for lack of memory stay absent, whatever later starts have room for.
#include "server/durability/left_out_keys.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/server/durability/kept_disk.hpp"
#include "tests/unit/server/durability/recorded_store.hpp"

namespace mxkv::server::testing::left_out {
namespace {

constexpr std::uint64_t kNow = 1'700'000'000'000'000;
constexpr std::size_t kSmall = std::size_t{16} << 20U;
constexpr std::size_t kRoomy = std::size_t{64} << 20U;
constexpr CheckpointOptions kCheckpoints{.rate_bytes = 0, .parts = 2};

std::string key_of(int number) {
  return "key:" + std::to_string(10'000 + number);
}

void fill(Disk& disk, int items, bool checkpoint) {
  RecordedStore recorded{disk, kNow};
  const std::string value(4000, 'v');
  for (int i = 0; i < items; ++i) {
    ASSERT_EQ(recorded.store.ask("set " + key_of(i) + " 0 0 4000\r\n" + value + "\r\n"), "STORED\r\n");
    recorded.store.machine.clock.advance_us(1'000);
  }
  if (checkpoint) {
    recorded.checkpointer->begin();
    recorded.finish_checkpoint();
  }
}

std::set<std::string> keys_of(TextStore& store) {
  std::set<std::string> keys;
  for (const auto& [key, item] : store.items()) {
    keys.insert(key);
  }
  return keys;
}

TEST(LeftOutKeys, KeepsEachKeyWhateverItsLength) {
  LeftOutKeys keys;
  LeftOutKeys more;
  std::vector<std::string> expected;
  for (std::size_t i = 0; i < 3000; ++i) {
    expected.emplace_back(i % 256, static_cast<char>(i));
    (i < 2000 ? keys : more).add(expected.back());
  }
  keys.take(std::move(more));
  EXPECT_EQ(keys.size(), 3000U);
  std::vector<std::string> seen;
  LeftOutKeys::Walk walk{keys};
  for (std::string_view key; walk.next(key);) {
    seen.emplace_back(key);
  }
  EXPECT_EQ(seen, expected);
  keys.clear();
  EXPECT_EQ(keys.size(), 0U);
}

TEST(LeftOutKeys, StayAbsentAtALaterStartWithMoreMemory) {
  constexpr int kItems = 6000;
  for (const bool checkpoint : {false, true}) {
    SCOPED_TRACE(checkpoint);
    KeptDisk disk;
    fill(disk, kItems, checkpoint);
    std::set<std::string> kept;
    std::set<std::string> absent;
    {
      RecordedStore small{disk, kNow + 3'600'000'000, 2, kCheckpoints, false, kSmall};
      LeftOutKeys::Walk walk{small.left_out};
      for (std::string_view key; walk.next(key);) {
        absent.emplace(key);
      }
      ASSERT_GT(absent.size(), 1000U);
      kept = keys_of(small.store);
      ASSERT_EQ(kept.size() + absent.size(), std::size_t{kItems});
      // A client deletes one of the absent keys, and stores another one anew, which evicts items for room.
      for (int i = 0; i < 500; ++i) {
        EXPECT_EQ(small.store.ask("delete " + *kept.begin() + "\r\n"), "DELETED\r\n");
        kept.erase(kept.begin());
      }
      for (int i = 0; i < 10; ++i) {  // deleted items pass their epoch
        small.store.machine.clock.advance_us(100'000);
        EXPECT_EQ(small.store.ask("mn\r\n"), "MN\r\n");
      }
      EXPECT_EQ(small.store.ask("delete " + *absent.begin() + "\r\n"), "NOT_FOUND\r\n");
      EXPECT_EQ(small.store.ask("set " + *absent.rbegin() + " 0 0 1\r\n1\r\n"), "STORED\r\n");
      kept.insert(*absent.rbegin());
    }
    for (int start = 0; start < 2; ++start) {
      RecordedStore roomy{disk, kNow + 7'200'000'000, 2, kCheckpoints, false, kRoomy};
      EXPECT_EQ(roomy.left_out.size(), 0U);
      EXPECT_EQ(keys_of(roomy.store), kept);
      EXPECT_EQ(roomy.store.items()[*absent.rbegin()].value, "1");
    }
  }
}

TEST(LeftOutKeys, AreRecordedWhenTheyFillManyGroups) {
  constexpr std::uint64_t kKeys = 200'000;
  KeptDisk disk;
  fill(disk, 1, false);
  {
    RecordedStore recorded{disk, kNow + 1'000'000};
    LeftOutKeys keys;
    keys.add(key_of(0));
    for (std::uint64_t i = 1; i < kKeys; ++i) {
      keys.add("another:" + std::to_string(i));
    }
    const std::uint64_t before = recorded.journal->writer().counts().records.load();
    record_left_out(keys, recorded.store.store.tree().commits().claim(0), *recorded.journal);
    EXPECT_GT(recorded.journal->writer().counts().groups.load(), 2U)
        << "they do not wait in memory until the end";
    ASSERT_TRUE(recorded.journal->flush_all_now());
    EXPECT_EQ(recorded.journal->writer().counts().records.load() - before, kKeys);
  }
  RecordedStore recorded{disk, kNow + 2'000'000};
  EXPECT_TRUE(recorded.store.items().empty());
}

}  // namespace
}  // namespace mxkv::server::testing::left_out

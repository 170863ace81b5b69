// The disk that loses power does all that a real disk may do, and nothing else.
#include "tests/simulation/sim_disk.hpp"

#include <gmock/gmock.h>

#include <cerrno>
#include <set>
#include <string>

namespace mxkv::test {
namespace {

using server::DiskFile;
using testing::ElementsAre;
using testing::IsEmpty;
using File = std::unique_ptr<DiskFile>;

DiskFile::Written write(DiskFile& file, std::string_view bytes, std::uint64_t offset = 0) {
  const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
  return file.write_at({&piece, 1}, offset);
}

std::string read(SimDisk& disk, const std::string& path) {
  std::unique_ptr<server::DiskBytes> bytes;
  return disk.read(path, bytes) == 0 ? std::string{bytes->bytes()} : "(none)";
}

std::vector<std::string> names_in(SimDisk& disk, const std::string& path) {
  std::vector<std::string> names;
  EXPECT_EQ(disk.list(path, names), 0);
  return names;
}

const std::string kOld(2048, 'o');
const std::string kNew(2048, 'n');

/// A file of four sectors that is on disk, and was written again.
void make_uncertain(SimDisk& disk, File& file) {
  ASSERT_EQ(disk.create("a", file), 0);
  ASSERT_EQ(write(*file, kOld).bytes, kOld.size());
  ASSERT_EQ(file->sync(), 0);
  ASSERT_EQ(disk.sync_directory(""), 0);
  ASSERT_EQ(write(*file, kNew).bytes, kNew.size());
}

TEST(SimDisk, WhatWasSyncedSurvivesEachCut) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SimDisk disk;
    File file;
    make_uncertain(disk, file);
    ASSERT_EQ(file->sync(), 0);
    disk.power_cut(seed);
    EXPECT_EQ(read(disk, "a"), kNew);
    EXPECT_EQ(write(*file, "x").error, EIO) << "files that were open are closed";
  }
}

TEST(SimDisk, ASectorThatWasNotSyncedIsOldNewOrGarbage) {
  std::set<char> seen;
  bool mixed = false;
  bool garbage = false;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SimDisk disk;
    File file;
    make_uncertain(disk, file);
    EXPECT_EQ(read(disk, "a"), kNew) << "it is read as it was written, until the cut";
    disk.power_cut(seed);
    const std::string after = read(disk, "a");
    ASSERT_EQ(after.size(), kOld.size());
    for (std::size_t sector = 0; sector < 4; ++sector) {
      const std::string bytes = after.substr(sector * 512, 512);
      const bool whole = bytes == kOld.substr(0, 512) || bytes == kNew.substr(0, 512);
      garbage = garbage || bytes.find_first_not_of("on") != std::string::npos;
      mixed = mixed || !whole;
      if (whole) {
        seen.insert(bytes[0]);
      }
    }
    disk.power_cut(seed + 1);
    EXPECT_EQ(read(disk, "a"), after) << "what was decided stays";
  }
  EXPECT_EQ(seen.size(), 2U);
  EXPECT_TRUE(mixed && garbage);
}

TEST(SimDisk, AKillKeepsAllThatWasWrittenUncertainAsItIs) {
  std::set<std::string> after_cut;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SimDisk disk;
    File file;
    make_uncertain(disk, file);
    File lock;
    ASSERT_EQ(disk.lock("LOCK", lock), 0);
    disk.kill();
    EXPECT_EQ(read(disk, "a"), kNew);
    EXPECT_EQ(file->sync(), EIO);
    File other;
    EXPECT_EQ(disk.lock("LOCK", other), 0);
    disk.power_cut(seed);
    after_cut.insert(read(disk, "a"));
  }
  EXPECT_GT(after_cut.size(), 2U);
}

TEST(SimDisk, NamesThatWereNotSyncedAreThereOrNot) {
  std::set<std::vector<std::string>> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SimDisk disk;
    File file;
    ASSERT_EQ(disk.create_directory("d"), 0);
    ASSERT_EQ(disk.create("d/old", file), 0);
    ASSERT_EQ(disk.sync_directory(""), 0);
    ASSERT_EQ(disk.sync_directory("d"), 0);
    ASSERT_EQ(disk.rename("d/old", "d/new"), 0);
    ASSERT_EQ(disk.create("d/more", file), 0);
    EXPECT_THAT(names_in(disk, "d"), ElementsAre("more", "new"));
    disk.power_cut(seed);
    seen.insert(names_in(disk, "d"));
  }
  EXPECT_THAT(seen, ElementsAre(ElementsAre("more", "new"), ElementsAre("more", "old"), ElementsAre("new"),
                                ElementsAre("old")));
}

TEST(SimDisk, AFileThatReplacedAnotherIsOneOfBoth) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SimDisk disk;
    for (const char* const name : {"a", "b"}) {
      File file;
      ASSERT_EQ(disk.create(name, file), 0);
      ASSERT_EQ(write(*file, name).bytes, 1U);
      ASSERT_EQ(file->sync(), 0);
    }
    ASSERT_EQ(disk.sync_directory(""), 0);
    ASSERT_EQ(disk.rename("b", "a"), 0);
    disk.power_cut(seed);
    seen.insert(read(disk, "a") + read(disk, "b"));
  }
  EXPECT_THAT(seen, ElementsAre("ab", "b(none)"));
}

TEST(SimDisk, AfterASyncThatFailedLaterOnesLie) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SimDisk disk;
    File file;
    make_uncertain(disk, file);
    disk.fail_syncs(1, EIO);
    EXPECT_EQ(file->sync(), EIO);
    EXPECT_EQ(file->sync(), 0);
    EXPECT_EQ(read(disk, "a"), kNew);
    disk.power_cut(seed);
    seen.insert(read(disk, "a"));
  }
  EXPECT_TRUE(seen.contains(kOld)) << "the sync that succeeded wrote nothing";
  EXPECT_GT(seen.size(), 2U);
}

TEST(SimDisk, WritesFailComeShortAndRunOutOfSpace) {
  SimDisk disk;
  File file;
  ASSERT_EQ(disk.create("a", file), 0);
  disk.fail_writes(1, EIO);
  EXPECT_EQ(write(*file, "x").error, EIO);
  EXPECT_EQ(write(*file, "x").bytes, 1U);
  disk.write_short(true);
  std::size_t shorter = 0;
  for (int i = 0; i < 100; ++i) {
    const DiskFile::Written written = write(*file, kNew);
    EXPECT_EQ(written.error, 0);
    EXPECT_GT(written.bytes, 0U);
    shorter += written.bytes < kNew.size() ? 1 : 0;
  }
  EXPECT_GT(shorter, 10U);
  EXPECT_LT(shorter, 90U);
  disk.write_short(false);
  ASSERT_EQ(write(*file, kNew).bytes, kNew.size());
  disk.set_quota(2100);
  EXPECT_EQ(write(*file, kNew, 2000).bytes, 100U);
  EXPECT_EQ(write(*file, kNew, 2100).error, ENOSPC);
  EXPECT_EQ(write(*file, kNew, 0).bytes, kNew.size()) << "what is there may be written again";
  EXPECT_EQ(file->allocate(2101), ENOSPC);
  disk.set_quota(5000);
  EXPECT_EQ(file->allocate(5000), 0);
}

TEST(SimDisk, ThePowerGoesOffAtAStepOrFromTheHook) {
  for (const bool by_hook : {false, true}) {
    std::set<std::string> seen;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      SimDisk disk;
      File file;
      make_uncertain(disk, file);
      const std::uint64_t before = disk.steps();
      if (by_hook) {
        disk.on_step([&disk](const SimStep& step) {
          if (step.what == SimStep::kind::write) {
            disk.power_off();
          }
        });
      } else {
        disk.power_off_at(before + 2);
      }
      ASSERT_EQ(file->sync(), 0);
      EXPECT_FALSE(disk.is_off());
      EXPECT_EQ(write(*file, kOld).error, EIO);
      EXPECT_TRUE(disk.is_off());
      EXPECT_EQ(file->sync(), EIO);
      EXPECT_EQ(disk.create("b", file), EIO);
      disk.on_step(nullptr);
      disk.power_cut(seed);
      seen.insert(read(disk, "a"));
      EXPECT_THAT(names_in(disk, ""), ElementsAre("a"));
    }
    EXPECT_TRUE(seen.contains(kNew) && seen.contains(kOld)) << "the step it went off at happened, or not";
  }
}

TEST(SimDisk, NamesFailAsThoseOfAFileSystemDo) {
  SimDisk disk;
  File file;
  EXPECT_EQ(disk.create("d/a", file), ENOENT);
  ASSERT_EQ(disk.create_directory("d"), 0);
  EXPECT_EQ(disk.create_directory("d"), EEXIST);
  ASSERT_EQ(disk.create("d/a", file), 0);
  EXPECT_EQ(disk.create("d/a", file), EEXIST);
  EXPECT_EQ(disk.remove_directory("d"), ENOTEMPTY);
  EXPECT_EQ(disk.open("d", file), EISDIR);
  EXPECT_EQ(disk.link("d/a", "b"), 0);
  EXPECT_EQ(disk.remove("d/a"), 0);
  EXPECT_EQ(disk.remove("d/a"), ENOENT);
  EXPECT_EQ(disk.remove_directory("d"), 0);
  EXPECT_THAT(names_in(disk, ""), ElementsAre("b"));
  File lock;
  File other;
  EXPECT_EQ(disk.lock("LOCK", lock), 0);
  EXPECT_EQ(disk.lock("LOCK", other), EWOULDBLOCK);
  lock.reset();
  EXPECT_EQ(disk.lock("LOCK", other), 0);
}

}  // namespace
}  // namespace mxkv::test

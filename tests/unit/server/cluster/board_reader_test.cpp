// All nodes that announce snapshots at the same time agree on the one in force, and never go back to an older one.
#include "server/cluster/board_reader.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

namespace mxkv::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

SnapshotEntry snapshot_by(std::uint64_t node, LogPosition position, LogPosition first) {
  SnapshotEntry made{
      .number = 1, .node = node, .first = first, .messages = 1, .items = 1, .bytes = 10, .start = {}};
  made.start.position = position;
  return made;
}

void tell(BoardReader& reader, const SnapshotEntry& what) {
  reader.put_up(0, snapshot_key(3), write_snapshot_entry(what));
}

TEST(BoardReader, ASnapshotReplacesOlderOnesThatAreBehindItInBothLogs) {
  BoardReader reader;
  EXPECT_EQ(reader.snapshot(3), std::nullopt);
  tell(reader, snapshot_by(1, 100, 20));
  tell(reader, snapshot_by(2, 100, 25));
  EXPECT_EQ(reader.snapshot(3)->node, 2U);
  EXPECT_THAT(reader.take_outdated(), IsEmpty());
  tell(reader, snapshot_by(3, 100, 8));  // written before the other one, and perhaps trimmed by now
  EXPECT_EQ(reader.snapshot(3)->node, 2U);
  EXPECT_THAT(reader.take_outdated(), ElementsAre(3));
  tell(reader, snapshot_by(4, 130, 24));
  tell(reader, snapshot_by(5, 90, 40));
  EXPECT_EQ(reader.snapshot(3)->node, 2U);
  EXPECT_THAT(reader.take_outdated(), ElementsAre(3, 3));
  tell(reader, snapshot_by(6, 101, 30));
  EXPECT_EQ(reader.snapshot(3)->node, 6U);
  EXPECT_EQ(reader.snapshot(2), std::nullopt);
}

// A node that announces a snapshot trims only up to the one that it knew, which was in force before.
TEST(BoardReader, TheSnapshotInForceIsNeverTrimmedWhateverTheOrder) {
  std::array told{snapshot_by(1, 100, 20), snapshot_by(2, 100, 25), snapshot_by(3, 100, 8),
                  snapshot_by(4, 130, 24), snapshot_by(5, 120, 60)};
  std::ranges::sort(told, {}, &SnapshotEntry::node);
  do {
    BoardReader reader;
    LogPosition trimmed = 0;
    LogPosition log_trimmed = 0;
    for (const SnapshotEntry& one : told) {
      const std::optional<SnapshotEntry> known = reader.snapshot(3);
      tell(reader, one);
      if (known) {
        trimmed = std::max(trimmed, known->first);
        log_trimmed = std::max(log_trimmed, known->start.position);
      }
      EXPECT_GE(reader.snapshot(3)->first, trimmed);
      EXPECT_GE(reader.snapshot(3)->start.position, log_trimmed);
    }
  } while (std::ranges::next_permutation(told, {}, &SnapshotEntry::node).found);
}

TEST(BoardReader, UnknownKeysAreCountedAndReported) {
  BoardReader reader;
  tell(reader, snapshot_by(1, 100, 20));
  EXPECT_EQ(reader.left_out(), 0U);
  reader.put_up(1, snapshot_key(3), "{}");
  EXPECT_EQ(reader.complaint(), "snapshot/3: is not a snapshot's entry");
  EXPECT_THAT(reader.take_outdated(), ElementsAre(3)) << "who begins anew is to find the one that is";
  EXPECT_EQ(reader.snapshot(3)->node, 1U);
  reader.put_up(2, snapshot_key(3), std::nullopt);
  EXPECT_THAT(reader.take_outdated(), ElementsAre(3));
  reader.put_up(3, snapshot_key(4), "");
  EXPECT_THAT(reader.take_outdated(), IsEmpty()) << "of which there is none";
  reader.put_up(4, "map/7/a", "{");
  EXPECT_THAT(reader.complaint(), testing::StartsWith("map/7/a: "));
  for (const char* const key :
       {"", "x", "map/", "map/0/1", "map/x/1", "map/99999999999999999999/1", "node/"}) {
    reader.put_up(5, key, "x");
    EXPECT_EQ(reader.complaint(), std::string{key} + ": is not a key of mxkvd");
  }
  EXPECT_EQ(reader.left_out(), 11U);
  reader.put_up(6, "node/a", "whoever hears it looks at it");
  EXPECT_EQ(reader.left_out(), 11U);
}

}  // namespace
}  // namespace mxkv::server

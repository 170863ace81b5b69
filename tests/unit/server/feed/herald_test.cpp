// The herald over made epochs: order, batches, marks, positions.
#include "server/feed/herald.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/server/feed/made_herald.hpp"

namespace mxkv::server {
namespace {

TEST_F(HeraldTest, TellsOfWhatComesAfterTheAnswer) {
  epochs.add({epochs.put("a", 1)});
  step();
  const WatchRef all = watch();
  EXPECT_EQ(heard(all), "begun 1\r\n");
  epochs.add({epochs.put("a", 5)});
  step();
  EXPECT_EQ(heard(all), "WP ka c5\r\nmark 2\r\n");
}

TEST_F(HeraldTest, SortsAnEpochByOrder) {
  const WatchRef all = watch();
  epochs.add({epochs.put("a", 9), epochs.put("b", 3), epochs.gone("a", 12), epochs.put("a", 4)});
  step();
  EXPECT_EQ(heard(all), "begun 0\r\nWP kb c3\r\nWP ka c4\r\nWP ka c9\r\nWG ka Rd\r\nmark 1\r\n");
}

TEST_F(HeraldTest, ABatchStandsTogetherWhereItsLeastOrderIs) {
  const WatchRef all = watch();
  epochs.add({epochs.put("x", 7), epochs.put("a", 5, 1), epochs.put("b", 9, 1), epochs.put("b", 4)});
  step();
  EXPECT_EQ(heard(all), "begun 0\r\nWP kb c4\r\nWB 2\r\nWP ka c5\r\nWP kb c9\r\nWP kx c7\r\nmark 1\r\n");
}

TEST_F(HeraldTest, TwoBatchesSideBySideAreToldApart) {
  const WatchRef all = watch();
  epochs.add({epochs.put("a", 1, 1), epochs.put("b", 2, 1), epochs.put("c", 3, 2), epochs.put("d", 4, 2)});
  step();
  EXPECT_EQ(heard(all),
            "begun 0\r\nWB 2\r\nWP ka c1\r\nWP kb c2\r\nWB 2\r\nWP kc c3\r\nWP kd c4\r\nmark 1\r\n");
}

TEST_F(HeraldTest, TheOnlyLineOfABatchNeedsNoWord) {
  const WatchRef some = watch({.span = span_of_prefix("a"), .shows = "c"});
  epochs.add({epochs.put("a", 1, 1), epochs.put("b", 2, 1)});
  step();
  EXPECT_EQ(heard(some), "begun 0\r\nWP ka c1\r\nmark 1\r\n");
}

TEST_F(HeraldTest, WatchesOfOneFormShareTheirFrames) {
  const WatchRef one = watch();
  const WatchRef other = watch();
  static_cast<void>(heard(one));
  static_cast<void>(heard(other));
  epochs.add({epochs.put("a", 1)});
  step();
  bool waits = false;
  EXPECT_EQ(one->take(waits)->frame, other->take(waits)->frame);
  EXPECT_EQ(herald.counts().channels.load(), 1U);
  EXPECT_EQ(herald.counts().lines.load(), 1U);
  EXPECT_EQ(herald.counts().told.load(), 2U);
}

TEST_F(HeraldTest, TellsOnlyTheKindsThatAreWanted) {
  const WatchRef gone = watch({.kinds = told::kDeleted});
  epochs.add({epochs.put("a", 1), epochs.gone("a", 2)});
  step();
  EXPECT_EQ(heard(gone), "begun 0\r\nWG ka Rd\r\nmark 1\r\n");
}

TEST_F(HeraldTest, AWatchThatLeftIsToldOfNothing) {
  const WatchRef all = watch();
  static_cast<void>(heard(all));
  EXPECT_TRUE(log.wanted);
  herald.remove(all);
  epochs.add({epochs.put("a", 1)});
  step();
  EXPECT_EQ(heard(all), "");
  EXPECT_EQ(herald.counts().watches.load(), 0U);
  EXPECT_FALSE(log.wanted);
}

TEST_F(HeraldTest, GoesOnBehindAPosition) {
  for (std::uint64_t order = 1; order <= 4; ++order) {
    epochs.add({epochs.put("a", order)});
  }
  step();
  const WatchRef all = watch({.shows = "c"}, Position{10, 2});
  EXPECT_EQ(heard(all), "begun 2\r\n");
  step();  // once the connection has taken the answer
  EXPECT_EQ(heard(all), "WP ka c3\r\nmark 3\r\nWP ka c4\r\nmark 4\r\n");
  epochs.add({epochs.put("a", 5)});
  step();
  EXPECT_EQ(heard(all), "WP ka c5\r\nmark 5\r\n");
}

TEST_F(HeraldTest, APositionThatCannotBeReadIsRefused) {
  epochs.add({epochs.put("a", 1)});
  epochs.add({epochs.put("a", 2)});
  step();
  EXPECT_EQ(heard(watch({}, Position{11, 1})), "lost\r\n");
  EXPECT_EQ(heard(watch({}, Position{10, 3})), "lost\r\n");
  epochs.trim(1);
  EXPECT_EQ(heard(watch({}, Position{10, 0})), "old\r\n");
  EXPECT_EQ(heard(watch({}, Position{10, 1})), "begun 1\r\n");
  EXPECT_EQ(herald.counts().watches.load(), 1U);
}

TEST_F(HeraldTest, AGapEndsLiveWatches) {
  const WatchRef all = watch();
  static_cast<void>(heard(all));
  epochs.add({epochs.put("a", 1)});
  epochs.add({epochs.put("a", 2)});
  epochs.trim(1);
  step();
  EXPECT_EQ(heard(all), "old\r\n");
  EXPECT_EQ(heard(watch()), "begun 2\r\n");
}

TEST_F(HeraldTest, TheLogHearsThatTheLastWatchEnded) {
  EXPECT_EQ(heard(watch({}, Position{11, 1})), "lost\r\n");
  EXPECT_LE(next, clock.monotonic_ns());
  step();
  EXPECT_FALSE(log.wanted);
}

TEST_F(HeraldTest, AMarkWaitsForWhatTookEffectBeforeIt) {
  const WatchRef some = watch({.span = span_of_prefix("z")});
  static_cast<void>(heard(some));
  log.recorded = 1;
  EXPECT_TRUE(herald.mark(some, "m7"));
  step();
  EXPECT_EQ(heard(some), "");
  epochs.add({epochs.put("a", 1)});
  step();
  EXPECT_EQ(heard(some), "mark 1m7\r\n");
}

TEST_F(HeraldTest, AWatchWithoutLinesIsMarkedNowAndThen) {
  const WatchRef some = watch({.span = span_of_prefix("z")});
  static_cast<void>(heard(some));
  epochs.add({epochs.put("a", 1)});
  step();
  EXPECT_EQ(heard(some), "");
  clock.advance_us(1'500'000);
  step();
  EXPECT_EQ(heard(some), "mark 1\r\n");
  clock.advance_us(1'500'000);
  step();
  EXPECT_EQ(heard(some), "") << "its position has not moved";
}

TEST_F(HeraldTest, TheNumberOfWatchesIsLimited) {
  Herald small{log, live, past, clock, nullptr, {.most_watches = 1}, {}};
  const auto make = [] { return std::make_shared<Watch>("w", WatchForm{}, std::nullopt, 0); };
  const WatchRef first = make();
  EXPECT_TRUE(small.add(first));
  EXPECT_FALSE(small.add(make()));
  small.remove(first);
  static_cast<void>(small.step(clock.monotonic_ns()));
  EXPECT_TRUE(small.add(make()));
}

TEST_F(HeraldTest, AnEpochIsCutIntoFrames) {
  const WatchRef all = watch();
  static_cast<void>(heard(all));
  std::vector<ChangeRecord> records;
  for (std::uint64_t order = 1; order <= 20'000; ++order) {
    records.push_back(epochs.put("key" + std::to_string(order), order));
  }
  epochs.add(std::move(records));
  step();
  bool waits = false;
  std::vector<Tiding> sections;
  while (std::optional<Tiding> tiding = all->take(waits)) {
    sections.push_back(*std::move(tiding));
  }
  ASSERT_GT(sections.size(), 3U);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    EXPECT_EQ(sections[i].marks, i + 1 == sections.size());
    EXPECT_LT(sections[i].frame->lines().size(), Frame::kBytes + 100);
    EXPECT_TRUE(sections[i].frame->lines().ends_with("\r\n"));
  }
}

}  // namespace
}  // namespace mxkv::server

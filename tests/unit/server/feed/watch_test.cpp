// One watch between herald and connection.
#include "server/feed/watch.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace mxkv::server {
namespace {

FrameShare share{nullptr};

Tiding lines(std::uint64_t epoch, bool ends) {
  return {.marks = ends,
          .position = {.tag = 1, .epoch = epoch},
          .frame = std::make_shared<const Frame>(
              std::string(10, 'x'),
              FrameLines{.epoch = epoch, .from = ends ? 1U : 0U, .to = ends ? 2U : 1U, .ends_epoch = ends},
              held::live, share)};
}

struct Taken {
  explicit Taken(Watch& watch) : tiding(watch.take(herald_waits)) {}
  bool herald_waits = false;
  std::optional<Tiding> tiding;
};

TEST(Watch, SaysOnceThatItHasTidings) {
  Watch watch{"w", {}, std::nullopt, 0};
  EXPECT_TRUE(watch.add(lines(1, true)));
  EXPECT_FALSE(watch.add(lines(2, true)));
  EXPECT_EQ(Taken{watch}.tiding->position.epoch, 1U);
  EXPECT_EQ(Taken{watch}.tiding->position.epoch, 2U);
  EXPECT_FALSE(Taken{watch}.tiding.has_value());
  EXPECT_TRUE(watch.add(lines(3, true)));
}

TEST(Watch, TheHeraldHearsThatTheConnectionHasRoom) {
  Watch watch{"w", {}, std::nullopt, 0};
  EXPECT_TRUE(watch.wants_more_or_tells());
  EXPECT_TRUE(watch.add(lines(1, true)));
  EXPECT_FALSE(watch.wants_more_or_tells());
  EXPECT_FALSE(Taken{watch}.herald_waits);
  EXPECT_TRUE(Taken{watch}.herald_waits);
  EXPECT_FALSE(Taken{watch}.herald_waits);
}

TEST(Watch, GivesBackAllThatWasNotTaken) {
  Watch watch{"w", {}, std::nullopt, 0};
  static_cast<void>(watch.add({.is = Tiding::what::begun}));
  EXPECT_EQ(Taken{watch}.tiding->is, Tiding::what::begun);
  for (const std::uint64_t epoch : {3U, 5U, 8U}) {
    static_cast<void>(watch.add(lines(epoch, false)));
    static_cast<void>(watch.add(lines(epoch, true)));
  }
  EXPECT_EQ(Taken{watch}.tiding->frame->which().epoch, 3U);
  std::deque<AskedMark> marks;
  EXPECT_EQ(watch.take_back({.epoch = 9}, marks), (FeedCursor{.epoch = 2, .lines = 1}));
  EXPECT_EQ(watch.bytes(), 0U);
  EXPECT_FALSE(Taken{watch}.tiding.has_value());
  EXPECT_EQ(share.bytes(), 0U);
}

TEST(Watch, KeepsItsAnswerWhenLinesAreGivenBack) {
  Watch watch{"w", {}, std::nullopt, 0};
  static_cast<void>(watch.add({.is = Tiding::what::begun}));
  static_cast<void>(watch.add(lines(3, true)));
  std::deque<AskedMark> marks;
  EXPECT_EQ(watch.take_back({.epoch = 9}, marks), (FeedCursor{.epoch = 2, .lines = 1}));
  EXPECT_EQ(Taken{watch}.tiding->is, Tiding::what::begun);
}

TEST(Watch, WithoutLinesToGiveBackItIsWhereItWas) {
  Watch watch{"w", {}, std::nullopt, 0};
  static_cast<void>(watch.add({.marks = true, .position = {1, 4}}));
  std::deque<AskedMark> marks;
  EXPECT_EQ(watch.take_back({.epoch = 9, .lines = 2}, marks), (FeedCursor{.epoch = 9, .lines = 2}));
  EXPECT_TRUE(marks.empty());
  EXPECT_FALSE(Taken{watch}.tiding.has_value());
}

TEST(Watch, MarksThatWereAskedForAreGivenBackInTheirOrder) {
  Watch watch{"w", {}, std::nullopt, 0};
  static_cast<void>(watch.add(lines(3, true)));
  for (const char* const opaque : {"1", "2"}) {
    static_cast<void>(watch.add({.marks = true, .position = {1, 4}, .opaque = opaque, .asked = true}));
  }
  std::deque<AskedMark> marks;
  EXPECT_EQ(watch.take_back({.epoch = 9}, marks).epoch, 2U);
  ASSERT_EQ(marks.size(), 2U);
  EXPECT_EQ(marks[0].opaque, "1");
  EXPECT_EQ(marks[1].opaque, "2");
  EXPECT_EQ(marks[0].target, 4U);
}

TEST(Watch, AMarkMovesAnUnreadMarkOn) {
  Watch watch{"w", {}, std::nullopt, 0};
  static_cast<void>(watch.add(lines(3, true)));
  for (std::uint64_t epoch = 4; epoch < 100; ++epoch) {
    static_cast<void>(watch.add({.marks = true, .position = {1, epoch}}));
  }
  EXPECT_EQ(Taken{watch}.tiding->position.epoch, 99U);
  EXPECT_FALSE(Taken{watch}.tiding.has_value());
}

TEST(Watch, LinesAreNotMarkedBeforeTheirEpochEnds) {
  Watch watch{"w", {}, std::nullopt, 0};
  static_cast<void>(watch.add(lines(3, false)));
  static_cast<void>(watch.add({.marks = true, .position = {1, 3}}));
  EXPECT_FALSE(Taken{watch}.tiding->marks);
  EXPECT_TRUE(Taken{watch}.tiding->marks);
}

}  // namespace
}  // namespace mxkv::server

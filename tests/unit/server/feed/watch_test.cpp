// One watch between herald and connection.
#include "server/feed/watch.hpp"

#include <gtest/gtest.h>

namespace mxkv::server {
namespace {

FrameShare share{nullptr};

Tiding lines(std::uint64_t epoch, bool ends) {
  return {.marks = ends,
          .position = {.tag = 1, .epoch = epoch},
          .frame = std::make_shared<const Frame>(std::string(10, 'x'), epoch, ends, share)};
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

TEST(Watch, TheHeraldHearsThatAllWasTaken) {
  Watch watch{"w", {}, std::nullopt, 0};
  EXPECT_TRUE(watch.all_taken_or_tell());
  EXPECT_TRUE(watch.add(lines(1, true)));
  EXPECT_FALSE(watch.all_taken_or_tell());
  EXPECT_FALSE(Taken{watch}.herald_waits);
  EXPECT_TRUE(Taken{watch}.herald_waits);
  EXPECT_FALSE(Taken{watch}.herald_waits);
}

TEST(Watch, GivesBackAllEpochsButTheFirst) {
  Watch watch{"w", {}, std::nullopt, 0};
  for (const std::uint64_t epoch : {3U, 5U, 8U}) {
    static_cast<void>(watch.add(lines(epoch, false)));
    static_cast<void>(watch.add(lines(epoch, true)));
  }
  EXPECT_EQ(Taken{watch}.tiding->frame->epoch(), 3U);
  std::vector<std::string> marks;
  EXPECT_EQ(watch.take_back(9, marks), 4U);
  EXPECT_EQ(watch.bytes(), 10U);
  EXPECT_TRUE(Taken{watch}.tiding->frame->ends_epoch());
  EXPECT_FALSE(Taken{watch}.tiding.has_value());
}

TEST(Watch, WithoutLinesToGiveBackItHasBeenToldOfAll) {
  Watch watch{"w", {}, std::nullopt, 0};
  static_cast<void>(watch.add({.marks = true, .position = {1, 4}, .opaque = "m", .asked = true}));
  std::vector<std::string> marks;
  EXPECT_EQ(watch.take_back(9, marks), 9U);
  EXPECT_TRUE(marks.empty());
  EXPECT_EQ(Taken{watch}.tiding->opaque, "m");
}

TEST(Watch, AMarkBehindTheFirstEpochIsGivenBack) {
  Watch watch{"w", {}, std::nullopt, 0};
  static_cast<void>(watch.add(lines(3, true)));
  static_cast<void>(watch.add({.marks = true, .position = {1, 4}, .opaque = "m", .asked = true}));
  std::vector<std::string> marks;
  EXPECT_EQ(watch.take_back(9, marks), 9U);
  EXPECT_EQ(marks, std::vector<std::string>{"m"});
  EXPECT_EQ(Taken{watch}.tiding->frame->epoch(), 3U);
  EXPECT_FALSE(Taken{watch}.tiding.has_value());
}

}  // namespace
}  // namespace mxkv::server

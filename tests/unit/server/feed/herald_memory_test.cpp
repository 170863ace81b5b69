// What the herald holds for clients that do not read: watches that fall behind, epochs in parts, marks.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/server/feed/made_herald.hpp"

namespace mxkv::server {
namespace {

TEST_F(HeraldTest, AWatchWithoutRoomHasOneMark) {
  const WatchRef some = watch({.span = span_of_prefix("z")});
  static_cast<void>(heard(some));
  const std::size_t before = herald.unread_bytes();
  for (std::uint64_t order = 1; order <= 50; ++order) {
    epochs.add({epochs.put("a", order)});
    clock.advance_us(1'500'000);
    step();
  }
  EXPECT_LE(herald.unread_bytes(), before + 300);
  EXPECT_EQ(heard(some), "mark 50\r\n");
}

TEST_F(HeraldTest, MarksThatNobodyReadsAreFew) {
  const WatchRef all = watch();
  static_cast<void>(heard(all));
  std::string wanted;
  for (std::size_t i = 0; i < Herald::kMostMarks; ++i) {
    EXPECT_TRUE(herald.mark(all, "m" + std::to_string(i)));
    wanted += "mark 0m" + std::to_string(i) + "\r\n";
  }
  EXPECT_FALSE(herald.mark(all, "more"));
  step();
  EXPECT_FALSE(herald.mark(all, "more"));
  EXPECT_GT(herald.unread_bytes(), 50 * Herald::kMostMarks);
  EXPECT_EQ(heard(all), wanted);
  EXPECT_TRUE(herald.mark(all, "more"));
}

struct ShortOfMemory : HeraldTest {
  static constexpr std::size_t kMemory = 8'000;
  ShortOfMemory() : HeraldTest({.memory_bytes = kMemory}) {}

  void add_epochs(std::uint64_t to) {
    for (std::uint64_t order = epochs.through + 1; order <= to; ++order) {
      epochs.add({epochs.put("a", order)});
      wanted += "WP ka c" + std::to_string(order) + "\r\nmark " + std::to_string(order) + "\r\n";
      step();
    }
  }
  /// Lets it take what there is, in turns.
  std::string hear(const WatchRef& of, int turns = 60) {
    std::string text;
    for (; turns > 0; --turns) {
      text += heard(of);
      step();
      clock.advance_us(30'000);
    }
    return text;
  }
  std::string wanted;
};

TEST_F(ShortOfMemory, ASlowWatchFallsBehindAndCatchesUp) {
  const WatchRef all = watch();
  static_cast<void>(heard(all));
  add_epochs(60);
  EXPECT_EQ(herald.counts().falls.load(), 1U);
  EXPECT_EQ(herald.counts().behind.load(), 1U);
  EXPECT_EQ(herald.unread_bytes(), 0U) << "it keeps its cursor alone";
  EXPECT_EQ(hear(all), wanted);
  EXPECT_EQ(herald.counts().live.load(), 1U);
  EXPECT_EQ(herald.counts().behind.load(), 0U);
}

TEST_F(ShortOfMemory, ASlowWatchEndsWhereTheLogHasNoMore) {
  const WatchRef all = watch();
  static_cast<void>(heard(all));
  add_epochs(60);
  epochs.trim(60);
  step();
  const std::string text = hear(all, 3);
  EXPECT_EQ(text, "old\r\n");
  EXPECT_EQ(herald.counts().watches.load(), 0U);
}

TEST_F(ShortOfMemory, PlacesInQueuesAreCounted) {
  std::vector<WatchRef> watches;
  for (int i = 0; i < 30; ++i) {
    watches.push_back(watch());
    static_cast<void>(heard(watches.back()));
  }
  for (std::uint64_t order = 1; order <= 50; ++order) {
    epochs.add({epochs.put("a", order)});
    step();
    EXPECT_LE(herald.unread_bytes(), kMemory);
  }
  EXPECT_GT(herald.counts().falls.load(), 20U);
}

TEST_F(ShortOfMemory, AMarkThatWasAskedForIsGivenBehindTheLinesOfAWatchThatIsBehind) {
  const WatchRef all = watch();
  static_cast<void>(heard(all));
  add_epochs(60);
  log.recorded = 60;
  EXPECT_TRUE(herald.mark(all, "m7"));
  EXPECT_EQ(hear(all), wanted + "mark 60m7\r\n");
}

/// An epoch of several frames.
struct LargeEpoch : ShortOfMemory {
  void add_large(std::uint64_t keys = 20'000) {
    std::vector<ChangeRecord> records;
    for (std::uint64_t order = 1; order <= keys; ++order) {
      records.push_back(epochs.put("key" + std::to_string(order), order));
      all_lines += "WP kkey" + std::to_string(order) + " c" + std::to_string(order) + "\r\n";
    }
    epochs.add(std::move(records));
    step();
  }
  static constexpr std::size_t kMostHeld = kMemory / 2 + Frame::kBytes + 1'000;
  std::string all_lines;
};

TEST_F(LargeEpoch, IsToldToManyWatchesInParts) {
  std::vector<WatchRef> watches;
  for (const char* const shows : {"c", "cs", "cf", "cfs", "ct", "cst"}) {
    watches.push_back(watch({.shows = shows}));
    static_cast<void>(heard(watches.back()));
  }
  add_large();
  for (int turn = 0; turn < 20; ++turn) {
    EXPECT_LE(herald.unread_bytes(), kMostHeld);
    clock.advance_us(30'000);
    step();
  }
  EXPECT_EQ(hear(watches[0]), all_lines + "mark 1\r\n");
  EXPECT_LE(herald.unread_bytes(), kMostHeld);
}

TEST_F(LargeEpoch, AClientThatDoesNotReadHoldsUpNobody) {
  const WatchRef idle = watch();
  const WatchRef busy = watch({.shows = "ct"});
  static_cast<void>(heard(idle));
  static_cast<void>(heard(busy));
  add_large();
  EXPECT_EQ(herald.counts().behind.load(), 2U);
  EXPECT_GT(herald.unread_bytes(), Frame::kBytes)
      << "the first one has lines, and there is no room for the other";
  EXPECT_NE(hear(busy).find("\r\nmark 1\r\n"), std::string::npos);
  EXPECT_EQ(hear(idle), all_lines + "mark 1\r\n");
}

TEST_F(LargeEpoch, ABatchIsCutBetweenItsLines) {
  const WatchRef all = watch();
  static_cast<void>(heard(all));
  std::vector<ChangeRecord> records;
  std::string lines = "WB 20000\r\n";
  for (std::uint64_t order = 1; order <= 20'000; ++order) {
    records.push_back(epochs.put("key" + std::to_string(order), order, 1));
    lines += "WP kkey" + std::to_string(order) + " c" + std::to_string(order) + "\r\n";
  }
  epochs.add(std::move(records));
  step();
  EXPECT_EQ(hear(all), lines + "mark 1\r\n");
}

TEST_F(HeraldTest, AllThatIsUnreadIsChargedAndRefunded) {
  runtime::MemoryBudget budget{std::size_t{64} << 20U, 1};
  const auto charged = [&] { return budget.category_bytes(runtime::memory_category::buffers); };
  Herald small{log, live, past, clock, &budget, {.memory_bytes = std::size_t{1} << 20U}, {}};
  auto some = std::make_shared<Watch>("w", WatchForm{}, std::nullopt, 0);
  EXPECT_TRUE(small.add(some));
  static_cast<void>(small.step(clock.monotonic_ns()));
  epochs.add({epochs.put("a", 1)});
  static_cast<void>(small.step(clock.monotonic_ns()));
  EXPECT_TRUE(small.mark(some, "m"));
  EXPECT_GT(charged(), 300U);
  EXPECT_EQ(charged(), small.unread_bytes());
  small.remove(some);
  static_cast<void>(small.step(clock.monotonic_ns()));
  static_cast<void>(small.take_news(0));
  some.reset();
  EXPECT_EQ(charged(), 0U);
}

}  // namespace
}  // namespace mxkv::server

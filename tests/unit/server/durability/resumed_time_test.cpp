// Times to live over ends and starts with a wall clock that is wrong, or that is set in between.
#include "server/durability/resumed_time.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/resumed_clock.hpp"
#include "tests/unit/server/durability/kept_disk.hpp"
#include "tests/unit/server/durability/recorded_store.hpp"

namespace mxkv::server::testing::resumed {
namespace {

constexpr std::uint64_t kNow = 1'700'100'000'000'000;
constexpr std::uint64_t kSecond = 1'000'000;
constexpr std::uint64_t kDay = 86'400 * kSecond;

/// Seconds that a key has left to live; -1: it is absent.
int left_of(TextStore& store, const std::string& key) {
  const std::string told = store.ask("mg " + key + " t\r\n");
  return told == "EN\r\n" ? -1 : std::stoi(told.substr(told.find('t') + 1));
}

std::string set(const std::string& key, int seconds) {
  return "set " + key + " 0 " + std::to_string(seconds) + " 1\r\nv\r\n";
}

void checkpoint(RecordedStore& recorded) {
  ASSERT_TRUE(recorded.checkpointer->begin());
  recorded.finish_checkpoint();
}

TEST(ResumedTime, ExpiredItemsStayGoneIfTheClockIsBehindAtAStart) {
  for (const bool with_checkpoint : {false, true}) {
    SCOPED_TRACE(with_checkpoint);
    KeptDisk disk;
    {
      RecordedStore recorded{disk, kNow};
      recorded.store.ask(set("short", 10) + set("long", 1000) + set("kept", 0));
      recorded.store.machine.clock.advance_us(20 * kSecond);
      if (with_checkpoint) {
        checkpoint(recorded);
      }
      recorded.store.ask(set("later", 0));
      EXPECT_EQ(left_of(recorded.store, "short"), -1);
    }
    for (const std::uint64_t behind : {kDay / 2, kDay, std::uint64_t{0}}) {
      RecordedStore recorded{disk, kNow + 21 * kSecond - behind};
      EXPECT_EQ(recorded.recovered.clock_behind, behind != 0);
      EXPECT_EQ(left_of(recorded.store, "short"), -1);
      EXPECT_THAT(left_of(recorded.store, "long"), ::testing::AllOf(::testing::Ge(970), ::testing::Le(980)));
    }
  }
}

TEST(ResumedTime, ADelayedFlushComesInItsTimeWhereTheClockIsBehindAtAStart) {
  KeptDisk disk;
  {
    RecordedStore recorded{disk, kNow};
    recorded.store.ask(set("k", 0) + "flush_all 4\r\n");
  }
  RecordedStore recorded{disk, kNow - kDay};
  EXPECT_EQ(recorded.store.items().size(), 1U);
  recorded.store.machine.clock.advance_us(5 * kSecond);
  EXPECT_EQ(recorded.store.items().size(), 0U);
}

TEST(ResumedTime, ItemsExpiredByAClockAheadAtAStartStayGone) {
  KeptDisk disk;
  {
    RecordedStore recorded{disk, kNow};
    recorded.store.ask(set("short", 1000) + set("long", 200'000));
  }
  {
    RecordedStore ahead{disk, kNow + kDay};
    EXPECT_EQ(left_of(ahead.store, "short"), -1);
    EXPECT_EQ(left_of(ahead.store, "long"), 200'000 - 86'400);
  }
  for (int i = 0; i < 2; ++i) {
    RecordedStore right{disk, kNow + 2 * kSecond};
    EXPECT_EQ(left_of(right.store, "short"), -1);
    EXPECT_EQ(left_of(right.store, "long"), 200'000 - 86'400)
        << "no time passes until the clock has caught up";
  }
}

TEST(ResumedTime, AClockThatIsSetWhileAServerRunsChangesNoTimeToLiveAtTheNextStart) {
  for (const bool with_checkpoint : {false, true}) {
    for (const std::int64_t step : {std::int64_t{kDay}, -std::int64_t{kDay}}) {
      SCOPED_TRACE(::testing::Message() << with_checkpoint << ", " << step);
      KeptDisk disk;
      const std::uint64_t set_to = kNow + static_cast<std::uint64_t>(step);
      {
        RecordedStore recorded{disk, kNow};
        recorded.store.ask(set("before", 5000));
        recorded.store.machine.clock.set_wall_us(set_to);
        recorded.store.ask(set("behind", 5000) + "set at 0 " +
                           std::to_string((set_to + 5000 * kSecond) / kSecond) + " 1\r\nv\r\n");
        if (with_checkpoint) {
          checkpoint(recorded);
        }
      }
      for (std::uint64_t later = 100; later < 400; later += 100) {
        RecordedStore recorded{disk, set_to + later * kSecond};
        EXPECT_FALSE(recorded.recovered.clock_behind);
        for (const char* key : {"before", "behind", "at"}) {
          EXPECT_NEAR(left_of(recorded.store, key), 5000 - static_cast<int>(later), 2) << key;
        }
      }
    }
  }
}

TEST(ResumedTime, OfADirectoryWithoutAJournalIsTheWallClock) {
  const ResumedTime time = resumed_time({}, {}, kNow);
  EXPECT_EQ(time.steady_us, kNow);
  EXPECT_FALSE(time.clock_behind);
}

TEST(ResumedClock, IsAnotherClockButForItsSteadyTime) {
  runtime::ResumedClock<runtime::ManualClock> clock;
  clock.from().advance_us(5 * kSecond);
  EXPECT_EQ(clock.steady_us(), clock.from().steady_us());
  clock.resume_at(kNow + kDay);
  EXPECT_EQ(clock.steady_us(), kNow + kDay);
  EXPECT_EQ(clock.unix_us(), clock.from().unix_us());
  clock.from().advance_us(kSecond);
  EXPECT_EQ(clock.steady_us(), kNow + kDay + kSecond);
  EXPECT_EQ(clock.monotonic_ns(), clock.from().monotonic_ns());
  clock.resume_at(1);
  EXPECT_EQ(clock.steady_us(), 1U);
}

}  // namespace
}  // namespace mxkv::server::testing::resumed

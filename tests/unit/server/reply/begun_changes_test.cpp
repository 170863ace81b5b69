// The end of changes that began before some moment: by hand, and by threads.
#include "server/reply/begun_changes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace mxkv::server {
namespace {

struct Workers {
  Workers() {
    periods.set_hooks({.asked = [this] { ++asked; }, .ended = [this] { ++ended; }});
  }
  int asked = 0;
  int ended = 0;
  ChangePeriods periods;
  BegunChanges& one = periods.add_worker();
  BegunChanges& other = periods.add_worker();
};

TEST(BegunChanges, APeriodEndsWhenEachWorkerHasSeenItAndEndedItsChanges) {
  Workers workers;
  const BegunChanges::Mark mark = workers.one.begin(2);
  const std::uint64_t period = workers.periods.ask();
  EXPECT_EQ(workers.asked, 1);
  workers.other.look();
  workers.one.look();
  EXPECT_FALSE(workers.periods.has_ended(period)) << "two changes are in flight";
  workers.one.end(mark);
  EXPECT_FALSE(workers.periods.has_ended(period)) << "one change is in flight";
  EXPECT_EQ(workers.ended, 1);
  workers.one.end(mark);
  EXPECT_EQ(workers.ended, 2) << "the last change wakes the asker";
  EXPECT_TRUE(workers.periods.has_ended(period));
}

TEST(BegunChanges, AWorkerThatDoesNotLookHasNotEnded) {
  Workers workers;
  const std::uint64_t period = workers.periods.ask();
  workers.one.look();
  EXPECT_FALSE(workers.periods.has_ended(period));
  workers.other.look();
  EXPECT_TRUE(workers.periods.has_ended(period));
}

TEST(BegunChanges, LaterChangesDoNotDelayAPeriod) {
  Workers workers;
  const BegunChanges::Mark early = workers.one.begin();
  const std::uint64_t period = workers.periods.ask();
  workers.one.look();
  workers.other.look();
  const BegunChanges::Mark late = workers.one.begin();
  EXPECT_NE(early, late);
  workers.one.end(early);
  EXPECT_TRUE(workers.periods.has_ended(period));
  workers.one.end(late);
}

// Changes that began behind a period that is still open need the next one.
TEST(BegunChanges, APeriodThatWasAskedForEarlierDoesNotCoverLaterChanges) {
  Workers workers;
  const std::uint64_t first = workers.periods.ask();
  workers.one.look();
  const BegunChanges::Mark mark = workers.one.begin();
  const std::uint64_t second = workers.periods.ask();
  EXPECT_EQ(workers.asked, 1) << "the next period waits for the first";
  workers.other.look();
  EXPECT_TRUE(workers.periods.has_ended(first));
  EXPECT_EQ(workers.asked, 2);
  workers.one.look();
  workers.other.look();
  EXPECT_FALSE(workers.periods.has_ended(second));
  workers.one.end(mark);
  EXPECT_TRUE(workers.periods.has_ended(second));
}

TEST(BegunChanges, ManyQuestionsShareAPeriod) {
  Workers workers;
  const std::uint64_t first = workers.periods.ask();
  const std::uint64_t second = workers.periods.ask();
  EXPECT_EQ(workers.periods.ask(), second);
  EXPECT_NE(first, second);
}

TEST(BegunChanges, ANodeWithoutWorkersHasNone) {
  ChangePeriods periods;
  const std::uint64_t period = periods.ask();
  EXPECT_TRUE(periods.has_ended(period));
}

// A door is shut and a period asked for. Once it has ended, no worker is behind the door.
TEST(BegunChanges, NoChangeIsBehindAClosedDoor) {
  constexpr int kRounds = 300;
  constexpr std::size_t kWorkers = 3;
  ChangePeriods periods;
  std::atomic<bool> open{false};
  std::atomic<bool> ends{false};
  std::vector<BegunChanges*> all;
  for (std::size_t i = 0; i < kWorkers; ++i) {
    all.push_back(&periods.add_worker());
  }
  std::array<std::atomic<std::uint64_t>, kWorkers> inside{};  // relaxed: the period publishes them
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kWorkers; ++i) {
    threads.emplace_back([&, i] {
      std::minstd_rand dice{static_cast<unsigned>(i + 1)};
      std::vector<BegunChanges::Mark> in_flight;
      while (!ends.load(std::memory_order_relaxed)) {
        all[i]->look();
        if (in_flight.size() < 4 && open.load(std::memory_order_acquire)) {
          in_flight.push_back(all[i]->begin());
          inside[i].store(in_flight.size(), std::memory_order_relaxed);
        }
        if (!in_flight.empty() && dice() % 2 == 0) {
          std::swap(in_flight[dice() % in_flight.size()], in_flight.back());
          inside[i].store(in_flight.size() - 1, std::memory_order_relaxed);
          all[i]->end(in_flight.back());
          in_flight.pop_back();
        }
        std::this_thread::yield();
      }
      for (const BegunChanges::Mark mark : in_flight) {
        all[i]->end(mark);
      }
    });
  }
  for (int round = 0; round < kRounds; ++round) {
    open.store(true, std::memory_order_release);
    for (std::size_t i = 0; i < kWorkers && round % 8 == 0; ++i) {
      while (inside[i].load(std::memory_order_relaxed) == 0) {
        std::this_thread::yield();
      }
    }
    open.store(false, std::memory_order_release);
    const std::uint64_t period = periods.ask();
    while (!periods.has_ended(period)) {
      std::this_thread::yield();
    }
    for (const std::atomic<std::uint64_t>& count : inside) {
      EXPECT_EQ(count.load(std::memory_order_relaxed), 0U) << "round " << round;
    }
  }
  ends.store(true, std::memory_order_relaxed);
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace mxkv::server

// The log in memory over two workers: the steps of switching, epochs, batches, gaps.
#include "server/feed/memory_log.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::server {
namespace {

using index::cause;
using index::Change;
using runtime::WorkerId;

struct MemoryLogTest : ::testing::Test {
  explicit MemoryLogTest(std::size_t ring_bytes = std::size_t{1} << 20U)
      : log{{&machine[0], &machine[1]},
            commits,
            machine.clock,
            nullptr,
            {.tag = 5, .ring_bytes = ring_bytes, .linger_ns = 1'000'000, .epoch_ns = 0},
            {.wake = [this] { ++wakes; },
             .wake_worker = [this](std::size_t worker) { woken.push_back(worker); }}},
        source{log} {}

  static WorkerId id(std::size_t worker) { return WorkerId{static_cast<std::uint16_t>(worker)}; }
  void round(std::size_t worker) {
    log.begin_round(id(worker));
    log.end_round(id(worker));
  }
  void rounds() {
    round(0);
    round(1);
  }
  void step() {
    while (log.step(machine.clock.monotonic_ns())) {
    }
  }
  void turn_on() {
    log.want(true);
    for (int i = 0; i < 6 && !log.is_on(); ++i) {
      step();
      rounds();
    }
    step();
    ASSERT_TRUE(log.is_on());
    ASSERT_EQ(source.seek({5, source.through()}), position_state::ok);
  }
  void remove(std::size_t worker, std::string_view key, std::uint64_t order) {
    commits.pass({.change = Change::gone(cause::deleted, order), .key = key}, machine[worker]);
  }
  /// Keys of all further epochs, an epoch a word.
  std::vector<std::string> told() {
    std::vector<std::string> epochs;
    ChangeEpoch epoch;
    while (source.next(epoch) == ChangeSource::outcome::epoch) {
      std::string& keys = epochs.emplace_back();
      for (const ChangeRecord& change : epoch.records) {
        keys += std::get<GoneRecord>(change.record).key;
        keys += change.batch != 0 ? std::to_string(change.batch) : "";
      }
    }
    return epochs;
  }

  runtime::testing::Machine machine{runtime::testing::unpinned(2)};
  index::CommitPoint<std::string_view> commits;
  int wakes = 0;
  std::vector<std::size_t> woken;
  MemoryLog log;
  RingSource source;
};

TEST_F(MemoryLogTest, NobodyListensWhileNobodyWatches) {
  step();
  rounds();
  EXPECT_FALSE(commits.heard());
  EXPECT_TRUE(log.is_off());
  EXPECT_EQ(wakes, 0);
  EXPECT_EQ(log.next_step_ns(), ~std::uint64_t{0});
}

TEST_F(MemoryLogTest, EachStepOfSwitchingOnWaitsForAllWorkers) {
  log.want(true);
  step();
  EXPECT_EQ(woken, (std::vector<std::size_t>{0, 1}));
  round(0);
  step();
  EXPECT_FALSE(commits.heard()) << "worker 1 has no seat yet";
  round(1);
  step();
  EXPECT_TRUE(commits.heard());
  round(0);
  round(0);
  step();
  EXPECT_FALSE(log.is_on()) << "worker 1 is amid a round that may have begun without a listener";
  round(1);
  step();
  EXPECT_FALSE(log.is_on()) << "the epoch before the first one has not passed";
  rounds();
  step();
  EXPECT_TRUE(log.is_on());
  EXPECT_EQ(source.oldest(), (Position{5, log.passed()}));
}

TEST_F(MemoryLogTest, GivesTheRecordsOfAnEpochOnceAllWorkersHavePassedIt) {
  turn_on();
  log.begin_round(id(0));
  log.begin_round(id(1));
  remove(0, "a", 1);
  remove(1, "b", 2);
  log.end_round(id(0));
  step();
  round(0);
  EXPECT_TRUE(told().empty()) << "worker 1 may record more";
  log.end_round(id(1));
  step();
  rounds();
  step();
  EXPECT_EQ(told(), std::vector<std::string>{"ab"});
}

TEST_F(MemoryLogTest, ASleepingWorkerHoldsUpNoEpoch) {
  turn_on();
  log.begin_round(id(0));
  remove(0, "a", 1);
  log.end_round(id(0));
  log.park(id(0));
  log.park(id(1));
  step();
  EXPECT_EQ(told(), std::vector<std::string>{"a"});
}

TEST_F(MemoryLogTest, BatchesAreMarked) {
  turn_on();
  log.begin_round(id(0));
  log.begin_round(id(1));
  for (const std::size_t worker : {0U, 1U}) {
    remove(worker, "x", 1);
    index::CommitGroup<std::string_view> group = commits.group(machine[worker]);
    group.pass({.change = Change::gone(cause::deleted, 2), .key = "a"});
    group.pass({.change = Change::gone(cause::deleted, 3), .key = "b"});
  }
  log.end_round(id(0));
  log.end_round(id(1));
  step();
  rounds();
  step();
  EXPECT_EQ(told(), std::vector<std::string>{"xa1b1xa2b2"});
}

TEST_F(MemoryLogTest, PositionsAreJudged) {
  turn_on();
  const std::uint64_t first = log.passed();
  EXPECT_EQ(source.seek({6, first}), position_state::lost);
  EXPECT_EQ(source.seek({5, first + 1}), position_state::lost);
  EXPECT_EQ(source.seek({5, first - 1}), position_state::old);
}

TEST_F(MemoryLogTest, SwitchesOffOnceNobodyWatchesForAWhile) {
  turn_on();
  log.want(false);
  step();
  EXPECT_TRUE(log.is_on());
  machine.clock.advance_us(2'000);
  for (int i = 0; i < 4; ++i) {
    step();
    rounds();
  }
  step();
  EXPECT_TRUE(log.is_off());
  EXPECT_FALSE(commits.heard());
  const std::uint64_t before = log.passed();
  turn_on();
  EXPECT_EQ(source.seek({5, before}), position_state::old) << "nothing was recorded in between";
}

struct SmallRing : MemoryLogTest {
  SmallRing() : MemoryLogTest(100) {}
};

TEST_F(SmallRing, AnEpochThatIsTooLargeIsAGap) {
  turn_on();
  log.begin_round(id(0));
  for (std::uint64_t order = 1; order <= 20; ++order) {
    remove(0, "key", order);
  }
  log.end_round(id(0));
  log.park(id(0));
  log.park(id(1));
  step();
  ChangeEpoch epoch;
  EXPECT_EQ(source.next(epoch), ChangeSource::outcome::old);
  EXPECT_EQ(source.seek({5, log.passed()}), position_state::ok);
}

}  // namespace
}  // namespace mxkv::server

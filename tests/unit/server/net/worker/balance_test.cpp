// Which connections move where is a pure function of the workers' loads: tables of loads and the resulting moves.
#include "server/net/worker/balance.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "server/net/observe/run_delay.hpp"

namespace mxkv::server::test {
namespace {

using Chosen = std::vector<std::size_t>;

const BalanceRules kRules;
const runtime::NumaNodeId kNear{0};
const runtime::NumaNodeId kFar{1};

std::vector<WorkerBusy> workers(const std::vector<std::uint32_t>& busy) {
  std::vector<WorkerBusy> all;
  for (const std::uint32_t one : busy) {
    all.push_back({kNear, one});
  }
  return all;
}

std::optional<std::size_t> taker(const std::vector<std::uint32_t>& busy, std::size_t giver) {
  return choose_taker(kRules, workers(busy), giver);
}

std::vector<ConnectionWork> connections(const std::vector<std::uint64_t>& work) {
  std::vector<ConnectionWork> all;
  for (const std::uint64_t one : work) {
    all.push_back({one, true});
  }
  return all;
}

TEST(BusyThousandths, CountTimeNotIdleOrWaitingForACpu) {
  EXPECT_EQ(busy_thousandths(1'000'000, 250'000, 0), 750U);
  EXPECT_EQ(busy_thousandths(1'000'000, 900'000, 850'000), 950U);
  EXPECT_EQ(busy_thousandths(1'000'000, 100'000, 500'000), 1000U) << "it waited while it was busy, too";
  EXPECT_EQ(busy_thousandths(1'000'000, 5'000'000, 0), 0U) << "a sum that was counted twice";
}

TEST(RunDelay, OfAnUnknownThreadIsTheLastValue) {
  RunDelay delay;
  EXPECT_EQ(delay.sum_ns(7), 7U);
  delay.note_thread();
  const std::uint64_t first = delay.sum_ns(0);
  EXPECT_GE(delay.sum_ns(first), first);
}

TEST(ChooseTaker, TheIdleOneTakesFromTheBusyOne) {
  EXPECT_EQ(taker({1000, 0}, 0), 1U);
  EXPECT_EQ(taker({0, 1000}, 1), 0U);
  EXPECT_EQ(taker({1000, 0}, 1), std::nullopt) << "the idle one gives nothing";
}

TEST(ChooseTaker, NoWorkerTakesFromOneThatIsNotBusy) {
  EXPECT_EQ(taker({140, 0}, 0), std::nullopt);
}

TEST(ChooseTaker, NoWorkerTakesIfTheGapIsSmall) {
  EXPECT_EQ(taker({1000, 760}, 0), std::nullopt);
  EXPECT_EQ(taker({1000, 740}, 0), 1U);
  EXPECT_EQ(taker({200, 120}, 0), std::nullopt);
  EXPECT_EQ(taker({200, 90}, 0), 1U);
}

TEST(ChooseTaker, TheBusiestGivesToTheIdlestAndTheSecondToTheSecond) {
  const std::vector<std::uint32_t> busy{900, 50, 1000, 100, 500};
  EXPECT_EQ(taker(busy, 2), 1U);
  EXPECT_EQ(taker(busy, 0), 3U);
  EXPECT_EQ(taker(busy, 4), std::nullopt) << "in the middle";
  EXPECT_EQ(taker(busy, 3), std::nullopt);
}

TEST(ChooseTaker, GiversThatAreAsBusyHaveDifferentTakers) {
  const std::vector<std::uint32_t> busy{1000, 1000, 0, 0};
  EXPECT_NE(taker(busy, 0), taker(busy, 1));
  EXPECT_TRUE(taker(busy, 0).has_value() && taker(busy, 1).has_value());
}

TEST(ChooseTaker, OneOfTheSameNodeComesBeforeAnIdlerOneOfAnother) {
  const std::vector<WorkerBusy> two_nodes{{kNear, 1000}, {kNear, 600}, {kFar, 0}, {kFar, 0}};
  EXPECT_EQ(choose_taker(kRules, two_nodes, 0), 1U);
}

TEST(ChooseTaker, AnotherNodeMustHaveMuchLessToDo) {
  EXPECT_EQ(choose_taker(kRules,
                         std::vector<WorkerBusy>{{kNear, 1000}, {kNear, 1000}, {kFar, 600}, {kFar, 600}}, 0),
            std::nullopt);
  EXPECT_EQ(choose_taker(kRules,
                         std::vector<WorkerBusy>{{kNear, 1000}, {kNear, 1000}, {kFar, 600}, {kFar, 400}}, 0),
            3U);
}

TEST(ChooseConnections, HalfOfEqualOnesGo) {
  EXPECT_EQ(choose_connections(kRules, 1000, 1000, connections(std::vector<std::uint64_t>(8, 5))).size(), 4U);
  EXPECT_EQ(choose_connections(kRules, 1000, 1000, connections({5, 5})).size(), 1U);
}

TEST(ChooseConnections, OnlyTheGapIsDivided) {
  EXPECT_EQ(choose_connections(kRules, 1000, 500, connections(std::vector<std::uint64_t>(8, 5))).size(), 2U);
}

TEST(ChooseConnections, TheOneThatIsAllOfTheLoadStays) {
  EXPECT_EQ(choose_connections(kRules, 1000, 1000, connections({100})), Chosen{});
  EXPECT_EQ(choose_connections(kRules, 1000, 1000, connections({100, 0, 0})), Chosen{});
}

TEST(ChooseConnections, SmallOnesLeaveTheLargeOneBehind) {
  EXPECT_EQ(choose_connections(kRules, 1000, 1000, connections({80, 10, 10})), (Chosen{1, 2}));
}

TEST(ChooseConnections, OneThatIsALittleTooMuchGoesWhereThatIsNearer) {
  EXPECT_EQ(choose_connections(kRules, 1000, 1000, connections({40, 40, 20})), (Chosen{0}));
  EXPECT_EQ(choose_connections(kRules, 1000, 1000, connections({34, 33, 33})), (Chosen{0}));
  EXPECT_EQ(choose_connections(kRules, 1000, 1000, connections({55, 44, 1})), (Chosen{1, 2}));
}

TEST(ChooseConnections, NoneGoesForALittleGain) {
  EXPECT_EQ(choose_connections(kRules, 1000, 1000, connections({98, 1, 1})), Chosen{});
  EXPECT_EQ(choose_connections(kRules, 1000, 300, connections({50, 50})), Chosen{});
}

TEST(ChooseConnections, ThoseThatRestAreCountedAndStay) {
  std::vector<ConnectionWork> some = connections({25, 25, 25, 25});
  some[0].movable = some[1].movable = false;
  EXPECT_EQ(choose_connections(kRules, 1000, 1000, some), (Chosen{2, 3}));
}

TEST(ChooseConnections, NoMoreThanAllowedAtATime) {
  EXPECT_EQ(choose_connections(kRules, 1000, 1000, connections(std::vector<std::uint64_t>(10'000, 1))).size(),
            kRules.most_moves);
}

// After a move the two loads are nearer to each other, and the taker does not become a giver.
TEST(ChooseConnections, MovingBackWouldGainNothing) {
  for (std::uint64_t seed = 1; seed < 500; ++seed) {
    std::vector<std::uint64_t> work;
    for (std::uint64_t i = 0; i < 1 + seed % 23; ++i) {
      work.push_back((seed * 2'654'435'761U * (i + 1) >> 7U) % 1000);
    }
    const std::uint64_t all = std::accumulate(work.begin(), work.end(), std::uint64_t{0});
    if (all == 0) {
      continue;
    }
    const auto gap = static_cast<std::uint32_t>(100 + seed * 7 % 900);
    std::uint64_t moved = 0;
    for (const std::size_t i : choose_connections(kRules, 1000, gap, connections(work))) {
      moved += work[i];
    }
    const double change = 2.0 * static_cast<double>(moved) * 1000 / static_cast<double>(all);
    EXPECT_LE(std::abs(gap - change), gap) << seed;
  }
}

}  // namespace
}  // namespace mxkv::server::test

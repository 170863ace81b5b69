// Writes commit in the order sent, parked writes and writes without effect included.
#include "server/reply/commit_order.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "tests/unit/server/reply/fixture.hpp"

namespace mxkv::server::test {
namespace {

// Tasks are only passed along, so any distinct addresses do.
runtime::MxTask* task(std::uintptr_t n) {
  return reinterpret_cast<runtime::MxTask*>((n + 1) * 64);
}

TEST(CommitOrder, GivesTheTurnToTheOldestWriteThatDidNotEnd) {
  Memory memory;
  CommitOrder order{memory.pool};
  const CommitSeq a = order.start();
  const CommitSeq b = order.start();
  EXPECT_TRUE(order.is_turn(a));
  EXPECT_FALSE(order.is_turn(b));
  EXPECT_EQ(order.end(a), nullptr);
  EXPECT_TRUE(order.is_turn(b));
  EXPECT_EQ(order.in_flight(), 1U);
}

TEST(CommitOrder, ARowOfWritesEndsAtOnce) {
  Memory memory;
  CommitOrder order{memory.pool};
  const CommitSeq first = order.start_row(5);
  order.end_row(first, 3);
  EXPECT_EQ(order.in_flight(), 2U);
  EXPECT_TRUE(order.is_turn(first + 3));
  EXPECT_EQ(order.end(first + 3), nullptr);
  order.end_row(first + 4, 1);
  EXPECT_EQ(order.in_flight(), 0U);
}

TEST(CommitOrder, AParkedWriteComesBackWhenItsTurnComes) {
  Memory memory;
  CommitOrder order{memory.pool};
  const CommitSeq a = order.start();
  const CommitSeq b = order.start();
  const CommitSeq c = order.start();
  order.park(c, task(c));
  order.park(b, task(b));
  EXPECT_EQ(order.end(a), task(b));
  EXPECT_TRUE(order.is_turn(b));
  EXPECT_EQ(order.end(b), task(c));
  EXPECT_EQ(order.end(c), nullptr);
  EXPECT_EQ(order.in_flight(), 0U);
}

TEST(CommitOrder, ThoseThatAreParkedCanBeVisited) {
  Memory memory;
  CommitOrder order{memory.pool};
  std::vector<runtime::MxTask*> parked;
  const auto visit = [&] {
    parked.clear();
    order.for_each_parked([&](runtime::MxTask* each) { parked.push_back(each); });
    return parked;
  };
  std::vector<CommitSeq> seqs;
  for (int i = 0; i < 300; ++i) {
    seqs.push_back(order.start());
  }
  EXPECT_TRUE(visit().empty());
  order.park(seqs[299], task(299));
  order.park(seqs[2], task(2));
  EXPECT_EQ(order.end(seqs[1]), nullptr);  // ended before its turn: not parked
  EXPECT_EQ(visit(), (std::vector{task(2), task(299)}));
  EXPECT_EQ(order.end(seqs[0]), task(2));
  EXPECT_EQ(visit(), (std::vector{task(299)}));
}

TEST(CommitOrder, TheTurnPassesOverWritesThatEndedWithoutEffect) {
  Memory memory;
  CommitOrder order{memory.pool};
  const CommitSeq a = order.start();
  const CommitSeq b = order.start();
  const CommitSeq c = order.start();
  order.park(c, task(c));
  EXPECT_EQ(order.end(b), nullptr);
  EXPECT_EQ(order.end(a), task(c));
}

TEST(CommitOrder, TellsWhetherWritesOfThisNodeHaveEnded) {
  Memory memory;
  CommitOrder order{memory.pool};
  EXPECT_TRUE(order.has_ended(order.here_end())) << "there is none";
  const CommitSeq elsewhere = order.start();
  const CommitSeq here = order.start();
  EXPECT_TRUE(order.has_ended(order.here_end()));
  order.note_here(here);
  const CommitSeq end = order.here_end();
  EXPECT_FALSE(order.has_ended(end));
  EXPECT_EQ(order.end(elsewhere), nullptr);
  EXPECT_FALSE(order.has_ended(end));
  EXPECT_EQ(order.end(here), nullptr);
  EXPECT_TRUE(order.has_ended(end));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(order.end(order.start()), nullptr);
  }
  EXPECT_TRUE(order.has_ended(order.here_end()));
  EXPECT_EQ(order.here_end() - end, 3U) << "it keeps up, so that numbers may wrap around";
}

TEST(CommitOrder, CommitsInOrderWhateverTheOrderOfArrival) {
  std::mt19937 random{3};
  Memory memory;
  CommitOrder order{memory.pool};
  std::vector<CommitSeq> committed;
  for (int round = 0; round < 50; ++round) {
    std::vector<CommitSeq> arriving(1 + random() % 700);
    std::generate(arriving.begin(), arriving.end(), [&] { return order.start(); });
    std::vector<CommitSeq> expected = arriving;
    committed.clear();
    std::shuffle(arriving.begin(), arriving.end(), random);
    for (const CommitSeq seq : arriving) {
      if (!order.is_turn(seq)) {
        order.park(seq, task(seq));
        continue;
      }
      runtime::MxTask* next = task(seq);
      while (next != nullptr) {
        const auto turn = static_cast<CommitSeq>(reinterpret_cast<std::uintptr_t>(next) / 64 - 1);
        ASSERT_TRUE(order.is_turn(turn));
        committed.push_back(turn);
        next = order.end(turn);
      }
    }
    ASSERT_EQ(committed, expected);
  }
}

}  // namespace
}  // namespace mxkv::server::test

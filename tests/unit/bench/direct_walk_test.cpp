// A tree that threads walk by hand, under each guard: no key is lost, and no key is found that is not there.
#include "bench/figures/direct_walk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "bench/figures/tree_models.hpp"
#include "index/checker.hpp"

namespace mxkv::bench {
namespace {

using Walk = DirectWalk<IntegerTraits, VersionGuard>;
using AsFound = index::line_compare::AsFound;

struct DirectWalkUnder : ::testing::TestWithParam<runtime::primitive> {};

TEST_P(DirectWalkUnder, ThreadsInsertReadAndUpdateAllKeys) {
  constexpr std::uint64_t kKeys = 20'000;
  constexpr std::size_t kThreads = 3;
  ModelTree on{kThreads, all_nodes(GetParam())};
  for (const tree_operation what : {tree_operation::insert, tree_operation::read_update,
                                    tree_operation::update, tree_operation::look_up}) {
    SharedWork work{what, kKeys, kKeys, false, kThreads};
    run_threads(on, work);
    EXPECT_EQ(work.wrong(), 0U);
    EXPECT_TRUE(work.all_finished());
    const bool all_write = what == tree_operation::insert || what == tree_operation::update;
    EXPECT_EQ(work.written() == kKeys, all_write);
  }
  const auto report = index::Checker<IntegerTraits>::check(on.tree);
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.entries, kKeys);
}

INSTANTIATE_TEST_SUITE_P(Guards, DirectWalkUnder,
                         ::testing::Values(runtime::primitive::optimistic_latch,
                                           runtime::primitive::reader_writer_latch,
                                           runtime::primitive::spin_latch));

TEST(DirectWalk, ExistingKeysAreFoundWhileOthersInsertBesideThem) {
  constexpr std::uint64_t kThere = 2'000;
  constexpr std::uint64_t kMore = 40'000;
  ModelTree on{2, all_nodes(runtime::primitive::optimistic_latch)};
  SharedWork first{tree_operation::insert, kThere, kThere, false, 2};
  run_threads(on, first);
  SharedWork second{tree_operation::insert, kMore, kMore, false, 2};
  second.insert_from(kThere);
  std::atomic<bool> ended{false};
  std::uint64_t lost = 0;
  std::uint64_t rounds = 0;
  // It is in no epoch: inserts retire nothing.
  std::jthread reader{[&] {
    const Walk walk{on.tree};
    do {
      for (std::uint64_t i = 0; i < kThere; ++i) {
        std::uint64_t value = 0;
        lost += walk.look_up<AsFound>(key_of(i), value) && value == ~key_of(i) ? 0 : 1;
      }
      ++rounds;
    } while (!ended.load(std::memory_order_acquire));
  }};
  run_threads(on, second);
  ended.store(true, std::memory_order_release);
  reader.join();
  EXPECT_EQ(lost, 0U) << "in " << rounds << " rounds";
  EXPECT_EQ(second.wrong(), 0U);
}

TEST(DirectWalk, APutSaysWhetherTheKeyWasThereAndWhereALeafIsFull) {
  ModelTree on{1, all_nodes(runtime::primitive::optimistic_latch)};
  const Walk walk{on.tree};
  std::uint64_t key = 0;
  while (walk.put<AsFound>(key_of(key), 1) == Walk::written::inserted) {
    ++key;
  }
  EXPECT_GT(key, 1U);
  EXPECT_EQ(walk.put<AsFound>(key_of(key), 1), Walk::written::no_room);
  EXPECT_EQ(walk.put<AsFound>(key_of(0), 2), Walk::written::replaced);
  std::uint64_t value = 0;
  EXPECT_TRUE(walk.look_up<AsFound>(key_of(0), value));
  EXPECT_EQ(value, 2U);
  EXPECT_FALSE(walk.look_up<AsFound>(key_of(key), value));
}

TEST(SharedWork, HalfOfReadsAndUpdatesUpdateAndPopularRecordsRepeat) {
  constexpr std::uint64_t kKeys = 10'000;
  const std::vector<std::uint32_t> popular = popular_records(kKeys);
  ModelTree on{2, kPapersMix};
  SharedWork fill{tree_operation::insert, kKeys, kKeys, true, 2};
  run_mxtasks(on, fill, 16);
  SharedWork work{tree_operation::read_update, kKeys, kKeys, true, 2, &popular};
  run_mxtasks(on, work, 16);
  EXPECT_EQ(work.wrong(), 0U);
  EXPECT_NEAR(static_cast<double>(work.written()), kKeys / 2.0, kKeys * 0.05);
  std::vector<std::uint64_t> draws(kKeys, 0);
  for (const std::uint32_t record : popular) {
    ++draws[record];
  }
  EXPECT_GT(*std::ranges::max_element(draws), popular.size() / 50) << "YCSB's most popular has one of 26";
}

}  // namespace
}  // namespace mxkv::bench

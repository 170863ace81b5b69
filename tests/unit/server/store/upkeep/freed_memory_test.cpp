// Where nothing may be evicted, a store waits for memory that was freed and is on its way back, and for no other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "server/store/upkeep/leaf_evictions.hpp"
#include "server/store/upkeep/reclaim_passes.hpp"
#include "tests/unit/server/durability/text_store.hpp"

namespace mxkv::server::testing {
namespace {

/// A store without eviction, whose workers do the upkeep in each round.
class FreedMemory : public ::testing::Test {
 protected:
  FreedMemory() {
    store.store.set_upkeep({.defragments = true, .evicts = false});
    let_time_pass(20);
  }
  static constexpr const char* kStored = "STORED\r\n";
  static constexpr const char* kRefused = "SERVER_ERROR out of memory storing object\r\n";

  static std::string set_of(const std::string& key, std::size_t bytes) {
    return "set " + key + " 0 0 " + std::to_string(bytes) + "\r\n" + std::string(bytes, 'x') + "\r\n";
  }
  /// From now on a round takes so long.
  void let_time_pass(std::uint64_t round_us) {
    store.ends_round = [this, round_us](std::size_t worker) {
      store.store.maintain(store.machine[worker]);
      store.machine.clock.advance_us(round_us);
    };
  }
  /// Stores values of so many bytes until one is refused. Returns how many.
  int fill(std::size_t bytes) {
    int stored = 0;
    std::string answer;
    while ((answer = store.ask(set_of("k" + std::to_string(stored), bytes))) == kStored) {
      ++stored;
    }
    EXPECT_EQ(answer, kRefused);
    return stored;
  }
  [[nodiscard]] std::uint64_t rounds() { return store.machine[0].counters().rounds.load(); }
  /// Starts the removal of all items on a worker.
  void remove_all_on(std::size_t worker) {
    runtime::Worker& on = store.machine[worker];
    on.spawn(runtime::testing::lambda_task(on, [this](runtime::MxTask&, runtime::Worker& current) {
      auto* node = static_cast<ItemNode*>(store.store.tree().root().object());
      while (!node->leaf()) {
        node = index::detail::node_of<ItemNode>(node->value(false, index::Position{}));
      }
      for (; node != nullptr; node = index::detail::node_of<ItemNode>(node->right())) {
        index::Entries entries;
        node->copy_entries(node->meta(), false, entries);
        LeafEvictions removals;
        for (unsigned i = 0; i < entries.count; ++i) {
          removals.add(entries.values[i]);
        }
        if (!removals.empty()) {
          removals.start(*node, nullptr, current);
        }
      }
      return runtime::step::done;
    }));
    store.run_until_idle();
    ASSERT_EQ(store.items().size(), 0U);
  }

  TextStore store{2, std::size_t{24} << 20U};
};

/// A task that may read all that is removed meanwhile.
class PinnedReader {
 public:
  explicit PinnedReader(TextStore& store) : store_(store) {
    runtime::Worker& worker = store.machine[0];
    worker.spawn(
        runtime::testing::lambda_task(worker, [this](runtime::MxTask& self, runtime::Worker& current) {
          if (parked_ == nullptr) {
            current.pin(self);
            parked_ = &self;
            return runtime::step::parked;
          }
          current.unpin(self);
          return runtime::step::done;
        }));
    store.run_until_idle();
  }
  PinnedReader(const PinnedReader&) = delete;
  PinnedReader& operator=(const PinnedReader&) = delete;
  void end() { store_.machine[0].spawn(parked_); }

 private:
  TextStore& store_;
  runtime::MxTask* parked_ = nullptr;
};

TEST_F(FreedMemory, IsWaitedForUntilAnotherWorkerHasFreedIt) {
  const int stored = fill(100'000);
  ASSERT_GT(stored, 50);
  PinnedReader reader{store};
  remove_all_on(1);
  ASSERT_GT(store.machine[1].retired_bytes(), std::size_t{8} << 20U);
  reader.end();
  const std::uint64_t epoch_us = std::uint64_t{store.machine.runtime.options().epoch.interval_ms} * 1000;
  const std::uint64_t begin_us = store.machine.clock.steady_us();
  ASSERT_EQ(store.ask(set_of("new", 100'000)), kStored);
  EXPECT_LT(store.machine.clock.steady_us() - begin_us, epoch_us) << "and not for the usual end of an epoch";
  for (int i = 0; i < stored * 8 / 10; ++i) {
    ASSERT_EQ(store.ask(set_of("new" + std::to_string(i), 100'000)), kStored) << i;
  }
}

TEST_F(FreedMemory, IsNotWaitedForForeverWhileATaskMayReadIt) {
  fill(100'000);
  PinnedReader reader{store};
  remove_all_on(1);
  let_time_pass(1000);
  const std::uint64_t begin_us = store.machine.clock.steady_us();
  std::string answer;
  for (int i = 0; (answer = store.ask(set_of("new" + std::to_string(i), 100'000))) == kStored; ++i) {
    ASSERT_LT(i, 5) << "none of it is free";
  }
  EXPECT_EQ(answer, kRefused);
  const std::uint64_t waited_us = store.machine.clock.steady_us() - begin_us;
  EXPECT_GE(waited_us, 500'000U);
  EXPECT_LT(waited_us, 1'100'000U);
  const std::uint64_t begin = rounds();
  EXPECT_EQ(store.ask(set_of("more", 100'000)), kRefused);
  EXPECT_LT(rounds() - begin, 20U) << "nothing was freed since then";
  reader.end();
  store.run_until_idle();
}

TEST_F(FreedMemory, IsWaitedForWhileAClearedTreeIsTakenApart) {
  const int stored = fill(2000);
  ASSERT_GT(stored, 5000);
  ASSERT_EQ(store.ask("flush_all\r\n"), "OK\r\n");
  for (int i = 0; i < stored * 9 / 10; ++i) {
    ASSERT_EQ(store.ask(set_of("new" + std::to_string(i), 2000)), kStored) << i;
  }
}

TEST_F(FreedMemory, AFullStoreRefusesAtOnce) {
  fill(600);
  EXPECT_EQ(store.ask(set_of("one", 100'000)), kRefused);
  const std::uint64_t begin = rounds();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(store.ask(set_of("more", 100'000)), kRefused);
  }
  EXPECT_LT(rounds() - begin, 20 * 20U) << "no request waited";
  EXPECT_EQ(store.store.total(counter::items_moved), 0U);
}

TEST_F(FreedMemory, TwoDeletedItemsMakeRoomForOneInTurn) {
  const int stored = fill(100'000);
  for (int i = 0; i + 1 < stored; i += 2) {
    ASSERT_EQ(store.ask("delete k" + std::to_string(i) + "\r\n"), "DELETED\r\n");
    ASSERT_EQ(store.ask("delete k" + std::to_string(i + 1) + "\r\n"), "DELETED\r\n");
    ASSERT_EQ(store.ask(set_of("new" + std::to_string(i), 100'000)), kStored) << i;
  }
}

// The clock stands until the store is in fragments, so that nothing is gathered by then.
TEST_F(FreedMemory, ThatLiesInFragmentsIsGathered) {
  const int stored = fill(600);
  let_time_pass(0);
  for (int i = 0; i < stored; ++i) {
    if (i % 10 != 0) {
      ASSERT_EQ(store.ask("delete k" + std::to_string(i) + "\r\n"), "DELETED\r\n");
    }
  }
  ASSERT_EQ(store.store.total(counter::items_moved), 0U);
  const std::size_t before = store.items().size();
  let_time_pass(20);
  constexpr int kLarge = 60;
  for (int i = 0; i < kLarge; ++i) {
    ASSERT_EQ(store.ask(set_of("large" + std::to_string(i), 100'000)), kStored) << i;
  }
  EXPECT_GT(store.store.total(counter::items_moved), 0U);
  EXPECT_EQ(store.items().size(), before + kLarge) << "nothing was removed for them";
}

TEST_F(FreedMemory, ThatLayInFragmentsMayBeUsedUpAndThenRequestsAreRefusedAtOnce) {
  const int stored = fill(600);
  let_time_pass(0);
  for (int i = 0; i < stored; i += 2) {
    ASSERT_EQ(store.ask("delete k" + std::to_string(i) + "\r\n"), "DELETED\r\n");
  }
  let_time_pass(20);
  int large = 0;
  while (store.ask(set_of("large" + std::to_string(large), 100'000)) == kStored) {
    ASSERT_LT(++large, 240) << "the limit holds";
  }
  EXPECT_GT(large, 40) << "half of the items' memory was free";
  const std::uint64_t walked = store.store.total(counter::seen_started);
  const std::uint64_t begin = rounds();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(store.ask(set_of("more", 100'000)), kRefused);
  }
  EXPECT_LT(rounds() - begin, 20 * 20U);
  EXPECT_EQ(store.store.total(counter::seen_started), walked) << "no walk is made in vain again";
}

/// Passes on two workers, which the test steps.
class ReclaimPassesTest : public ::testing::Test {
 protected:
  ReclaimPassesTest() {
    kind =
        machine.runtime.add_reclaim_kind([](runtime::Worker&, void* times) { ++*static_cast<int*>(times); });
    step();
  }
  void step(std::size_t worker) {
    machine[worker].step();
    passes.tick(machine[worker]);
    machine.clock.advance_us(1000);
  }
  void step() {
    step(0);
    step(1);
  }
  [[nodiscard]] bool ended(std::uint32_t pass) {
    return passes.ended(pass, machine[0]) && passes.ended(pass, machine[1]);
  }

  int freed = 0;  // the machine's end frees the rest
  runtime::testing::Machine machine{2};
  ReclaimPasses passes{2};
  runtime::ReclaimKind kind{0};
};

TEST_F(ReclaimPassesTest, EndWhenEachWorkerHasFreedWhatItHadRetired) {
  machine[0].retire(&freed, kind, 1);
  machine[1].retire(&freed, kind, 1);
  const std::uint32_t pass = passes.want();
  for (int i = 0; i < 10; ++i) {
    step(0);
  }
  EXPECT_FALSE(passes.ended(pass, machine[0])) << "the other worker has done nothing";
  for (int i = 0; i < 4; ++i) {
    step();
  }
  EXPECT_TRUE(ended(pass));
  EXPECT_EQ(freed, 2);
}

TEST_F(ReclaimPassesTest, WaitWhileATaskMayReadWhatIsRetiredForHalfASecondAtMost) {
  runtime::MxTask* parked = nullptr;
  machine[0].spawn(
      runtime::testing::lambda_task(machine[0], [&parked](runtime::MxTask& self, runtime::Worker& worker) {
        if (parked == nullptr) {
          worker.pin(self);
          parked = &self;
          return runtime::step::parked;
        }
        worker.unpin(self);
        return runtime::step::done;
      }));
  step();
  machine[1].retire(&freed, kind, 1);
  const std::uint32_t pass = passes.want();
  for (int i = 0; i < 100; ++i) {
    step();
  }
  EXPECT_FALSE(passes.ended(pass, machine[0]) || passes.ended(pass, machine[1]));
  for (int i = 0; i < 200; ++i) {
    step();
  }
  EXPECT_TRUE(ended(pass));
  EXPECT_EQ(freed, 0);
  const std::uint32_t next = passes.want();
  machine[0].spawn(parked);
  for (int i = 0; i < 5; ++i) {
    step();
  }
  EXPECT_TRUE(ended(next));
  EXPECT_EQ(freed, 1);
}

TEST_F(ReclaimPassesTest, DoNotWaitForWhatIsRetiredAfterTheyBegan) {
  machine[0].retire(&freed, kind, 1);
  const std::uint32_t pass = passes.want();
  for (int i = 0; !ended(pass); ++i) {
    ASSERT_LT(i, 10);
    step();
    machine[0].retire(&freed, kind, 1);
  }
  EXPECT_GE(freed, 1);
  const std::uint32_t second = passes.want();
  const std::uint32_t third = passes.want();
  for (int i = 0; !ended(third); ++i) {
    ASSERT_LT(i, 10);
    EXPECT_FALSE(ended(second)) << "one stands for both";
    step();
  }
  EXPECT_TRUE(ended(second));
}

TEST_F(ReclaimPassesTest, BringBlocksHomeSoThatTheirSpansGoBack) {
  std::vector<void*> blocks;
  const std::size_t spans = machine.runtime.item_space().span_bytes();
  for (int i = 0; i < 100; ++i) {
    blocks.push_back(machine[0].items().allocate(8000));
    ASSERT_NE(blocks.back(), nullptr);
  }
  for (void* const block : blocks) {
    machine[1].items().release(block);
  }
  EXPECT_GT(machine.runtime.item_space().span_bytes(), spans);
  const std::uint32_t pass = passes.want();
  for (int i = 0; !ended(pass); ++i) {
    ASSERT_LT(i, 5);
    step();
  }
  EXPECT_EQ(machine.runtime.item_space().span_bytes(), spans);
}

TEST_F(ReclaimPassesTest, FreeALongListInSteps) {
  constexpr int kObjects = 20'000;
  std::vector<int> objects(kObjects);
  for (int& object : objects) {
    machine[0].retire(&object, kind, 1);
  }
  const std::uint32_t pass = passes.want();
  int most = 0;
  for (int i = 0; !ended(pass); ++i) {
    ASSERT_LT(i, 100);
    const auto count = [&objects] {
      int sum = 0;
      for (const int times : objects) {
        sum += times;
      }
      return sum;
    };
    const int before = count();
    passes.tick(machine[0]);
    most = std::max(most, count() - before);
    step(1);
    machine[0].step();
  }
  EXPECT_GT(most, 0);
  EXPECT_LT(most, 5000) << "replies of other requests wait meanwhile";
}

}  // namespace
}  // namespace mxkv::server::testing

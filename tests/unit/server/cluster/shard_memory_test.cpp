// A follower holds what the log says: a store with recorded changes, and a store to which the records were applied, have
// the same items.
#include "server/cluster/shard_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "index/checker.hpp"
#include "server/cluster/routes.hpp"
#include "tests/sanitized.hpp"
#include "tests/unit/index/turned_leaf.hpp"
#include "tests/unit/server/cluster/fed_store.hpp"
#include "tests/unit/server/cluster/some_change.hpp"

namespace mxkv::server::testing {
namespace {

TEST(ShardMemory, HoldsTheItemsOfTheOwner) {
  std::size_t most = 0;
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 12U : 48U); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    runtime::Random random{seed};
    FedStore owner{1 + seed % 4, seed};
    // Every other one has leaves whose writers run in workers' pools now and then.
    const bool hot = seed % 2 != 0;
    FedStore follower{1 + seed / 4 % 4, seed, std::size_t{256} << 20U, nullptr, hot};
    for (int i = 0; i < 300; ++i) {
      owner.store.ask(some_change(random));
      if (random.below(200) == 0) {
        owner.store.ask("flush_all\r\n");
      }
      if (random.below(12) == 0) {
        follower.memory.apply(0, owner.take_group());
      }
      if (hot && random.below(8) == 0) {
        index::testing::heat_all_leaves(follower.store.store.tree(), follower.store.machine[0]);
      }
      for (std::uint64_t steps = random.below(20); steps > 0; --steps) {
        follower.store.step(random.below(follower.store.machine.runtime.worker_count()));
      }
      if (random.below(60) == 0) {
        follower.settle();
      }
    }
    follower.memory.apply(0, owner.take_group());
    follower.settle();
    const ItemsSeen items = owner.store.items();
    EXPECT_EQ(recorded_of(follower.store.items()), recorded_of(items));
    EXPECT_TRUE(index::Checker<ItemTraits>::check(follower.store.store.tree()).ok());
    EXPECT_EQ(follower.item_count(), items.size());
    EXPECT_EQ(follower.item_bytes() > 0, !items.empty());
    EXPECT_GE(follower.store.store.greatest_order(0), follower.memory.greatest_order());
    EXPECT_EQ(follower.take_group(), "") << "what is applied is not recorded again";
    EXPECT_GT(follower.woken, 0);
    most = std::max(most, items.size());
  }
  EXPECT_GT(most, 20U);
}

TEST(ShardMemory, ALogMayBeAppliedAgainFromAnEarlierPosition) {
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 6U : 30U); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    runtime::Random random{seed};
    FedStore owner{2, seed};
    FedStore follower{1 + seed % 3, seed};
    std::vector<std::string> groups;
    for (int i = 0; i < 30; ++i) {
      for (std::uint64_t n = random.below(12); n > 0; --n) {
        owner.store.ask(some_change(random));
      }
      groups.push_back(owner.take_group());
      follower.memory.apply(0, groups.back());
      if (random.below(4) == 0) {
        for (std::size_t again = random.below(groups.size()); again < groups.size(); ++again) {
          follower.memory.apply(0, groups[again]);
        }
        follower.settle();
        ASSERT_EQ(recorded_of(follower.store.items()), recorded_of(owner.store.items()));
      }
    }
    follower.settle();
    EXPECT_EQ(follower.item_count(), owner.store.items().size());
  }
}

/// A follower to which a test applies records one by one.
struct Told {
  explicit Told(std::size_t workers = 2, const Routes* routes = nullptr, std::size_t memory = 64U << 20U)
      : follower(workers, 1, memory, routes) {}
  template <class... R>
  void tell(std::uint32_t shard, const R&... records) {
    std::string body;
    (RecordBody::add_record(body, records), ...);
    follower.memory.apply(shard, body);
  }
  void put(std::uint64_t order, std::string_view key, std::string_view value = "v") {
    tell(0, PutRecord{.order = order, .key = key, .value = value});
  }
  /// The existing keys, each followed by a blank.
  std::string keys() {
    follower.settle();
    std::string all;
    for (const auto& [key, item] : follower.store.items()) {
      all += key + " ";
    }
    return all;
  }
  ItemSeen item(const std::string& key) {
    follower.settle();
    return follower.store.items()[key];
  }
  FedStore follower;
};

TEST(ShardMemory, AnOlderRecordChangesNothing) {
  Told told;
  told.put(10, "k", "ten");
  for (const std::uint64_t order : {1U, 9U}) {
    told.put(order, "k", "older");
    told.tell(0, GoneRecord{.order = order, .key = "k"});
    told.tell(0, TouchRecord{.order = order, .key = "k", .expiry = 2'000'000'000});
    told.tell(0, RangeGoneRecord{.order = order, .bounds = {.has_no_end = true}});
    told.tell(0, RangeTouchRecord{.order = order,
                                  .bounds = {.has_no_end = true},
                                  .moment_us = 1'700'000'000'000'000,
                                  .expiry = 2'000'000'000});
    told.tell(0, FlushRecord{order});
    EXPECT_EQ(told.item("k"), (ItemSeen{.value = "ten", .order = 10, .cas = 10}));
  }
  told.tell(0, TouchRecord{.order = 11, .key = "k", .expiry = 2'000'000'000});
  EXPECT_EQ(told.item("k"), (ItemSeen{.value = "ten", .order = 10, .cas = 10, .expiry = 2'000'000'000}));
  told.tell(0, TouchRecord{.order = 12, .key = "k", .expiry = 0});
  EXPECT_EQ(told.item("k"), (ItemSeen{.value = "ten", .order = 10, .cas = 10}));
  told.tell(0, GoneRecord{.order = 12, .key = "k"}, GoneRecord{.order = 13, .key = "none"});
  EXPECT_EQ(told.keys(), "");
  EXPECT_EQ(told.follower.memory.greatest_order(), 13U);
  EXPECT_GE(told.follower.store.store.greatest_order(0), 13U);
}

TEST(ShardMemory, ARangeChangeIsOrderedBetweenEarlierAndLaterRecords) {
  Told told{3};
  for (int i = 0; i < 200; ++i) {
    told.put(10, "a" + std::to_string(i));
    told.put(10, "b" + std::to_string(i));
  }
  told.follower.memory.drop(0, "a", "b");
  told.put(5, "a1");  // its order is older than the drop, but it is applied now
  told.tell(1, RangeGoneRecord{.order = 20, .bounds = {.from = "b0", .to = "b9", .to_is_open = true}});
  told.put(15, "b7");
  EXPECT_EQ(told.follower.memory.finished(0), 0U);
  EXPECT_GT(told.follower.memory.waiting_bytes(), 0U);
  std::string left = "a1 b7 b9 ";
  for (int i = 90; i < 100; ++i) {
    left += "b" + std::to_string(i) + " ";
  }
  EXPECT_EQ(told.keys(), left);
  told.follower.memory.drop(0, "b", "");
  EXPECT_EQ(told.keys(), "a1 ");
  told.follower.memory.drop(0, "", "");
  EXPECT_EQ(told.keys(), "");
  EXPECT_EQ(told.follower.item_count(), 0U);
  EXPECT_EQ(told.follower.item_bytes(), 0U);
}

TEST(ShardMemory, ARangeIsKeptWithinItsShard) {
  const Routes routes{{"b", "c"}};
  Told told{2, &routes};
  const auto fill = [&told] {
    for (const char* key : {"a1", "b", "b1", "c", "c1"}) {
      told.put(10, key);
    }
    told.follower.settle();
  };
  fill();
  told.tell(1, FlushRecord{20});
  EXPECT_EQ(told.keys(), "a1 c c1 ");
  fill();
  told.tell(0, FlushRecord{20});
  EXPECT_EQ(told.keys(), "b b1 c c1 ");
  fill();
  told.tell(2, RangeGoneRecord{.order = 20, .bounds = {.from = "a", .to = "c1", .to_is_open = true}});
  EXPECT_EQ(told.keys(), "a1 b b1 c1 ");
  fill();
  told.tell(1,
            RangeGoneRecord{.order = 20, .bounds = {.from = "b", .from_is_open = true, .has_no_end = true}});
  EXPECT_EQ(told.keys(), "a1 b c c1 ");
}

TEST(ShardMemory, ItemsExpireByTheClockThatThisProcessHas) {
  Told told;
  auto& clock = told.follower.store.machine.clock;
  clock.set_wall_us(clock.steady_us() + 500'000'000);
  const auto in_s = [&clock](std::uint64_t s) {
    return static_cast<std::uint32_t>(clock.unix_us() / kUsPerSecond + s);
  };
  told.tell(
      0, PutRecord{.order = 1, .key = "soon", .value = "v", .expiry = in_s(5)},
      PutRecord{.order = 1, .key = "later", .value = "v", .expiry = in_s(100)},
      PutRecord{.order = 1, .key = "touched", .value = "v", .expiry = in_s(5)},
      PutRecord{.order = 1, .key = "all", .value = "v"}, TouchRecord{2, "touched", in_s(100)},
      // Only items that were alive then.
      RangeTouchRecord{
          .order = 3, .bounds = {.from = "a", .to = "all"}, .moment_us = clock.unix_us(), .expiry = in_s(50)},
      RangeTouchRecord{.order = 4,
                       .bounds = {.from = "s", .to = "sz"},
                       .moment_us = clock.unix_us() + 6'000'000,
                       .expiry = in_s(50)});
  EXPECT_EQ(told.item("touched").expiry, clock.steady_us() / kUsPerSecond + 100);
  EXPECT_EQ(told.keys(), "all later soon touched ");
  EXPECT_EQ(told.follower.item_count(), 4U);
  EXPECT_TRUE(told.follower.store.store.sweep().expects());
  clock.advance_us(6'000'000);
  EXPECT_EQ(told.keys(), "all later touched ");
  for (int i = 0; i < 20; ++i) {
    clock.advance_us(10'000'000);
    told.follower.store.store.maintain(told.follower.store.machine[0]);
    told.follower.settle();
  }
  EXPECT_EQ(told.follower.item_count(), 0U) << "a sweep has found them";
  EXPECT_EQ(told.follower.take_group(), "");
}

TEST(ShardMemory, ATouchThatComesLateFindsItsItem) {
  for (const bool held : {false, true}) {
    Told told;
    Store& store = told.follower.store.store;
    auto& clock = told.follower.store.machine.clock;
    const auto in_s = [now_s = clock.unix_us() / kUsPerSecond](std::uint64_t s) {
      return static_cast<std::uint32_t>(now_s + s);
    };
    const auto sweep = [&] {
      for (int i = 0; i < 12; ++i) {
        clock.advance_us(10'000'000);
        store.maintain(told.follower.store.machine[0]);
        told.follower.settle();
      }
    };
    store.hold_expired(held ? clock.steady_us() + 1'000'000 : ~std::uint64_t{0});
    told.tell(0, PutRecord{.order = 1, .key = "k", .value = "v", .expiry = in_s(5)});
    told.follower.settle();
    sweep();
    EXPECT_EQ(told.keys(), "") << "it has expired";
    EXPECT_EQ(told.follower.item_count(), held ? 1U : 0U);
    told.tell(0, TouchRecord{2, "k", in_s(1000)});
    EXPECT_EQ(told.keys(), held ? "k " : "");
    store.hold_expired(~std::uint64_t{0});
    clock.advance_us(1'000'000'000);
    sweep();
    EXPECT_EQ(told.follower.item_count(), 0U);
  }
}

TEST(ShardMemory, ADelayedFlushIsLeftOut) {
  Told told;
  told.put(1, "k");
  told.tell(0, FlushAtRecord{2, 3, 1});
  EXPECT_EQ(told.keys(), "k ");
  EXPECT_EQ(told.follower.memory.ignored_flushes(), 1U);
}

TEST(ShardMemory, AnInvalidRecordStopsItsShardUntilThatIsDropped) {
  const auto failure = [](const std::string& body) {
    const Routes routes{{"m"}};
    Told told{2, &routes};
    ShardMemory& memory = told.follower.memory;
    told.put(1, "k");
    memory.apply(0, body);
    EXPECT_TRUE(memory.failed(0));
    EXPECT_FALSE(memory.failed(1));
    const std::string why = memory.failure(0);
    told.put(2, "later");
    told.tell(1, PutRecord{.order = 3, .key = "other", .value = "v"});
    told.follower.store.run_until_idle();
    EXPECT_EQ(memory.finished(0), 3U) << "skipped calls end, too";
    EXPECT_EQ(memory.finished(1), 1U);
    EXPECT_EQ(memory.waiting_bytes(), 0U);
    EXPECT_EQ(told.follower.store.items().count("later"), 0U);
    EXPECT_EQ(told.follower.store.items().count("other"), 1U);
    memory.drop(0, "", "m");
    EXPECT_FALSE(memory.failed(0));
    EXPECT_EQ(memory.failure(0), "");
    told.put(2, "again");
    told.follower.store.run_until_idle();
    EXPECT_EQ(told.follower.store.items().count("again"), 1U);
    EXPECT_EQ(told.follower.store.items().count("other"), 1U);
    EXPECT_EQ(told.follower.item_count(), 2U);
    return why;
  };
  EXPECT_EQ(failure("123"), "an entry is cut off");
  for (const PutRecord& put : {PutRecord{.order = 1, .key = ""}, PutRecord{.order = 0, .key = "k"}}) {
    std::string body;
    RecordBody::add_record(body, put);
    EXPECT_EQ(failure(body), "a record of a type that owners never write");
  }
  const std::string long_key(251, 'k');
  std::string body;
  RecordBody::add_record(body, RangeGoneRecord{.order = 1, .bounds = {.from = long_key, .has_no_end = true}});
  EXPECT_EQ(failure(body), "a record of a type that owners never write");
}

/// A follower of two shards, the keys below "m" and the others, in little memory.
struct Short {
  Short() { told.follower.store.machine.clock.advance_us(1); }
  [[nodiscard]] bool has_ended() const {
    return memory.finished(0) == memory.begun(0) && memory.finished(1) == memory.begun(1);
  }
  /// Lets time pass until all calls have ended, or for so many rounds.
  void run(int rounds = 400) {
    for (int i = 0; !has_ended() && i < rounds; ++i) {
      told.follower.store.step(0);
      told.follower.store.step(1);
      told.follower.store.machine.clock.advance_us(10'000);
    }
  }
  /// Applies records of a shard, each of its own key, until memory lacks one. Returns how many were applied.
  std::uint64_t fill(std::uint32_t shard) {
    std::uint64_t applied = 0;
    for (; !memory.failed(shard) && applied < 4000; ++applied) {
      put(shard, applied);
      run();
    }
    EXPECT_TRUE(has_ended()) << "a call that fails ends as well";
    return applied - 1;
  }
  void put(std::uint32_t shard, std::uint64_t number) {
    const std::string key = (shard == 0 ? "a" : "z") + std::to_string(number);
    told.tell(shard, PutRecord{.order = ++order, .key = key, .value = value});
  }

  const std::string value = std::string(8000, 'v');
  std::uint64_t order = 0;
  const Routes routes{{"m"}};
  Told told{2, &routes, 16U << 20U};
  ShardMemory& memory = told.follower.memory;
};

TEST(ShardMemory, AShardWithoutMemoryFailsAlone) {
  Short a;
  a.put(1, 0);
  const std::uint64_t applied = a.fill(0);
  EXPECT_GT(applied, 100U);
  EXPECT_EQ(a.memory.failure(0), "out of memory while applying the log");
  EXPECT_FALSE(a.memory.failed(1));
  EXPECT_EQ(a.memory.failures(), 1U);
  EXPECT_EQ(a.told.follower.item_count(), applied + 1);
  EXPECT_EQ(a.memory.waiting_bytes(), 0U) << "nothing waits for it for ever";
  a.told.tell(0, GoneRecord{.order = ++a.order, .key = "a1"});
  a.told.tell(1, GoneRecord{.order = ++a.order, .key = "z0"});
  a.run();
  EXPECT_EQ(a.told.follower.store.items().count("a1"), 1U) << "its later records are skipped";
  EXPECT_EQ(a.told.follower.store.items().count("z0"), 0U);
}

TEST(ShardMemory, AShardThatWasDroppedCanBeAppliedAgain) {
  Short a;
  (void)a.fill(0);
  a.memory.drop(0, "", "m");
  EXPECT_FALSE(a.memory.failed(0));
  for (std::uint64_t i = 0; i < 100; ++i) {
    a.put(0, i);
  }
  a.run();
  EXPECT_FALSE(a.memory.failed(0));
  EXPECT_EQ(a.told.follower.item_count(), 100U);
  EXPECT_TRUE(a.has_ended());
}

// Both shards wait for memory. The drop of one of them gives it to the other.
TEST(ShardMemory, ADropDoesNotWaitForOtherShardsThatLackMemory) {
  Short a;
  const std::uint64_t applied = a.fill(0);
  ASSERT_GT(applied, 100U);
  for (std::uint64_t i = 0; i < 200; ++i) {
    a.put(1, i);  // on both workers
  }
  a.run(10);
  EXPECT_FALSE(a.has_ended());
  a.memory.drop(0, "", "m");
  a.put(0, 1);
  a.run();
  EXPECT_TRUE(a.has_ended());
  EXPECT_FALSE(a.memory.failed(0));
  EXPECT_FALSE(a.memory.failed(1));
  EXPECT_EQ(a.told.follower.item_count(), 201U);
}

TEST(ShardMemory, AShardThatGivesWayFailsInPlaceOfOthers) {
  Short a;
  const std::uint64_t applied = a.fill(0);
  a.memory.drop(0, "", "m");
  for (std::uint64_t i = 0; i < applied / 2; ++i) {
    a.put(0, i);
  }
  a.run();
  a.memory.give_way(0, true);
  std::uint64_t others = 0;
  for (; !a.memory.failed(0) && others < 4000; ++others) {
    a.put(1, others);
    a.run(150);  // the patience of one shard
  }
  EXPECT_FALSE(a.memory.failed(1));
  EXPECT_FALSE(a.has_ended()) << "the last record waits for the other shard's memory";
  a.memory.drop(0, "", "m");
  a.run();
  EXPECT_EQ(a.told.follower.item_count(), others);
  EXPECT_FALSE(a.memory.failed(1));
  a.put(0, 1);
  (void)a.fill(1);
  EXPECT_TRUE(a.memory.failed(1)) << "a drop has ended that";
  EXPECT_FALSE(a.memory.failed(0));
}

TEST(ShardMemory, RecordsOfBeforeADropDoNotFailTheShardAfterIt) {
  Short a;
  (void)a.fill(0);
  for (std::uint64_t i = 0; i < 200; ++i) {
    a.put(1, i);
  }
  a.run(2);  // they wait for memory
  ASSERT_FALSE(a.memory.failed(1));
  a.memory.drop(1, "m", "");
  a.run();
  EXPECT_TRUE(a.memory.failed(1)) << "the drop comes behind them";
  a.memory.drop(1, "m", "");
  a.memory.drop(0, "", "m");
  a.run();
  EXPECT_FALSE(a.memory.failed(1));
  EXPECT_EQ(a.told.follower.item_count(), 0U);
}

}  // namespace
}  // namespace mxkv::server::testing

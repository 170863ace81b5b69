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
  EXPECT_EQ(told.follower.memory.finished(), 0U);
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

TEST(ShardMemory, AnInvalidRecordStopsTheFollower) {
  const auto failure = [](const std::string& body) {
    Told told;
    told.put(1, "k");
    told.follower.memory.apply(0, body);
    told.put(2, "later");
    told.follower.store.run_until_idle();
    EXPECT_TRUE(told.follower.memory.failed());
    EXPECT_EQ(told.follower.memory.begun(), 3U);
    EXPECT_LT(told.follower.memory.finished(), 2U);
    EXPECT_EQ(told.follower.store.items().count("later"), 0U);
    return told.follower.memory.failure();
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

TEST(ShardMemory, WithoutMemoryItSaysSoAndAppliesNothingFurther) {
  Told told{2, nullptr, 16U << 20U};
  const std::string value(8000, 'v');
  std::uint64_t order = 0;
  const ShardMemory& memory = told.follower.memory;
  while (memory.finished() == memory.begun() && order < 4000) {
    EXPECT_FALSE(memory.is_behind(0));
    ++order;
    told.put(order, "k" + std::to_string(order), value);
    EXPECT_TRUE(memory.is_behind(value.size()));
    // It waits for memory for a while.
    for (int i = 0; memory.finished() < memory.begun() && i < 400; ++i) {
      told.follower.store.step(static_cast<std::size_t>(i % 2));
      told.follower.store.machine.clock.advance_us(10'000);
    }
  }
  ASSERT_TRUE(memory.failed());
  EXPECT_EQ(memory.failure(), "out of memory while applying the log");
  EXPECT_GT(memory.waiting_bytes(), value.size());
  EXPECT_FALSE(memory.is_behind(0)) << "whoever waits for it would wait for ever";
  EXPECT_EQ(memory.finished(), order - 1) << "all before are there";
  EXPECT_EQ(memory.greatest_order(), order - 1);
  EXPECT_EQ(told.follower.item_count(), order - 1);
  told.tell(0, GoneRecord{.order = order + 1, .key = "k1"});
  told.follower.store.run_until_idle();
  EXPECT_EQ(told.follower.store.items().count("k1"), 1U);
  EXPECT_EQ(told.follower.store.store.total(counter::store_no_memory), 1U);
}

}  // namespace
}  // namespace mxkv::server::testing

// An item's optional fields, its marks, its cas, and the time of its last read.
#include <cstdint>
#include <string>

#include "tests/unit/server/store/item_maker.hpp"

namespace mxkv::server::test {
namespace {

constexpr std::uint64_t kMade = 1'700'000'000'123'456;
constexpr std::uint64_t kSecond = 1'000'000;
constexpr std::uint64_t kDay = 86'400 * kSecond;

using Items = ItemTest;

TEST_F(Items, EveryCombinationOfFieldsKeepsItsValues) {
  for (unsigned bits = 0; bits < 32; ++bits) {
    const Item::Shape shape{.key = "some key",
                            .flags = (bits & 1U) != 0 ? 0xdeadbeefU : 0U,
                            .expiry = (bits & 2U) != 0 ? 1'800'000'000U : 0U,
                            .expiry_field = (bits & 4U) != 0,
                            .marks = (bits & 8U) != 0 ? std::uint32_t{Item::kStale | Item::kBinary} : 0U,
                            .cas_field = (bits & 16U) != 0,
                            .cas = ~std::uint64_t{0}};
    const Owned item = make(shape, "the value");
    item->set_order(kMade);
    EXPECT_EQ(item->key(), "some key") << bits;
    EXPECT_EQ(item->value(), "the value") << bits;
    EXPECT_EQ(item->flags(), shape.flags) << bits;
    EXPECT_EQ(item->expiry(), shape.expiry) << bits;
    EXPECT_EQ(item->has_expiry_field(), shape.expiry != 0 || shape.expiry_field) << bits;
    EXPECT_EQ(item->marks(), shape.marks) << bits;
    EXPECT_EQ(item->order(), kMade) << bits;
    EXPECT_EQ(item->cas(), shape.cas_field ? shape.cas : kMade) << bits;
    EXPECT_EQ(item->has_cas_field(), shape.cas_field) << bits;
  }
}

TEST_F(Items, ACasThatWasChosenIsNotTheOrder) {
  for (const std::uint64_t cas : {std::uint64_t{0}, std::uint64_t{1}, kMade, ~std::uint64_t{0}}) {
    const Owned item = make({.key = "k", .cas_field = true, .cas = cas}, "v");
    item->set_order(kMade + 1);
    EXPECT_EQ(item->cas(), cas);
    EXPECT_EQ(item->order(), kMade + 1);
  }
}

TEST_F(Items, TheGreatestCasLeavesTheAccessAlone) {
  const Owned item = make({.key = "k"}, "v");
  item->set_order((std::uint64_t{1} << 53U) - 1);
  EXPECT_EQ(item->order(), (std::uint64_t{1} << 53U) - 1);
  EXPECT_FALSE(item->accessed());
  EXPECT_EQ(item->last_access_us(), item->order()) << "never read: as old as it is";
}

TEST_F(Items, MarksComeOneByOneAndChangeNothingElse) {
  const Owned item = make({.key = "key", .flags = 7, .expiry = 9}, "value");
  item->set_order(kMade);
  std::uint32_t expected = 0;
  for (const Item::mark mark : {Item::kWon, Item::kStale, Item::kBinary}) {
    EXPECT_FALSE(item->marked(mark));
    item->set_mark(mark);
    expected |= mark;
    EXPECT_EQ(item->marks(), expected);
  }
  EXPECT_EQ(item->key(), "key");
  EXPECT_EQ(item->value(), "value");
  EXPECT_EQ(item->flags(), 7U);
  EXPECT_EQ(item->expiry(), 9U);
}

constexpr std::uint64_t kStep = access_code::kStepUs;

/// By how much the noted time of an access is too late (us).
std::int64_t error_of_access(Item& item, std::uint64_t age_us) {
  item.set_order(kMade);
  item.note_access(kMade + age_us);
  EXPECT_TRUE(item.accessed()) << age_us;
  EXPECT_EQ(item.order(), kMade) << age_us;
  return static_cast<std::int64_t>(item.last_access_us()) - static_cast<std::int64_t>(kMade + age_us);
}

TEST_F(Items, AnAccessIsNotedAStepTooEarlyAtMostAndSixPercentOfTheAgeTooLate) {
  const Owned item = make({.key = "k"}, "v");
  for (std::uint64_t age = 0; age < 8 * kSecond; age += kSecond / 71) {
    const std::int64_t late = error_of_access(*item, age);
    EXPECT_LE(late, 0) << age;
    EXPECT_GE(late, -std::int64_t{kStep}) << age;
  }
  for (std::uint64_t age = 8 * kSecond; age < 36'500 * kDay; age += age / 1000) {
    const std::int64_t late = error_of_access(*item, age);
    ASSERT_LE(late, static_cast<std::int64_t>(age / 16)) << age;
    ASSERT_GE(late, -std::int64_t{kStep}) << age;
  }
}

TEST_F(Items, AnOldItemThatWasJustReadIsNotIdle) {
  const Owned item = make({.key = "k"}, "v");
  for (const std::uint64_t days : {1U, 49U, 1000U, 30000U}) {
    error_of_access(*item, days * kDay);
    EXPECT_LE(item->idle_us(kMade + days * kDay), kStep) << days;
  }
}

TEST_F(Items, ReadsAreCountedToThreeAndANewValueKeepsThem) {
  const Owned item = make({.key = "k"}, "v");
  item->set_order((std::uint64_t{1} << 53U) - 1);
  for (std::uint32_t read = 1; read <= 6; ++read) {
    item->note_access(kMade + read * kSecond);
    EXPECT_EQ(item->reads(), std::min(read, 3U));
    EXPECT_EQ(item->order(), (std::uint64_t{1} << 53U) - 1);
  }
  const Owned next = make({.key = "k"}, "w");
  next->keep_reads(*item);
  next->set_order(kMade);
  EXPECT_EQ(next->reads(), 3U);
  EXPECT_FALSE(next->accessed()) << "nobody has read the new value";
  EXPECT_EQ(next->idle_us(kMade + kSecond), kSecond);
  next->set_reads(2);
  EXPECT_EQ(next->reads(), 2U);
  EXPECT_EQ(next->order(), kMade);
}

TEST_F(Items, LaterAccessesAreNeverTakenForEarlierOnes) {
  const Owned item = make({.key = "k"}, "v");
  item->set_order(kMade);
  std::uint64_t before = 0;
  for (std::uint64_t age = 0; age < 60 * kDay; age += 1 + age / 500) {
    item->note_access(kMade + age);
    ASSERT_GE(item->last_access_us(), before) << age;
    before = item->last_access_us();
  }
}

TEST_F(Items, AClockThatIsBehindTheCasIsAnAccessAtOnce) {
  const Owned item = make({.key = "k"}, "v");
  item->set_order(kMade);
  item->note_access(kMade - 5 * kSecond);
  EXPECT_TRUE(item->accessed());
  EXPECT_EQ(item->last_access_us(), kMade);
}

TEST_F(Items, TheVersionIsTakenWithTheAccess) {
  const Owned old = make({.key = "k"}, "v");
  old->set_order(kMade);
  old->note_access(kMade + 1000 * kSecond);
  const Owned item = make({.key = "k"}, "v");
  item->take_version(*old);
  EXPECT_EQ(item->order(), old->order());
  EXPECT_TRUE(item->accessed());
  EXPECT_EQ(item->last_access_us(), old->last_access_us());
  EXPECT_EQ(item->reads(), 1U);
}

TEST_F(Items, ALargeValueCountsAsReferencedWhileOnlyRepliesHaveIt) {
  const auto referenced = [this] {
    return worker().account().used_bytes(runtime::memory_category::referenced);
  };
  Item* const item = Item::create(worker(), {.key = "k", .value_bytes = 20'000});
  ChunkList* list = ChunkList::create(worker(), 2);
  ASSERT_TRUE(ChunkList::append(worker(), list, std::string(20'000, 'v')));
  item->set_list(list);
  const auto bytes = static_cast<std::int64_t>(list->memory_bytes());
  list->reference_by_reply();
  list->reference_by_reply();
  EXPECT_EQ(referenced(), 0);
  Item::destroy(worker(), item);
  EXPECT_EQ(referenced(), bytes);
  ChunkList::drop_by_reply(worker(), list);
  EXPECT_EQ(referenced(), bytes);
  ChunkList::drop_by_reply(worker(), list);
  EXPECT_EQ(referenced(), 0);
}

TEST(ChunkLists, ALongOneIsFreedInParts) {
  constexpr std::size_t kPart = ChunkList::kFreedAtOnce * Chunk::kBlockBytes;
  runtime::testing::Machine machine{1};
  static_cast<void>(machine.runtime.add_reclaim_kind(&ChunkList::free_part));
  runtime::Worker& worker = machine[0];
  const auto live = [&worker] { return worker.items().stats().live_bytes; };
  const std::size_t before = live();
  ChunkList* list = ChunkList::create(worker, 2);
  ASSERT_TRUE(ChunkList::append(worker, list, std::string(3 * kPart, 'v')));
  std::size_t left = live();
  ChunkList::drop(worker, list);
  int parts = 1;
  while (worker.reclaimer().objects() > 0) {
    EXPECT_GE(live() + kPart, left) << "no more than a part at once";
    left = live();
    machine.clock.advance_us(1'000'000);
    worker.step();
    ASSERT_LT(++parts, 1000) << "each part is followed by the next one";
  }
  EXPECT_EQ(live(), before);
}

}  // namespace
}  // namespace mxkv::server::test

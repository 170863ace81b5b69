// One rule decides what a record does to an item. Recovery has the same result for all pairs of records, whatever
// the order in which it reads them.
#include "server/durability/record_effect.hpp"

#include <gtest/gtest.h>

#include <string>

#include "server/durability/replay.hpp"
#include "tests/unit/server/durability/record_pairs.hpp"

namespace mxkv::server::testing {
namespace {

constexpr RecordedItem kItem{.order = 20, .expiry = kEarly};

record_effect effect_on_item(record_type type, std::uint64_t order) {
  return effect_of({.type = type, .order = order, .expiry = kLate}, kItem);
}

TEST(RecordEffect, AKeyWithoutAnItemGetsOneByAPutAlone) {
  for (const record_type type : {record_type::gone, record_type::touch, record_type::range_gone,
                                 record_type::range_touch, record_type::flush, record_type::flush_at}) {
    EXPECT_EQ(effect_of({.type = type, .order = 20}, std::nullopt), record_effect::none);
  }
  EXPECT_EQ(effect_of({.type = record_type::put, .order = 20}, std::nullopt), record_effect::put);
}

TEST(RecordEffect, ARecordOlderThanTheItemChangesNothing) {
  for (unsigned type = 1; type <= 7; ++type) {
    EXPECT_EQ(effect_on_item(static_cast<record_type>(type), 19), record_effect::none) << type;
  }
}

TEST(RecordEffect, ARecordNewerThanTheItemTakesEffect) {
  EXPECT_EQ(effect_on_item(record_type::put, 21), record_effect::put);
  EXPECT_EQ(effect_on_item(record_type::gone, 21), record_effect::erase);
  EXPECT_EQ(effect_on_item(record_type::range_gone, 21), record_effect::erase);
  EXPECT_EQ(effect_on_item(record_type::flush, 21), record_effect::erase);
  EXPECT_EQ(effect_on_item(record_type::touch, 21), record_effect::expire);
  EXPECT_EQ(effect_on_item(record_type::range_touch, 21), record_effect::expire);
  EXPECT_EQ(effect_on_item(record_type::flush_at, 21), record_effect::none);
}

TEST(RecordEffect, ATouchWithTheItemsOrderHasItsAccessAgeAlone) {
  EXPECT_EQ(effect_on_item(record_type::put, 20), record_effect::put);
  EXPECT_EQ(effect_on_item(record_type::gone, 20), record_effect::erase);
  EXPECT_EQ(effect_on_item(record_type::touch, 20), record_effect::access);
  EXPECT_EQ(effect_on_item(record_type::range_touch, 20), record_effect::none);
}

TEST(RecordEffect, ARangeTouchSparesItemsThatWereNotLiveAtItsMoment) {
  RecordedChange touch{
      .type = record_type::range_touch, .order = 21, .expiry = kLate, .moment_us = kMomentUs};
  EXPECT_EQ(effect_of(touch, kItem), record_effect::none) << "it had expired";
  touch.moment_us = std::uint64_t{kEarly} * kUsPerSecond - 1;
  EXPECT_EQ(effect_of(touch, kItem), record_effect::expire);
  touch.flushed_us = 19;
  EXPECT_EQ(effect_of(touch, kItem), record_effect::expire);
  touch.flushed_us = 20;
  EXPECT_EQ(effect_of(touch, kItem), record_effect::none) << "a flush had taken it";
}

void apply_change(std::optional<RecordedItem>& item, const RecordedChange& change) {
  switch (effect_of(change, item)) {
    case record_effect::put:
      item = RecordedItem{change.order, change.expiry};
      break;
    case record_effect::erase:
      item.reset();
      break;
    case record_effect::expire:
      item->expiry = change.expiry;
      break;
    case record_effect::access:
    case record_effect::none:
      break;
  }
}

TEST(RecordEffect, RecordsInTheirOrderGiveTheLatestItemAlsoWhenAppliedAgain) {
  for (const RecordPair& pair : record_pairs(true)) {
    std::optional<RecordedItem> item = pair.base;
    for (int again = 0; again < 3; ++again) {
      for (const RecordedChange& change : pair.changes) {
        apply_change(item, change);
      }
      ASSERT_EQ(item, expected_of(pair)) << pair;
    }
  }
}

/// A checkpoint with at most one item.
class OneItem final : public StoredItems {
 public:
  explicit OneItem(const std::optional<RecordedItem>& item) : there_(item) {
    if (item) {
      item_.put = {.order = item->order, .key = "k", .value = "b", .expiry = item->expiry};
    }
  }
  [[nodiscard]] const StoredItem* at() const noexcept override { return there_ ? &item_ : nullptr; }
  void next() override { there_ = false; }

 private:
  bool there_;
  StoredItem item_;
};

class LastItem final : public ReplaySink {
 public:
  bool item(const StoredItem& stored) override {
    EXPECT_FALSE(item_of_key) << "a key has one item";
    item_of_key = RecordedItem{stored.put.order, stored.put.expiry};
    return true;
  }
  std::optional<RecordedItem> item_of_key;
};

TEST(RecordEffect, ReplayGivesTheSameItemForRecordsInAnyOrder) {
  for (const RecordPair& pair : record_pairs(true)) {
    for (const bool reversed : {false, true}) {
      std::array<std::string, 2> bytes;
      std::vector<KeyRecord> records;
      RangeOperations ranges;
      for (std::size_t i = 0; i < 2; ++i) {
        const std::size_t at = reversed ? 1 - i : i;
        as_record(pair.changes[at], "k", [&](const auto& record) {
          if constexpr (requires { record.key; }) {
            bytes[at].resize(encoded_bytes(record));
            write_record(bytes[at].data(), record);
            records.push_back(KeyRecord::of("k", 0, record.order, pair.changes[at].type, bytes[at].data()));
          } else {
            ranges.add(record);
          }
        });
      }
      ranges.seal({});
      OneItem base{pair.base};
      LastItem sink;
      Replay replay{ranges, 1'700'000'000'000'000};
      ASSERT_TRUE(replay.merge(records, 0, &base, sink));
      ASSERT_EQ(sink.item_of_key, expected_of(pair)) << pair;
    }
  }
}

}  // namespace
}  // namespace mxkv::server::testing

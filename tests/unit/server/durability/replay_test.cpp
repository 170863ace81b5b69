// Replay against a map to which everything was done in order.
#include "server/durability/replay.hpp"

#include <gtest/gtest.h>

#include "tests/sanitized.hpp"
#include "tests/unit/server/durability/history.hpp"

namespace mxkv::server::testing {
namespace {

class BaseItems final : public StoredItems {
 public:
  BaseItems(const Items& items, std::string_view from, std::string_view to)
      : at_(items.lower_bound(std::string{from})),
        end_(to.empty() ? items.end() : items.lower_bound(std::string{to})) {
    read();
  }
  [[nodiscard]] const StoredItem* at() const noexcept override { return at_ == end_ ? nullptr : &item_; }
  void next() override {
    ++at_;
    read();
  }

 private:
  void read() {
    if (at_ != end_) {
      item_.put = {.order = at_->second.order,
                   .key = at_->first,
                   .value = at_->second.value,
                   .expiry = at_->second.expiry};
    }
  }
  Items::const_iterator at_;
  Items::const_iterator end_;
  StoredItem item_;
};

class Collected final : public ReplaySink {
 public:
  explicit Collected(std::size_t most = ~std::size_t{0}) : most_(most) {}
  bool item(const StoredItem& item) override {
    if (!items.empty()) {
      EXPECT_LT(items.rbegin()->first, item.put.key) << "items come in key order, each once";
    }
    items[std::string{item.put.key}] = {item.put.order, item.put.expiry, std::string{item.put.value}};
    return items.size() < most_;
  }
  Items items;

 private:
  std::size_t most_;
};

/// Replays the part of a history that recovery has, in two key ranges, its records in any order.
Items replayed(const History& history, runtime::Random& random) {
  const RangeOperations operations = history.operations();
  EXPECT_EQ(operations.flushes(), history.flushes());
  const std::string_view border = History::keys()[1 + random.below(History::keys().size() - 1)];
  Items all;
  for (const bool upper : {false, true}) {
    std::vector<History::Keyed> mine;
    for (const History::Keyed& record : history.keyed()) {
      if ((record.key >= border) == upper) {
        mine.insert(mine.begin() + static_cast<std::ptrdiff_t>(random.below(mine.size() + 1)), record);
      }
    }
    std::size_t shared = mine.empty() ? 0 : mine.front().key.size();
    const auto shares_with = [&](std::string_view key) {
      shared = std::min(shared, index::common_prefix(mine.front().key, key));
    };
    const std::string_view from = upper ? border : std::string_view{};
    const std::string_view to = upper ? std::string_view{} : border;
    if (!mine.empty()) {
      for (const History::Keyed& record : mine) {
        shares_with(record.key);
      }
      for (BaseItems base{history.base(), from, to}; base.at() != nullptr; base.next()) {
        shares_with(base.at()->put.key);
      }
    }
    std::vector<KeyRecord> records;
    for (const History::Keyed& record : mine) {
      records.push_back(KeyRecord::of(record.key, shared, record.order, record.type, record.bytes));
    }
    BaseItems base{history.base(), from, to};
    Collected sink;
    Replay replay{operations, history.now_us()};
    EXPECT_TRUE(replay.merge(records, shared, &base, sink));
    EXPECT_EQ(replay.counts().items, sink.items.size());
    all.merge(sink.items);
  }
  return all;
}

TEST(Replay, GivesTheItemsOfAMapAfterAnyHistory) {
  runtime::Random random{1};
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 1'000U : 10'000U); ++seed) {
    const History history{seed, 10 + seed % 40};
    ASSERT_EQ(replayed(history, random), history.expected()) << "seed " << seed;
  }
}

TEST(Replay, HistoriesFindEveryMistake) {
  runtime::Random random{1};
  for (const mistake wrong : {mistake::range_below_its_items, mistake::touch_first, mistake::flush_forgotten,
                              mistake::moment_forgotten, mistake::label_too_early, mistake::stale_base}) {
    std::uint64_t found = 0;
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
      const History history{seed, 10 + seed % 40, wrong};
      found += replayed(history, random) == history.expected() ? 0U : 1U;
    }
    EXPECT_GT(found, 0U) << static_cast<int>(wrong);
    EXPECT_LT(found, 500U);
  }
}

TEST(Replay, ReadsEveryFieldOfAPut) {
  const PutRecord put{.order = 77,
                      .key = "key",
                      .value = "value",
                      .cas = 9,
                      .flags = 5,
                      .expiry = 6,
                      .access = 1234,
                      .marks = 3,
                      .has_cas = true};
  std::string bytes(encoded_bytes(put), '\0');
  write_record(bytes.data(), put);
  EXPECT_EQ(read_put_at(bytes.data()).put, put);
  bytes[1] = static_cast<char>(bytes[1] & ~record_bits::kReads);
  EXPECT_EQ(read_put_at(bytes.data()).put.access, access_code::of_older(1234))
      << "of a version without reads";
  const PutRecord apart{.order = 78, .key = "large", .apart_bytes = 1U << 20U, .flags = 1};
  bytes.resize(encoded_bytes(apart));
  write_record(bytes.data(), apart);
  EXPECT_EQ(read_put_at(bytes.data()).put, apart);
  EXPECT_EQ(read_put_at(bytes.data()).apart, bytes.data() + bytes.size());
}

TEST(Replay, TheSameItemKeepsTheAccessAgeThatTheCheckpointHas) {
  const PutRecord put{.order = 5, .key = "k", .value = "v"};
  std::string bytes(encoded_bytes(put), '\0');
  write_record(bytes.data(), put);
  class One final : public StoredItems {
   public:
    [[nodiscard]] const StoredItem* at() const noexcept override { return ended_ ? nullptr : &item_; }
    void next() override { ended_ = true; }

   private:
    StoredItem item_{.put = {.order = 5, .key = "k", .value = "v", .access = 99}};
    bool ended_ = false;
  } base;
  class Last final : public ReplaySink {
   public:
    bool item(const StoredItem& item) override {
      access = item.put.access;
      return true;
    }
    unsigned access = 0;
  } sink;
  RangeOperations none;
  none.seal({});
  std::vector<KeyRecord> records{KeyRecord::of("k", 0, 5, record_type::put, bytes.data())};
  Replay replay{none, 1'000'000};
  ASSERT_TRUE(replay.merge(records, 0, &base, sink));
  EXPECT_EQ(sink.access, 99U);
}

TEST(Replay, EndsWhenTheSinkWantsNoMore) {
  for (std::uint64_t seed = 1; seed < 50; ++seed) {
    const History history{seed, 40};
    const Items expected = history.expected();
    if (expected.size() < 2) {
      continue;
    }
    std::vector<KeyRecord> records;
    for (const auto& record : history.keyed()) {
      records.push_back(KeyRecord::of(record.key, 0, record.order, record.type, record.bytes));
    }
    const RangeOperations operations = history.operations();
    BaseItems base{history.base(), {}, {}};
    Collected sink{expected.size() - 1};
    Replay replay{operations, history.now_us()};
    EXPECT_FALSE(replay.merge(records, 0, &base, sink));
    EXPECT_EQ(sink.items.size(), expected.size() - 1);
  }
}

}  // namespace
}  // namespace mxkv::server::testing

// The means of index_bench: keys and values, sessions in turn, and the faults of a container.
#include <gtest/gtest.h>

#include <set>

#include "bench/index/keys.hpp"
#include "bench/index/random_lines.hpp"
#include "bench/index/session.hpp"

namespace mxkv::bench {
namespace {

TEST(IndexKeys, TextKeysAreInTheOrderOfTheirNumbers) {
  for (const auto& [low, high] : {std::pair<std::uint64_t, std::uint64_t>{0, 1},
                                  {9, 10},
                                  {0x9FFFFFFF, 0xA0000000},
                                  {0xFFFFFFFF, 0x100000000},
                                  {~std::uint64_t{0} - 1, ~std::uint64_t{0}}}) {
    char texts[2][16];
    write_hex(low, texts[0]);
    write_hex(high, texts[1]);
    EXPECT_LT(std::string_view(texts[0], 16), std::string_view(texts[1], 16)) << low;
  }
  char text[16];
  write_hex(0x0123456789ABCDEF, text);
  EXPECT_EQ(std::string_view(text, 16), "0123456789abcdef");
}

TEST(IndexKeys, KeysDifferAndSoDoTheirValues) {
  std::set<std::string> keys;
  std::set<std::string> values;
  for (std::uint64_t record = 0; record < 20'000; ++record) {
    const TextKey<24> key{record};
    char value[kTextValueBytes];
    write_value(key.view(), value);
    keys.emplace(key.view());
    values.emplace(value, sizeof value);
  }
  EXPECT_EQ(keys.size(), 20'000U);
  EXPECT_EQ(values.size(), 20'000U);
  EXPECT_EQ(TextKey<250>{5}.view().size(), 250U);
  EXPECT_EQ(TextKey<100>{1}.view().substr(0, 84), TextKey<100>{4097}.view().substr(0, 84));
  EXPECT_NE(TextKey<100>{1}.view(), TextKey<100>{4097}.view());
}

TEST(IndexKeys, AnyWrongByteOfAValueShows) {
  const TextKey<24> key{7};
  std::string value(kTextValueBytes, '\0');
  write_value(key.view(), value.data());
  EXPECT_TRUE(is_value(key.view(), value));
  EXPECT_FALSE(is_value(TextKey<24>{8}.view(), value));
  EXPECT_FALSE(is_value(key.view(), std::string_view(value).substr(1)));
  for (char& byte : value) {
    byte ^= 1;
    EXPECT_FALSE(is_value(key.view(), value));
    byte ^= 1;
  }
}

/// Notes the calls that it gets.
class FakeContainer final : public Container {
 public:
  FakeContainer(std::string name, std::vector<std::string>& log) : name_(std::move(name)), log_(log) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] bool can(workload what, unsigned workers) const override {
    return workers == 1 || (what != workload::load && what != workload::insert);
  }
  [[nodiscard]] bool has_flights() const override { return flights; }
  double run(const Job& job) override {
    log_.push_back(name_ + " " + name_of(job.what) + " " + std::to_string(job.in_flight));
    if (job.what == workload::load || job.what == workload::insert) {
      NewRecords records{job, 0};
      for (std::uint64_t i = 0; i < job.operations; ++i) {
        wrong_results += insert(key_of(records.next()), job.next_new != nullptr) ? 0 : 1;
      }
    }
    return 1;
  }
  [[nodiscard]] std::uint64_t wrong() const override { return wrong_results; }
  std::string check(std::uint64_t records) override {
    return held_.size() == records + lost ? "" : "holds " + std::to_string(held_.size()) + " entries";
  }
  std::vector<Part> parts(std::uint64_t /*records*/) override { return {{"all", 3}}; }

  bool flights = false;
  std::uint64_t wrong_results = 0;
  std::uint64_t lost = 0;

 private:
  /// Whether the key is new and, in an ascending job, behind all others.
  bool insert(std::uint64_t key, bool ascending) {
    const bool last = held_.empty() || *held_.rbegin() < key;
    return held_.insert(key).second && (last || !ascending);
  }

  std::string name_;
  std::vector<std::string>& log_;
  std::set<std::uint64_t> held_;
};

struct SessionTest : testing::Test {
  SessionTest() {
    for (const char* name : {"A", "B"}) {
      containers.push_back(std::make_unique<FakeContainer>(name, log));
    }
    plan.rounds = 2;
    plan.milliseconds = 1;
    plan.inserts = 10;
    plan.flights = {1, 4};
    plan.few_flights = {4};
  }
  FakeContainer& fake(std::size_t i) { return dynamic_cast<FakeContainer&>(*containers[i]); }
  std::string run(unsigned workers) {
    return run_session(plan, 100, workers, containers, [this](const Row& row) { rows.push_back(row); });
  }

  std::vector<std::string> log;
  Containers containers;
  Plan plan;
  std::vector<Row> rows;
};

TEST_F(SessionTest, ContainersAreMeasuredInTurnAndInsertsComeLast) {
  fake(0).flights = true;
  plan.only = {"read", "insert"};
  EXPECT_EQ(run(1), "");
  const std::vector<std::string> reads{"A read 1", "A read 4", "B read 1",
                                       "A read 1", "A read 4", "B read 1"};
  const std::vector<std::string> inserts{"A insert 4", "B insert 1", "A insert 4", "B insert 1"};
  std::vector<std::string> expected{"A load 4", "B load 1"};
  for (const auto& part : {reads, reads, inserts, inserts}) {  // uniform and zipfian, uniform and ascending
    expected.insert(expected.end(), part.begin(), part.end());
  }
  EXPECT_EQ(log, expected);
  std::vector<std::string> inserted;
  for (const Row& row : rows) {
    EXPECT_EQ(row.rounds.size(), row.unit == "bytes" ? 1U : 2U) << row.what;
    if (row.what == "insert") {
      inserted.push_back(row.container + " " + row.by);
    }
  }
  EXPECT_EQ(inserted, (std::vector<std::string>{"A uniform", "B uniform", "A ascending", "B ascending"}));
}

TEST_F(SessionTest, WhatManyWorkersMayNotLoadIsLoadedByOneAndNotReported) {
  EXPECT_EQ(run(2), "");
  for (const Row& row : rows) {
    EXPECT_EQ(row.workers, 2U);
    EXPECT_NE(row.what, "load");
    EXPECT_NE(row.what, "insert");
    EXPECT_NE(row.unit, "bytes");
  }
  EXPECT_FALSE(rows.empty());
}

TEST_F(SessionTest, AWrongResultIsAFault) {
  fake(1).wrong_results = 3;
  EXPECT_EQ(run(1), "64-bit, B: 3 wrong results\n");
}

TEST_F(SessionTest, AMissingEntryIsAFault) {
  fake(0).lost = 1;
  EXPECT_EQ(run(1), "64-bit, A: holds 140 entries\n");
}

TEST(RandomLines, EveryLineIsWhatItHasToBe) {
  RandomLines lines{1U << 16U};
  std::vector<Stream> streams{Stream{10, 1}};
  static_cast<void>(lines.run({workload::read, &streams, 1, 10'000, 7, 0}));
  EXPECT_EQ(lines.wrong(), 0U);
}

}  // namespace
}  // namespace mxkv::bench

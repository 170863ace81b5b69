// A workload's stream: its mix, its records, its share for each thread.
#include "bench/workload/operations.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "bench/workload/core_workload.hpp"
#include "bench/workload/keys.hpp"
#include "bench/workload/multi_read.hpp"

namespace mxkv::bench {
namespace {

WorkloadSpec spec_of(const char* name, std::uint64_t operations) {
  WorkloadSpec spec;
  spec.mix = mix_by_name(name).value();
  spec.record_count = 10'000;
  spec.operation_count = operations;
  return spec;
}

TEST(Operations, HaveTheSharesOfYcsbsWorkloads) {
  struct Case {
    const char* name;
    std::array<double, kOperationKinds> shares;  // in the order of OperationKind
  };
  constexpr std::uint64_t kMany = 100'000;
  for (const Case& wanted :
       {Case{"a", {0.5, 0.5, 0, 0}}, Case{"b", {0.95, 0.05, 0, 0}}, Case{"c", {1, 0, 0, 0}},
        Case{"d", {0.95, 0, 0, 0.05}}, Case{"e", {0, 0, 0.95, 0.05}},
        Case{"f", {0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0.5}}, Case{"get", {1, 0, 0, 0}}, Case{"set", {0, 1, 0, 0}},
        Case{"mixgraph", {0.83, 0.14, 0.03, 0}}, Case{"scan", {0, 0, 1, 0}},
        Case{"multiget", {0, 0, 0, 0, 1}}}) {
    SharedWorkload shared(spec_of(wanted.name, kMany));
    OperationSource source(shared, 0, 1);
    std::array<double, kOperationKinds> counts{};
    while (const auto operation = source.next()) {
      const OperationKind kind = operation->modify ? OperationKind::read_modify_write : operation->kind;
      counts.at(static_cast<std::size_t>(kind)) += 1;
      if (operation->kind == OperationKind::insert) {
        shared.inserted().acknowledge(operation->record);
      }
    }
    for (std::size_t i = 0; i < kOperationKinds; ++i) {
      EXPECT_NEAR(counts.at(i) / kMany, wanted.shares.at(i), wanted.shares.at(i) == 1 ? 0 : 0.01)
          << wanted.name << " " << i;
    }
  }
}

TEST(Operations, AMultiReadAsksForLoadedRecordsOfAllKindsByItsFirstKeyAlone) {
  WorkloadSpec spec = spec_of("multiget", 1);
  spec.record_count = 1'000;
  spec.insert_start = 100;
  spec.ordered = true;
  spec.mix.multi_read_keys = 5'000;
  const MultiReadKeys keys(spec);
  Operation operation;
  operation.key_hash = spec.key_number(150);
  std::set<std::uint64_t> asked;
  for (std::uint32_t i = 0; i < keys.count(); ++i) {
    asked.insert(keys.key_number(operation, i));
  }
  EXPECT_EQ(keys.key_number(operation, 0), 150U);
  EXPECT_EQ(*asked.begin(), 100U);
  EXPECT_EQ(*asked.rbegin(), 999U);
  EXPECT_GT(asked.size(), 850U);
}

TEST(Operations, ScanLengthsAreUniformFromOneToAHundred) {
  SharedWorkload shared(spec_of("e", 20'000));
  OperationSource source(shared, 0, 1);
  std::set<std::uint32_t> lengths;
  while (const auto operation = source.next()) {
    if (operation->kind == OperationKind::scan) {
      lengths.insert(operation->scan_length);
    }
  }
  EXPECT_EQ(lengths.size(), 100U);
  EXPECT_EQ(*lengths.begin(), 1U);
  EXPECT_EQ(*lengths.rbegin(), 100U);
}

TEST(Operations, OnManyKeysHaveTheirSharesAndLengths) {
  WorkloadSpec spec = spec_of("c", 40'000);
  spec.mix.read = 2;
  spec.mix.locked_scan = 1;
  spec.mix.locked_touch = 0.5;
  spec.mix.batch = 0.5;
  spec.mix.batch_length = 3;
  spec.mix.min_scan_length = 7;
  spec.mix.max_scan_length = 9;
  SharedWorkload shared(spec);
  OperationSource source(shared, 0, 1);
  std::array<double, kOperationKinds> counts{};
  std::set<std::uint32_t> lengths;
  while (const auto operation = source.next()) {
    counts.at(static_cast<std::size_t>(operation->kind)) += 1;
    if (operation->kind == OperationKind::locked_scan) {
      lengths.insert(operation->scan_length);
    }
    EXPECT_EQ(operation->batch.size(), operation->kind == OperationKind::batch ? 3U : 0U);
  }
  EXPECT_NEAR(counts.at(static_cast<std::size_t>(OperationKind::read)), 20'000, 500);
  EXPECT_NEAR(counts.at(static_cast<std::size_t>(OperationKind::locked_scan)), 10'000, 500);
  EXPECT_NEAR(counts.at(static_cast<std::size_t>(OperationKind::locked_touch)), 5'000, 400);
  EXPECT_NEAR(counts.at(static_cast<std::size_t>(OperationKind::batch)), 5'000, 400);
  EXPECT_EQ(lengths, (std::set<std::uint32_t>{7, 8, 9}));
}

TEST(Operations, EveryRecordOfABatchIsDrawnAsThoseOfOtherOperations) {
  WorkloadSpec spec = spec_of("c", 2'000);
  spec.mix.read = 0;
  spec.mix.batch = 1;
  spec.mix.distribution = Distribution::sequential;
  spec.record_count = 1'000;
  spec.ordered = true;
  SharedWorkload shared(spec);
  OperationSource source(shared, 0, 1);
  std::uint64_t next = 0;
  std::set<std::uint64_t> versions;
  while (const auto operation = source.next()) {
    ASSERT_EQ(operation->batch.size(), 4U);
    EXPECT_EQ(operation->key_hash, operation->batch[0]);
    for (const std::uint64_t record : operation->batch) {
      ASSERT_EQ(record, next++ % 1'000);
    }
    versions.insert(operation->version);
  }
  EXPECT_EQ(next, 8'000U);
  EXPECT_EQ(versions.size(), 2'000U);
}

TEST(Operations, NeverAskForARecordWhoseInsertIsNotAcknowledged) {
  for (const char* name : {"d", "e"}) {
    SharedWorkload shared(spec_of(name, 20'000));
    OperationSource source(shared, 0, 1);
    std::uint64_t inserts = 0;
    while (const auto operation = source.next()) {
      if (operation->kind == OperationKind::insert) {
        EXPECT_EQ(operation->record, 10'000 + inserts);
        ++inserts;
      } else {
        ASSERT_LT(operation->record, 10'000U) << name;
      }
    }
    EXPECT_GT(inserts, 0U);
  }
}

TEST(Operations, LatestFavoursTheNewestRecord) {
  SharedWorkload shared(spec_of("d", 20'000));
  OperationSource source(shared, 0, 1);
  std::uint64_t newest = 0;
  std::uint64_t reads = 0;
  while (const auto operation = source.next()) {
    reads += operation->kind == OperationKind::read ? 1 : 0;
    newest += operation->kind == OperationKind::read && operation->record == 9'999 ? 1 : 0;
  }
  const double expected = 1 / Zipfian::zeta(0, 9'999);
  EXPECT_NEAR(static_cast<double>(newest) / static_cast<double>(reads), expected, 0.01);
}

TEST(Operations, LoadInsertsEveryRecordOnceOverAllThreads) {
  WorkloadSpec spec = spec_of("c", 0);
  spec.load = true;
  spec.insert_start = 17;
  SharedWorkload shared(spec);
  std::set<std::uint64_t> records;
  for (std::uint32_t thread = 0; thread < 3; ++thread) {
    OperationSource source(shared, thread, 3);
    while (const auto operation = source.next()) {
      EXPECT_EQ(operation->kind, OperationKind::insert);
      EXPECT_EQ(operation->key_hash, fnv_hash64(operation->record));
      EXPECT_TRUE(records.insert(operation->record).second);
    }
  }
  EXPECT_EQ(records.size(), 10'000U - 17U);
  EXPECT_EQ(*records.begin(), 17U);
  EXPECT_EQ(*records.rbegin(), 9'999U);
}

TEST(Operations, ThreadsShareTheOperationCountAndDrawDifferently) {
  SharedWorkload shared(spec_of("get", 1001));
  OperationSource first(shared, 0, 2);
  OperationSource second(shared, 1, 2);
  EXPECT_EQ(first.left() + second.left(), 1001U);
  std::uint64_t same = 0;
  for (int i = 0; i < 100; ++i) {
    same += first.next()->record == second.next()->record ? 1 : 0;
  }
  EXPECT_LT(same, 10U);
}

TEST(Operations, AreTheSameForTheSameSeed) {
  SharedWorkload one(spec_of("a", 1000));
  SharedWorkload two(spec_of("a", 1000));
  OperationSource left(one, 0, 1);
  OperationSource right(two, 0, 1);
  while (const auto operation = left.next()) {
    const auto other = right.next();
    ASSERT_TRUE(other);
    EXPECT_EQ(operation->kind, other->kind);
    EXPECT_EQ(operation->record, other->record);
  }
}

TEST(AcknowledgedCounter, EndsAtTheFirstNumberThatIsNotAcknowledged) {
  AcknowledgedCounter counter(100);
  EXPECT_EQ(counter.end(), 100U);
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(counter.take(), 100 + i);
  }
  counter.acknowledge(101);
  counter.acknowledge(103);
  EXPECT_EQ(counter.end(), 100U);
  counter.acknowledge(100);
  EXPECT_EQ(counter.end(), 102U);
  counter.acknowledge(102);
  EXPECT_EQ(counter.end(), 104U);
}

}  // namespace
}  // namespace mxkv::bench

// A scan is right only if it starts at its key, keeps order, skips no loaded record and ends where it may.
#include "bench/client/scan_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace mxkv::bench {
namespace {

class ScanCheckTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  ScanCheckTest() : format_(GetParam()), loaded_(spec(), format_) {}

  static WorkloadSpec spec() {
    WorkloadSpec spec;
    spec.record_count = 1000;
    return spec;
  }

  /// The verdict on a reply of these hashes to a scan from the loaded key at `position`.
  bool verdict(std::size_t position, std::uint32_t length, const std::vector<std::uint64_t>& reply,
               bool more_remains = false) {
    Operation scan;
    scan.kind = OperationKind::scan;
    scan.scan_length = length;
    scan.key_hash = loaded_[position];
    ScanCheck check;
    check.begin(loaded_, scan);
    for (const std::uint64_t hash : reply) {
      check.accept(loaded_, scan, hash);
    }
    const bool right = check.finish(loaded_, scan, more_remains);
    EXPECT_EQ(right, check.flaw().kind == ScanFlaw::what::none);
    reason_ = text_of(check.flaw(), format_);
    return right;
  }
  [[nodiscard]] std::string key(std::size_t position) const {
    std::array<char, KeyFormat::kMaxBytes> text;
    return {text.data(), format_.write(loaded_[position], text.data())};
  }

  [[nodiscard]] std::vector<std::uint64_t> loaded(std::size_t from, std::size_t count) const {
    std::vector<std::uint64_t> hashes;
    for (std::size_t i = from; i < from + count; ++i) {
      hashes.push_back(loaded_[i]);
    }
    return hashes;
  }

  /// A record that was not loaded and sorts right behind the loaded one at `position`.
  [[nodiscard]] std::uint64_t inserted_after(std::size_t position) const {
    const std::uint64_t hash = loaded_[position] + 1;
    EXPECT_TRUE(format_.before(loaded_[position], hash) && format_.before(hash, loaded_[position + 1]));
    return hash;
  }

  KeyFormat format_;
  LoadedKeys loaded_;
  std::string reason_;  ///< of the last verdict
};

TEST_P(ScanCheckTest, NamesTheFirstRecordThatIsNotRightAndWhy) {
  EXPECT_FALSE(verdict(10, 5, {loaded_[11], loaded_[12]}));
  EXPECT_EQ(reason_, "the reply begins with " + key(11) + ", not with the start key");
  EXPECT_FALSE(verdict(10, 5, {loaded_[10], loaded_[12], loaded_[11]}));
  EXPECT_EQ(reason_, "the loaded record " + key(11) + " was skipped after 1 records: " + key(12) + " came");
  EXPECT_FALSE(verdict(10, 5, {loaded_[10], loaded_[11], loaded_[10]}));
  EXPECT_EQ(reason_, key(10) + " came behind " + key(11) + " after 2 records, out of order");
  EXPECT_FALSE(verdict(10, 2, {loaded_[10], loaded_[11], loaded_[12]}));
  EXPECT_EQ(reason_, "more records than asked for: " + key(12) + " came after 2 records");
  EXPECT_FALSE(verdict(10, 5, {loaded_[10], loaded_[11]}));
  EXPECT_EQ(reason_, "the reply ends after 2 records, though the loaded record " + key(12) + " follows");
}

TEST_P(ScanCheckTest, AcceptsTheLoadedRecordsInOrder) {
  EXPECT_TRUE(verdict(0, 100, loaded(0, 100)));
  EXPECT_TRUE(verdict(500, 1, loaded(500, 1)));
}

TEST_P(ScanCheckTest, AcceptsInsertedRecordsInBetween) {
  auto reply = loaded(10, 4);
  reply.insert(reply.begin() + 2, inserted_after(11));
  EXPECT_TRUE(verdict(10, 5, reply));
}

TEST_P(ScanCheckTest, AcceptsAnEarlyEndAtTheEndOfAllKeysOrWithMoreToCome) {
  EXPECT_TRUE(verdict(995, 100, loaded(995, 5)));
  EXPECT_TRUE(verdict(10, 100, loaded(10, 50), true));
}

TEST_P(ScanCheckTest, RejectsAnEarlyEndElsewhere) {
  EXPECT_FALSE(verdict(10, 100, loaded(10, 99)));
  EXPECT_FALSE(verdict(995, 100, loaded(995, 4)));
}

TEST_P(ScanCheckTest, RejectsASkippedRecord) {
  auto reply = loaded(10, 6);
  reply.erase(reply.begin() + 3);
  EXPECT_FALSE(verdict(10, 5, reply));
}

TEST_P(ScanCheckTest, RejectsAnotherFirstRecord) {
  EXPECT_FALSE(verdict(10, 5, loaded(11, 5)));
  EXPECT_FALSE(verdict(10, 5, loaded(9, 5)));
}

TEST_P(ScanCheckTest, RejectsDisorderAndRepetition) {
  auto swapped = loaded(10, 5);
  std::swap(swapped[2], swapped[3]);
  EXPECT_FALSE(verdict(10, 5, swapped));
  auto repeated = loaded(10, 5);
  repeated.insert(repeated.begin() + 2, repeated[2]);
  EXPECT_FALSE(verdict(10, 6, repeated));
}

TEST_P(ScanCheckTest, RejectsMoreThanWasAskedForAndNothingAtAll) {
  EXPECT_FALSE(verdict(10, 5, loaded(10, 6)));
  EXPECT_FALSE(verdict(10, 5, {}));
  EXPECT_FALSE(verdict(10, 5, {}, true));
}

TEST_P(ScanCheckTest, WhereRecordsMayBeGoneOnlyOrderAndLengthCount) {
  WorkloadSpec deleting = spec();
  deleting.mix.remove = 0.1;
  loaded_ = LoadedKeys(deleting, format_);
  EXPECT_TRUE(verdict(3, 5, {loaded_[3], loaded_[5], loaded_[9]}));
  EXPECT_TRUE(verdict(3, 5, {loaded_[4]}));
  EXPECT_FALSE(verdict(3, 5, {loaded_[2], loaded_[4]}));
  EXPECT_FALSE(verdict(3, 5, {loaded_[5], loaded_[4]}));
  EXPECT_FALSE(verdict(3, 2, {loaded_[3], loaded_[4], loaded_[5]}));
  EXPECT_FALSE(verdict(3, 5, {}));
}

INSTANTIATE_TEST_SUITE_P(Paddings, ScanCheckTest, ::testing::Values(1, 20));

}  // namespace
}  // namespace mxkv::bench

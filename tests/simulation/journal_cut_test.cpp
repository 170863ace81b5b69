// The journal's writer on a disk whose power goes off at any step: all durable records are there, in whole
// groups in order, and no record that was not written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "server/journal/group_reader.hpp"
#include "server/journal/journal.hpp"
#include "server/journal/journal_verdict.hpp"
#include "tests/simulation/sim_disk.hpp"

namespace mxkv::test {
namespace {

using namespace server;

constexpr std::uint64_t kSegmentBytes = 64 << 10;
constexpr int kRounds = 30;

/// One life of a journal: two workers record, and the writer is stepped, until the power is off or the rounds
/// end.
class JournalLife {
 public:
  JournalLife(SimDisk& disk, std::uint64_t seed) : disk_(disk), random_(seed) {
    options_.workers = 2;
    options_.segments.segment_bytes = kSegmentBytes;
    options_.segments.directory.fill(7);
    disk_.write_short(seed % 2 == 0);
  }

  void run() {
    WriterHooks hooks;
    hooks.greatest_order = [this] { return order_; };
    journal_ = std::make_unique<Journal>(disk_, clock_, options_, std::move(hooks));
    if (!journal_->open().empty()) {
      return;
    }
    for (int round = 0; round < kRounds && journal_->writer().state() == journal_state::running; ++round) {
      record();
      for (int steps = static_cast<int>(random_() % 8); steps > 0 && journal_->step(); --steps) {
      }
    }
  }
  /// Greatest epoch that replies would have been sent for.
  [[nodiscard]] std::uint64_t durable() const { return journal_->epochs().durable(); }
  void end() { journal_.reset(); }

  /// Reads the disk as recovery does; the records must be a prefix of the recorded ones.
  void expect_prefix(std::uint64_t at_least) const {
    std::vector<std::string> names;
    ASSERT_EQ(disk_.list("journal", names), 0);
    std::vector<std::unique_ptr<DiskBytes>> bytes(names.size());
    std::vector<SegmentScan> scans;
    for (std::size_t i = 0; i < names.size(); ++i) {
      ASSERT_EQ(disk_.read("journal/" + names[i], bytes[i]), 0);
      if (const std::uint64_t number = segment_number(names[i])) {
        scans.push_back(scan_segment(names[i], number, bytes[i]->bytes(), options_.segments.directory));
      }
    }
    const JournalVerdict verdict = judge_journal(scans, {});
    ASSERT_EQ(verdict.damage, "");
    ASSERT_GE(verdict.last_epoch, at_least);
    std::map<std::uint64_t, std::vector<std::uint64_t>> found;
    for (const JournalVerdict::Part& part : verdict.parts) {
      for (std::size_t i = 0; i < part.groups; ++i) {
        read_group(scans[part.segment], scans[part.segment].groups[i], found);
      }
    }
    auto expected = recorded_;
    expected.erase(expected.upper_bound(verdict.last_epoch), expected.end());
    EXPECT_EQ(found, expected) << "orders by epoch";
  }

 private:
  void record() {
    const runtime::WorkerId worker{static_cast<std::uint16_t>(random_() % 2)};
    static_cast<void>(journal_->begin_round(worker, clock_.steady_us()));
    for (std::uint64_t records = 1 + random_() % 3; records > 0; --records) {
      const std::string value(random_() % 3 == 0 ? 7000 : 100, 'v');
      PutRecord put;
      put.order = ++order_;
      put.key = "key";
      put.value = value;
      journal_->buffer(worker).append(put);
      recorded_[journal_->epochs().last_recorded()].push_back(put.order);
    }
    journal_->end_round(worker);
    journal_->park(worker);
    clock_.advance_us(random_() % 2000);
  }

  static void read_group(const SegmentScan& scan, const ScannedGroup& group,
                         std::map<std::uint64_t, std::vector<std::uint64_t>>& found) {
    GroupReader reader(scan.bytes, group);
    while (const auto entry = reader.next()) {
      found[group.epoch].push_back(std::get<PutRecord>(entry->record).order);
    }
    ASSERT_EQ(reader.wrong(), nullptr);
    if (found.contains(group.epoch)) {
      std::sort(found[group.epoch].begin(), found[group.epoch].end());
    }
  }

  SimDisk& disk_;
  std::mt19937_64 random_;
  runtime::ManualClock clock_;
  JournalOptions options_;
  std::unique_ptr<Journal> journal_;
  std::uint64_t order_ = 0;
  std::map<std::uint64_t, std::vector<std::uint64_t>> recorded_;  ///< orders by epoch
};

/// With the folder for segments on disk.
void prepare(SimDisk& disk) {
  ASSERT_EQ(disk.create_directory("journal"), 0);
  ASSERT_EQ(disk.sync_directory(""), 0);
}

TEST(JournalCut, AllThatWasDurableIsThereAfterAPowerCutAtAnyStep) {
  std::uint64_t with_something = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE(seed);
    SimDisk disk(seed);
    prepare(disk);
    JournalLife life(disk, seed);
    disk.power_off_at(disk.steps() + 1 + seed % 90);
    life.run();
    const std::uint64_t durable = life.durable();
    life.end();
    with_something += durable > 0 ? 1 : 0;
    disk.power_cut(seed);
    life.expect_prefix(durable);
    if (testing::Test::HasFailure()) {
      return;
    }
  }
  EXPECT_GT(with_something, 300U);
}

TEST(JournalCut, AllThatWasDurableIsThereAfterAKillAndALaterCut) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    SimDisk disk(seed);
    prepare(disk);
    JournalLife life(disk, seed);
    life.run();
    const std::uint64_t durable = life.durable();
    disk.kill();
    life.end();
    life.expect_prefix(durable);
    disk.power_cut(seed);
    life.expect_prefix(durable);
    if (testing::Test::HasFailure()) {
      return;
    }
  }
}

TEST(JournalCut, NothingIsDurableOnASyncThatFailed) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    SimDisk disk(seed);
    prepare(disk);
    JournalLife life(disk, seed);
    std::uint64_t syncs = 0;
    disk.on_step([&](const SimStep& step) {
      if (step.what == SimStep::kind::sync && ++syncs == 2 + seed % 10) {
        disk.fail_syncs(1, EIO);
      }
    });
    life.run();
    const std::uint64_t durable = life.durable();
    life.end();
    disk.power_cut(seed);
    life.expect_prefix(durable);
    if (testing::Test::HasFailure()) {
      return;
    }
  }
}

}  // namespace
}  // namespace mxkv::test

// A position of an earlier process is good at the next one, as far as that found the epochs and still has them.
#include <gtest/gtest.h>

#include "server/feed/journal_log.hpp"
#include "tests/unit/server/durability/kept_disk.hpp"
#include "tests/unit/server/durability/recorded_store.hpp"

namespace mxkv::server::testing {
namespace {

constexpr std::uint64_t kBegin = 1'700'000'000'000'000;

std::unique_ptr<JournalTail> tail_of(Disk& disk, RecordedStore& store) {
  return std::make_unique<JournalTail>(disk, tail_options(store.manifest->get(), store.journal->epochs()));
}

/// Lets workers end their rounds, and the writer do all that it can.
void settle(RecordedStore& store) {
  for (int turn = 0; turn < 4; ++turn) {
    for (std::size_t worker = 0; worker < store.store.machine.runtime.worker_count(); ++worker) {
      static_cast<void>(store.store.step(worker));
    }
    while (store.journal->step()) {
    }
  }
}

/// Sets a key, and brings it to disk.
void set(RecordedStore& store, const std::string& key, std::size_t bytes = 1) {
  EXPECT_EQ(store.store.ask("set " + key + " 0 0 " + std::to_string(bytes) + "\r\n" +
                            std::string(bytes, 'v') + "\r\n"),
            "STORED\r\n");
  settle(store);
}

/// The keys that the tail gives now, with the number of their batch, and how it ended.
std::string keys_from(JournalTail& tail) {
  std::string keys;
  ChangeEpoch epoch;
  ChangeSource::outcome end = tail.next(epoch);
  for (; end == ChangeSource::outcome::epoch; end = tail.next(epoch)) {
    for (const ChangeRecord& change : epoch.records) {
      const auto* const put = std::get_if<PutRecord>(&change.record);
      keys += (put != nullptr ? std::string{put->key} : "?") + (change.batch != 0 ? "+ " : " ");
    }
  }
  return keys + (end == ChangeSource::outcome::old ? "old" : "none");
}

TEST(JournalRestart, AReaderGoesOnBehindItsPosition) {
  KeptDisk disk;
  Position begin;
  Position behind_a;
  {
    RecordedStore first{disk, kBegin};
    const auto tail = tail_of(disk, first);
    begin = {tail->tag(), tail->through()};
    set(first, "a");
    EXPECT_EQ(keys_from(*tail), "a none");
    behind_a = {tail->tag(), tail->through()};
    EXPECT_EQ(first.store.ask("mb 2\r\nms b 1\r\nv\r\nms c 1\r\nv\r\n"), "HD\r\nHD\r\nHD\r\n");
    EXPECT_EQ(first.store.ask("get a\r\n"), "VALUE a 0 1\r\nv\r\nEND\r\n") << "an orderly end notes it";
  }
  RecordedStore second{disk, kBegin + 1'000'000};
  const auto tail = tail_of(disk, second);
  EXPECT_NE(tail->tag(), begin.tag);
  set(second, "d");
  ASSERT_EQ(tail->seek(begin), position_state::ok);
  EXPECT_EQ(keys_from(*tail), "a b+ c+ d none");
  ASSERT_EQ(tail->seek(behind_a), position_state::ok);
  EXPECT_EQ(keys_from(*tail), "b+ c+ d none");
}

TEST(JournalRestart, APositionBehindWhatAStartFindsIsLost) {
  KeptDisk disk;
  Position behind_b;
  std::unique_ptr<KeptDisk> before_b;
  {
    RecordedStore first{disk, kBegin};
    set(first, "a");
    before_b = disk.copy();
    set(first, "b");
    const auto tail = tail_of(disk, first);
    behind_b = {tail->tag(), tail->through()};
  }
  RecordedStore second{*before_b, kBegin + 1'000'000};
  const auto tail = tail_of(*before_b, second);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(tail->seek(behind_b), position_state::lost) << "also when this process has such an epoch";
    set(second, "other" + std::to_string(i));
  }
}

TEST(JournalRestart, HistoryOutlivesTheProcess) {
  KeptDisk disk;
  Position begin;
  for (const std::uint64_t history : {std::uint64_t{1} << 20U, std::uint64_t{0}}) {
    RecordedStore store{disk, kBegin + (history == 0 ? 2'000'000 : 0)};
    const auto tail = tail_of(disk, store);
    store.journal->set_history_bytes(history);
    if (history != 0) {
      begin = {tail->tag(), tail->through()};
      set(store, "a");
    }
    ASSERT_TRUE(store.checkpointer->begin());
    store.finish_checkpoint();
    settle(store);
    EXPECT_EQ(tail->seek(begin), history != 0 ? position_state::ok : position_state::old);
  }
}

TEST(JournalRestart, AStartReadsHistoryForReadersAlone) {
  KeptDisk disk;
  Position begin;
  {
    RecordedStore first{disk, kBegin};
    first.journal->set_history_bytes(1U << 20U);
    const auto tail = tail_of(disk, first);
    begin = {tail->tag(), tail->through()};
    for (int i = 0; i < 200; ++i) {
      set(first, "k" + std::to_string(i), 1000);
    }
    ASSERT_TRUE(first.checkpointer->begin());
    first.finish_checkpoint();
    settle(first);
  }
  RecordedStore second{disk, kBegin + 1'000'000};
  EXPECT_EQ(second.recovered.base_items, 200U);
  EXPECT_LT(second.recovered.records, 100U) << "what the checkpoint has is not read again";
  EXPECT_GT(second.recovered.segments.size(), 3U);
  second.journal->set_history_bytes(1U << 20U);
  const auto tail = tail_of(disk, second);
  ASSERT_EQ(tail->seek(begin), position_state::ok);
  const std::string keys = keys_from(*tail);
  EXPECT_TRUE(keys.starts_with("k0 k1 k2 ") && keys.ends_with(" k198 k199 none")) << keys;
}

}  // namespace
}  // namespace mxkv::server::testing

// The journal under real threads: workers that record, park and wake up while epochs close as fast as they
// can.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "server/commit/record_reader.hpp"
#include "server/feed/journal_tail.hpp"
#include "server/journal/journal.hpp"
#include "server/journal/posix_disk.hpp"
#include "tests/stress/temporary_folder.hpp"
#include "tests/unit/server/journal/read_back.hpp"

namespace mxkv::server {
namespace {

constexpr std::size_t kWorkers = 3;

runtime::WorkerId worker_id(std::size_t index) {
  return runtime::WorkerId{static_cast<std::uint16_t>(index)};
}

void append(RecordBuffer& buffer, std::uint64_t order, std::string_view key, std::string_view value = {}) {
  PutRecord put;
  put.order = order;
  put.key = key;
  put.value = value;
  buffer.append(put);
}

/// Epochs and buffers, and a closer that writes nothing.
struct EpochsWorld {
  CommitEpochs epochs{kWorkers, 1, 0};
  BufferShare share{.epochs = &epochs};
  std::vector<std::unique_ptr<RecordBuffer>> buffers;
  WriterSignal signal;
  std::atomic<bool> ended{false};

  // The closer's.
  std::uint64_t horizon = 0;  ///< published with the epoch before
  std::uint64_t filled = 0;   ///< epochs with records
  std::uint64_t late = 0;
  std::uint64_t below = 0;                    ///< orders at or below a horizon that was published
  std::uint64_t limited = 0;                  ///< horizons below the close
  std::vector<RecordBlock*> ahead[kWorkers];  ///< with labels above the last epoch closed

  EpochsWorld() {
    for (std::size_t i = 0; i < kWorkers; ++i) {
      buffers.push_back(std::make_unique<RecordBuffer>(share));
    }
  }

  void work(std::size_t index, std::atomic<std::uint64_t>& time) {
    const runtime::WorkerId id = worker_id(index);
    RecordBuffer& buffer = *buffers[index];
    std::minstd_rand random(static_cast<unsigned>(index) + 1);
    bool parked = true;
    std::uint64_t seat = 0;
    while (!ended.load(std::memory_order_relaxed)) {
      if (parked) {
        epochs.unpark(id);
        parked = false;
      }
      // A clock that steps back and forth.
      const std::uint64_t now = time.fetch_add(1, std::memory_order_relaxed) - random() % 1000;
      std::uint64_t order = epochs.begin_round(id, now);
      for (std::uint64_t i = random() % 4; i > 0; --i) {
        append(buffer, ++order, "key");
        if (random() % 8 == 0) {
          await_close(seat);
        }
      }
      const std::uint64_t epoch = epochs.current();
      buffer.end_round(epoch);
      if (seat == epoch && random() % 32 == 0) {
        await_close(epoch);
      }
      bool wake = epochs.end_round(id, epoch, buffer.last_label() == epoch);
      seat = epoch;
      if (random() % 4 == 0) {
        buffer.park();
        wake |= epochs.park(id);
        parked = true;
        std::this_thread::yield();
      }
      if (wake) {
        signal.raise();
      }
    }
    buffer.park();
    if (epochs.park(id)) {
      signal.raise();
    }
  }

  /// Inside of a round: until the epoch at which the worker ended its last round is closed, if it is not yet.
  void await_close(std::uint64_t seat) const {
    while (epochs.current() == seat && !ended.load(std::memory_order_relaxed)) {
      std::this_thread::yield();
    }
  }

  /// Closes one epoch, and judges the records in it.
  void close(std::uint64_t now) {
    const std::uint64_t epoch = epochs.close(now);
    while (!epochs.await_passed(epoch)) {
      signal.sleep(WriterSignal::kNoLimit);
    }
    const std::uint64_t next_horizon = epochs.horizon_of(epoch);
    bool any = false;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      for (RecordBlock* block = buffers[i]->collect(); block != nullptr; block = block->next) {
        ahead[i].push_back(block);
      }
      std::size_t taken = 0;
      for (; taken < ahead[i].size() && ahead[i][taken]->epoch <= epoch; ++taken) {
        judge(*ahead[i][taken], epoch);
        any = true;
      }
      for (std::size_t block = 0; block < taken; ++block) {
        buffers[i]->give_back(ahead[i][block], ahead[i][block]);
      }
      ahead[i].erase(ahead[i].begin(), ahead[i].begin() + static_cast<std::ptrdiff_t>(taken));
    }
    filled += any ? 1 : 0;
    limited += next_horizon < now ? 1 : 0;
    horizon = std::max(horizon, next_horizon);
    epochs.publish_durable(epoch, horizon);
  }

  void judge(const RecordBlock& block, std::uint64_t epoch) {
    late += block.epoch < epoch ? 1 : 0;
    RecordReader records{{const_cast<RecordBlock&>(block).payload(), block.payload_bytes}};
    while (const auto record = records.next()) {
      below += std::get<PutRecord>(*record).order <= horizon ? 1 : 0;
    }
  }
};

TEST(JournalStress, NoRecordComesLateAndNoneHasAnOrderBelowTheHorizonBeforeIt) {
  constexpr std::uint64_t kEpochs = 5'000;  // with records
  EpochsWorld world;
  std::atomic<std::uint64_t> time{10'000};
  std::vector<std::thread> workers;
  for (std::size_t i = 0; i < kWorkers; ++i) {
    workers.emplace_back([&, i] { world.work(i, time); });
  }
  while (world.filled < kEpochs) {
    world.close(time.fetch_add(10, std::memory_order_relaxed));
  }
  world.ended.store(true);
  for (std::thread& worker : workers) {
    worker.join();
  }
  world.close(time.load());
  EXPECT_EQ(world.late, 0U);
  EXPECT_EQ(world.below, 0U);
  EXPECT_EQ(world.share.waiting_bytes.load(), 0U);
  EXPECT_GT(world.limited, 0U) << "no round recorded behind a close";
  for (const auto& ahead : world.ahead) {
    EXPECT_TRUE(ahead.empty());
  }
}

/// A journal on the file system, and workers that wait for their records.
struct JournalThreads {
  TemporaryFolder folder;
  runtime::SystemClock clock;
  std::unique_ptr<PosixDisk> disk;
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<std::uint64_t> greatest{0};
  std::atomic<std::uint64_t> never_durable{0};
  std::unique_ptr<Journal> journal;  // ends first: its thread notifies

  JournalThreads() {
    disk = std::move(PosixDisk::open_directory(folder.path).value());
    EXPECT_EQ(disk->create_directory("journal"), 0);
    JournalOptions options;
    options.workers = kWorkers;
    options.segments.segment_bytes = 256 << 10;
    WriterHooks hooks;
    hooks.greatest_order = [this] { return greatest.load(); };
    hooks.on_change = [this] {
      const std::lock_guard lock(mutex);
      changed.notify_all();
    };
    journal = std::make_unique<Journal>(*disk, clock, options, hooks);
    EXPECT_EQ(journal->open(), "");
    journal->start();
  }

  void work(std::size_t index, int rounds) {
    const runtime::WorkerId id = worker_id(index);
    std::minstd_rand random(static_cast<unsigned>(index) + 1);
    int count = 0;
    for (int round = 0; round < rounds; ++round) {
      static_cast<void>(journal->begin_round(id, clock.steady_us()));
      RecordBuffer& buffer = journal->buffer(id);
      buffer.begin_group();
      for (int i = 0; i < 3; ++i) {
        append(buffer, static_cast<std::uint64_t>(++count), "w" + std::to_string(index),
               std::string(random() % 300, 'v'));
      }
      buffer.end_group();
      const std::uint64_t epoch = journal->epochs().last_recorded();
      journal->end_round(id);
      if (random() % 3 == 0) {
        journal->park(id);
        wait_for(epoch);
      }
    }
    journal->park(id);
  }
  void wait_for(std::uint64_t epoch) {
    std::unique_lock lock(mutex);
    const bool durable =
        changed.wait_for(lock, std::chrono::minutes(2), [&] { return journal->epochs().durable() >= epoch; });
    never_durable += durable ? 0 : 1;
  }
};

TEST(JournalStress, WhatWorkersWaitForBecomesDurableInWholeOperations) {
  constexpr int kRounds = 600;
  JournalThreads threads;
  std::vector<std::thread> workers;
  for (std::size_t i = 0; i < kWorkers; ++i) {
    workers.emplace_back([&, i] { threads.work(i, kRounds); });
  }
  // Meanwhile modes change, checkpoints come and go.
  constexpr config::sync_mode kModes[] = {config::sync_mode::never, config::sync_mode::interval,
                                          config::sync_mode::commit};
  for (int turn = 0; turn < 60; ++turn) {
    threads.journal->set_mode({kModes[turn % 3], 20'000'000, turn % 2 == 0});
    threads.wait_for(threads.journal->end_epoch());
    if (turn == 30) {
      threads.journal->need(threads.journal->epochs().current(), true);
    }
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
  EXPECT_TRUE(threads.journal->flush_all_now());
  EXPECT_EQ(threads.never_durable.load(), 0U);
  std::uint64_t counts[kWorkers] = {};
  for (const test::ReadGroup& group : test::read_groups(*threads.disk)) {
    for (const test::ReadPut& put : group.puts) {
      EXPECT_EQ(put.order, ++counts[put.worker]) << "a worker's records are in order, and none is missing";
    }
    for (const std::uint64_t count : counts) {
      EXPECT_EQ(count % 3, 0U) << "an operation's records are in one group";
    }
  }
  for (const std::uint64_t count : counts) {
    EXPECT_EQ(count, 3U * kRounds);
  }
}

/// Reads the journal's changes on a thread of its own, and begins anew where they are gone.
struct TailThread {
  JournalThreads& threads;
  std::uint64_t epochs = 0;
  std::uint64_t gone = 0;
  std::uint64_t faults = 0;
  std::uint64_t counts[kWorkers] = {};  ///< records of each worker

  /// Until all records are durable and were read.
  void read(const std::atomic<bool>& ended, bool slowly) {
    Lineage lineage;
    lineage.begin(1, 1);
    JournalTail tail{*threads.disk,
                     TailOptions{.lineage = lineage,
                                 .durable = [this] { return threads.journal->epochs().durable(); },
                                 .closed = [this] { return threads.journal->epochs().current() - 1; }}};
    faults += tail.seek({1, 0}) == position_state::ok ? 0 : 1;
    ChangeEpoch epoch;
    std::uint64_t last = 0;
    for (;;) {
      const bool was_ended = ended.load();
      switch (tail.next(epoch)) {
        case ChangeSource::outcome::none:
          if (was_ended) {
            return;
          }
          std::this_thread::yield();
          break;
        case ChangeSource::outcome::old:
          ++gone;
          last = tail.through();
          faults += tail.seek({1, last}) == position_state::ok ? 0 : 1;
          break;
        case ChangeSource::outcome::epoch:
          faults += epoch.number > last ? 0 : 1;
          last = epoch.number;
          ++epochs;
          judge(epoch);
          if (slowly) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
      }
    }
  }
  /// Operations are of three records, each a batch.
  void judge(const ChangeEpoch& epoch) {
    std::vector<unsigned> batches;
    for (const ChangeRecord& change : epoch.records) {
      batches.resize(std::max<std::size_t>(batches.size(), change.batch + 1));
      ++batches[change.batch];
      ++counts[std::get<PutRecord>(change.record).key[1] - '0'];
    }
    for (std::size_t batch = 0; batch < batches.size(); ++batch) {
      faults += batches[batch] == (batch == 0 ? 0U : 3U) ? 0 : 1;
    }
  }
};

TEST(JournalStress, ATailReadsEachChangeOnceBesideTheWriter) {
  constexpr int kRounds = 400;
  JournalThreads threads;
  std::atomic<bool> ended{false};
  TailThread reader{threads};
  std::thread tail([&] { reader.read(ended, false); });
  std::vector<std::thread> workers;
  for (std::size_t i = 0; i < kWorkers; ++i) {
    workers.emplace_back([&, i] { threads.work(i, kRounds); });
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
  threads.wait_for(threads.journal->end_epoch());
  ended.store(true);
  tail.join();
  EXPECT_EQ(reader.faults, 0U);
  EXPECT_EQ(reader.gone, 0U);
  for (const std::uint64_t count : reader.counts) {
    EXPECT_EQ(count, 3U * kRounds);
  }
}

TEST(JournalStress, ATailIsOvertakenByTruncationAndNeverReadsRecycledBytes) {
  JournalThreads threads;
  std::atomic<bool> ended{false};
  TailThread reader{threads};
  std::thread tail([&] { reader.read(ended, true); });
  std::thread worker([&] {
    while (!ended.load()) {
      threads.work(0, 10);
    }
  });
  while (threads.journal->segments().current() < 12) {
    threads.wait_for(threads.journal->end_epoch());
    threads.journal->truncate(threads.journal->epochs().durable());
    std::this_thread::yield();
  }
  ended.store(true);
  worker.join();
  tail.join();
  EXPECT_EQ(reader.faults, 0U);
  EXPECT_GT(reader.epochs, 0U);
}

TEST(JournalStress, OldSegmentsGoWhileWorkersRecord) {
  JournalThreads threads;
  std::atomic<bool> ended{false};
  std::thread worker([&] {
    while (!ended.load()) {
      threads.work(0, 10);
    }
  });
  while (threads.journal->segments().current() < 6) {
    threads.wait_for(threads.journal->end_epoch());
    threads.journal->truncate(threads.journal->epochs().durable());
    std::this_thread::yield();
  }
  ended.store(true);
  worker.join();
  EXPECT_TRUE(threads.journal->flush_all_now());
  EXPECT_LE(threads.journal->segments().segments(), 3U);
}

}  // namespace
}  // namespace mxkv::server

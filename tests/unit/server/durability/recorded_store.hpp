// A store with its journal and its checkpoints, as a daemon has them, but stepped by a test.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/durability/access_notes.hpp"
#include "server/durability/data_directory.hpp"
#include "server/durability/journal_checkpoints.hpp"
#include "server/durability/journal_continuation.hpp"
#include "server/durability/recovery.hpp"
#include "server/durability/store_journal.hpp"
#include "tests/unit/server/durability/text_store.hpp"

namespace mxkv::server::testing {

class RecordedStore {
 public:
  /// Recovers the contents of the directory; see recovered(). `now_us`: the time of its wall clock, not
  /// before a ManualClock's at its start. `hasty`: a checkpoint counts before its items are on disk, which is
  /// wrong. `cache_bytes`: the memory limit of a cache, which leaves out items that do not fit; 0: a store,
  /// which has enough.
  RecordedStore(Disk& disk, std::uint64_t now_us, std::size_t workers = 2,
                const CheckpointOptions& checkpoints = {.rate_bytes = 0, .parts = 2}, bool hasty = false,
                std::size_t cache_bytes = 0)
      : store(workers, cache_bytes == 0 ? std::size_t{256} << 20U : cache_bytes), hasty_(hasty) {
    runtime::ManualClock& clock = store.machine.clock;
    clock.set_wall_us(now_us);
    auto opened = open_data_directory(disk);
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    directory_ = std::move(opened).value();
    auto found =
        recover(disk, directory_.manifest, store.store,
                {.left_out = cache_bytes == 0 ? nullptr : &left_out, .resume_time = [&](std::uint64_t us) {
                   clock.advance_us(us - clock.steady_us());
                   clock.set_wall_us(now_us);
                 }});
    EXPECT_TRUE(found.ok()) << found.error().message;
    recovered = std::move(found).value();
    EXPECT_EQ(begin_service(disk, directory_, now_us, recovered.epoch + 1), std::nullopt);
    manifest = std::make_unique<ManifestFile>(disk, directory_.manifest);
    begin_journal(disk, workers);
    served_from_us_ = store.machine.clock.steady_us();
    checkpointer = std::make_unique<Checkpointer>(disk, *manifest, store.store, *view_, checkpoints);
  }
  RecordedStore(const RecordedStore&) = delete;
  RecordedStore& operator=(const RecordedStore&) = delete;
  /// All records are on disk.
  ~RecordedStore() {
    store.leave();
    for (std::size_t i = 0; i < store.machine.runtime.worker_count(); ++i) {
      journal->park(worker(i));
    }
    const std::uint64_t now_us = store.machine.clock.steady_us();
    record_accesses(store.store, std::max(served_from_us_, checkpointer->status().ages_from_us), now_us,
                    *journal);
    EXPECT_TRUE(journal->flush_all_now());
    store.run_until_idle();  // gives back values that the journal held
    store.store.tree().commits().listen(nullptr);
    store.begins_round = store.ends_round = [](std::size_t) {};
  }

  /// Runs until the present checkpoint has ended.
  void finish_checkpoint() {
    for (int i = 0; checkpointer->status().running; ++i) {
      ASSERT_LT(i, 100'000);
      if (!checkpointer->step()) {
        store.run_until_idle();
        while (journal->step()) {
        }
        store.machine.clock.advance_us(1000);
      }
    }
    EXPECT_EQ(checkpointer->status().last_error, "");
  }

  TextStore store;
  LeftOutKeys left_out;
  Recovered recovered;
  std::unique_ptr<ManifestFile> manifest;
  std::unique_ptr<Journal> journal;
  std::unique_ptr<Checkpointer> checkpointer;

 private:
  struct HastyView final : JournalCheckpoints {
    using JournalCheckpoints::JournalCheckpoints;
    std::uint64_t last_recorded() override { return 0; }
    void need_on_disk(std::uint64_t /*epoch*/) override {}
    bool on_disk(std::uint64_t /*epoch*/) override { return true; }
  };

  static runtime::WorkerId worker(std::size_t i) { return runtime::WorkerId{static_cast<std::uint16_t>(i)}; }

  void begin_journal(Disk& disk, std::size_t workers) {
    JournalOptions options;
    options.workers = workers;
    options.first_epoch = recovered.epoch + 1;
    options.horizon_us = recovered.ceiling;
    options.segments = segments_behind(recovered, *manifest, 64U << 10U);
    WriterHooks hooks;
    hooks.greatest_order = [this] { return store.store.greatest_order(store.machine.clock.steady_us()); };
    journal = std::make_unique<Journal>(disk, store.machine.clock, std::move(options), std::move(hooks));
    EXPECT_EQ(journal->open(), "");
    record_left_out(left_out, store.store.tree().commits().claim(0), *journal);
    std::vector<RecordBuffer*> buffers;
    for (std::size_t i = 0; i < workers; ++i) {
      buffers.push_back(&journal->buffer(worker(i)));
      buffers.back()->set_context(&store.machine[i]);
    }
    listener_ = std::make_unique<StoreJournal>(std::move(buffers), record_times::steady);
    store.store.tree().commits().listen(listener_.get());
    store.begins_round = [this](std::size_t i) {
      static_cast<void>(journal->begin_round(worker(i), store.machine.clock.steady_us()));
    };
    store.ends_round = [this](std::size_t i) { journal->end_round(worker(i)); };
    const auto ceiling = [this] { return store.store.greatest_order(store.machine.clock.steady_us()); };
    if (hasty_) {
      view_ = std::make_unique<HastyView>(*journal, ceiling);
    } else {
      view_ = std::make_unique<JournalCheckpoints>(*journal, ceiling);
    }
  }

  bool hasty_;
  std::uint64_t served_from_us_ = 0;
  DataDirectory directory_;
  std::unique_ptr<StoreJournal> listener_;
  std::unique_ptr<JournalCheckpoints> view_;
};

}  // namespace mxkv::server::testing

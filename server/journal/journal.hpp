// The journal of a server: its epochs, a buffer for each worker, the segments, and the writer with its
// thread.
//
// A worker's round: begin_round(), which returns the clock to mint orders by; append records to buffer();
// end_round(); park() before it sleeps. epochs() has the epochs that replies and reads wait for, and the
// journal is the gate where they wait.
//
// The journal does not know the meaning of records, the clients, or how checkpoints are made.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/clock.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/memory/memory_budget.hpp"
#include "server/commit/commit_desk.hpp"
#include "server/commit/commit_epochs.hpp"
#include "server/commit/commit_gate.hpp"
#include "server/journal/journal_writer.hpp"
#include "server/journal/segment_store.hpp"
#include "server/journal/writer_signal.hpp"

namespace mxkv::server {

struct JournalOptions {
  std::size_t workers = 1;
  std::uint64_t first_epoch = 1;  ///< all earlier epochs are on disk
  std::uint64_t horizon_us = 0;   ///< no order up to it will be minted
  SegmentOptions segments;
  WriterOptions writer;
  runtime::MemoryBudget* budget = nullptr;  ///< buffers are charged to it, if there is one
  CommitGateOptions gate{};
};

/// Thread-safety: given per function.
class Journal final : public CommitGate {
 public:
  /// `disk` and `clock` outlive this. Workers mint by `clock`.
  Journal(Disk& disk, const runtime::Clock& clock, JournalOptions options, WriterHooks hooks);
  /// The workers have ended. Ends the thread; nothing more is written.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Begins a segment. Empty, or the error: "journal/0000000000000001.mxj: no space left on device".
  [[nodiscard]] std::string open();
  /// Begins a segment and writes the first group, so that no order is minted again. Empty, or why the journal
  /// cannot continue. A full disk is no such reason if all recovered data is surely on disk, or there is room
  /// to copy the rest: then the writer refuses writes, and tries again each second.
  [[nodiscard]] std::string begin();
  /// Brings all records to disk, before start(). Empty, or why the journal cannot continue. A full disk is no
  /// such reason: then the writer refuses writes.
  [[nodiscard]] std::string write_now();
  /// Starts the writer's thread; without it, the caller calls step(). Start-up only.
  void start();
  /// One step of the writer. False: it waits for workers, for a record or for time to pass.
  bool step() { return writer_.step(); }
  /// Appends records while no worker runs, before start() or behind the last round. Calls `append` with a
  /// buffer until it returns false. Writes the records on the way, so that they take little memory, but does
  /// not flush. Ends the thread.
  template <class Append>
  void record_alone(Append&& append) {
    constexpr runtime::WorkerId kAlone{0};
    constexpr unsigned kRecordsATurn = 65536;
    stop();
    for (bool more = true; more;) {
      static_cast<void>(begin_round(kAlone, clock_.steady_us()));
      for (unsigned n = 0; more && n < kRecordsATurn; ++n) {
        more = append(buffer(kAlone));
      }
      end_round(kAlone);
      park(kAlone);
      need(epochs_.last_recorded());
      while (waiting_bytes() > 0 && step()) {
      }
    }
  }
  /// A clean end, once no worker runs. True: all records are on disk, in any mode. False: see the writer's
  /// last_error(). Ends the thread.
  [[nodiscard]] bool flush_all_now();

  // -- worker `worker` only

  [[nodiscard]] Round begin_round(runtime::WorkerId worker, std::uint64_t now_us) noexcept override {
    const std::uint64_t mint_us = desks_[worker.index()]->begin_round(epochs_, worker, now_us);
    return {.mint_us = mint_us, .horizon_us = epochs_.horizon_us(now_us)};
  }
  [[nodiscard]] RecordBuffer& buffer(runtime::WorkerId worker) noexcept {
    return desks_[worker.index()]->buffer;
  }
  /// Ends the round: the writer may see its records.
  void end_round(runtime::WorkerId worker) noexcept override {
    if (desks_[worker.index()]->end_round(epochs_, worker)) [[unlikely]] {
      writer_.note_news();
      signal_.raise();
    }
  }
  /// Ends the rounds: the worker records nothing until the next begin_round().
  void park(runtime::WorkerId worker) noexcept override;

  // -- any thread

  [[nodiscard]] const CommitEpochs& epochs() const noexcept { return epochs_; }
  [[nodiscard]] const JournalWriter& writer() const noexcept { return writer_; }
  [[nodiscard]] const SegmentStore& segments() const noexcept { return store_; }
  /// Without the blocks that workers are filling.
  [[nodiscard]] std::uint64_t waiting_bytes() const noexcept override {
    return share_.waiting_bytes.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t must_wait_for() const noexcept override;
  [[nodiscard]] std::uint64_t durable() const noexcept override { return epochs_.durable(); }
  [[nodiscard]] std::uint64_t broken() const noexcept override { return writer_.failures(); }
  [[nodiscard]] const char* refusal() const noexcept override {
    return refusal_.load(std::memory_order_acquire);  // pairs with note_refusal()
  }
  /// A reply waits for `epoch`, which is at most last_recorded(): its records are written now, in any mode.
  /// With `on_disk` they are flushed as well, also in sync never: see synced(). One call for an epoch is
  /// enough.
  void need(std::uint64_t epoch, bool on_disk = false) noexcept;
  /// Ends the current epoch and returns it. Once passed() reaches it, all records with a greater label were
  /// recorded after this call. A checkpoint begins behind this epoch.
  std::uint64_t end_epoch() noexcept;
  void set_mode(const JournalMode& mode);
  void set_most_bytes(std::uint64_t bytes) noexcept;
  /// Bytes of segments that stay for readers of changes although no checkpoint needs them.
  void set_history_bytes(std::uint64_t bytes) noexcept;
  /// A checkpoint begun at `before_epoch` is on disk: segments with only earlier epochs may be removed.
  void truncate(std::uint64_t before_epoch) noexcept;
  /// That checkpoint has all data that a failed write lost.
  void rebased(std::uint64_t checkpoint_epoch) noexcept;

 private:
  /// The writer may delay the flush: sync interval, sync never.
  void wanted() noexcept override { need(epochs_.last_recorded()); }
  /// The gate hears of a change before others do.
  [[nodiscard]] WriterHooks gate_first(WriterHooks hooks);
  void note_refusal();
  void run();
  void stop();
  [[nodiscard]] std::string prepare();
  [[nodiscard]] DiskOutcome make_first_segment();
  [[nodiscard]] std::vector<RecordBuffer*> buffers() const;

  Disk& disk_;
  const runtime::Clock& clock_;
  CommitEpochs epochs_;
  BufferShare share_;
  std::vector<std::unique_ptr<CommitDesk>> desks_;
  std::list<std::string> refusals_;  ///< each once, as sessions refer to them. The writer's
  std::atomic<const char*> refusal_{nullptr};
  SegmentStore store_;
  WriterSignal signal_;
  JournalWriter writer_;
  std::uint64_t first_epoch_;
  std::atomic<bool> stopping_{false};  // ordered by the signal
  std::thread thread_;
};

}  // namespace mxkv::server

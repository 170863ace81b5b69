// The journal of a server: its epochs, a buffer a worker, the segments and the writer with its thread.
//
// A worker's round: begin_round(), which gives the clock to mint orders by; records are appended to buffer() in
// between; end_round(); park() before it sleeps. What a reply or a read has to wait for, epochs() tells.
//
// It does not know what records mean, who waits, or how checkpoints come about.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/clock.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/memory/memory_budget.hpp"
#include "server/journal/commit_epochs.hpp"
#include "server/journal/journal_desk.hpp"
#include "server/journal/journal_writer.hpp"
#include "server/journal/segment_store.hpp"
#include "server/journal/writer_signal.hpp"

namespace mxkv::server {

struct JournalOptions {
  std::size_t workers = 1;
  std::uint64_t first_epoch = 1;  ///< all before are on disk
  std::uint64_t horizon_us = 0;   ///< no order up to it is given out any more
  SegmentOptions segments;
  WriterOptions writer;
  runtime::MemoryBudget* budget = nullptr;  ///< to which buffers are charged, if any
};

/// Thread-safety: given per function.
class Journal {
 public:
  /// `disk` and `clock` outlive it; `clock` is the one by which workers mint.
  Journal(Disk& disk, const runtime::Clock& clock, JournalOptions options, WriterHooks hooks);
  /// Workers have ended; the thread ends, nothing more is written.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Begins a segment. Empty, or what is wrong: "journal/0000000000000001.mxj: no space left on device".
  [[nodiscard]] std::string open();
  /// Begins a segment and writes the first group, which keeps orders from being given out again. Empty, or why the
  /// journal cannot go on. A full disk is no reason where all that is recovered is on disk for certain, or there is room
  /// for a copy of what may not be: the writer is refusing then, and tries again each second.
  [[nodiscard]] std::string begin();
  /// Brings what was recorded to the disk, before start(). Empty, or why the journal cannot go on. A full disk is no
  /// reason: the writer is refusing then.
  [[nodiscard]] std::string write_now();
  /// The writer gets its thread; without it, step() is called instead. Start-up only.
  void start();
  /// One turn of the writer. False: it waits for workers, for a record or for time to pass.
  bool step() { return writer_.step(); }
  /// Appends records while no worker runs, before start() or behind the last round: calls `append` with a buffer until it
  /// returns false. They are written on the way, so that they take little memory, but not flushed. Ends the thread.
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
  /// A clean end, once no worker runs: everything that was recorded is on disk when it returns true, whatever
  /// the mode. Ends the thread. False: last_error() of the writer says why.
  [[nodiscard]] bool flush_all_now();

  // -- worker `worker` only

  /// Returns the clock to mint by. Also after park().
  [[nodiscard]] std::uint64_t begin_round(runtime::WorkerId worker, std::uint64_t now_us) noexcept {
    return desks_[worker.index()]->begin_round(epochs_, worker, now_us);
  }
  [[nodiscard]] JournalBuffer& buffer(runtime::WorkerId worker) noexcept {
    return desks_[worker.index()]->buffer;
  }
  /// What was recorded in the round is the writer's to see.
  void end_round(runtime::WorkerId worker) noexcept {
    if (desks_[worker.index()]->end_round(epochs_, worker)) [[unlikely]] {
      writer_.note_news();
      signal_.raise();
    }
  }
  /// Between rounds: nothing is recorded until the next begin_round().
  void park(runtime::WorkerId worker) noexcept;

  // -- any thread

  [[nodiscard]] const CommitEpochs& epochs() const noexcept { return epochs_; }
  [[nodiscard]] const JournalWriter& writer() const noexcept { return writer_; }
  [[nodiscard]] const SegmentStore& segments() const noexcept { return store_; }
  /// Of what was recorded and is not written, without the blocks that workers are filling.
  [[nodiscard]] std::uint64_t waiting_bytes() const noexcept {
    return share_.waiting_bytes.load(std::memory_order_relaxed);
  }
  /// A reply waits for `epoch`, which is last_recorded() at most: it is written now, whatever the mode. With
  /// `on_disk` it is flushed as well, also in sync never: synced() says when. Once an epoch is enough.
  void need(std::uint64_t epoch, bool on_disk = false) noexcept;
  /// Ends the current epoch and returns it: once passed() is there, whatever has a greater label is recorded
  /// later than now. Where a checkpoint begins, behind it.
  std::uint64_t end_epoch() noexcept;
  void set_mode(const JournalMode& mode);
  void set_most_bytes(std::uint64_t bytes) noexcept;
  /// A checkpoint that was begun at `before_epoch` is on disk: segments with nothing but epochs below may go.
  void truncate(std::uint64_t before_epoch) noexcept;
  /// The same checkpoint holds all that a failed write lost.
  void rebased(std::uint64_t checkpoint_epoch) noexcept;

 private:
  void run();
  void stop();
  [[nodiscard]] std::string prepare();
  [[nodiscard]] DiskOutcome make_first_segment();
  [[nodiscard]] std::vector<JournalBuffer*> buffers() const;

  Disk& disk_;
  const runtime::Clock& clock_;
  CommitEpochs epochs_;
  BufferShare share_;
  std::vector<std::unique_ptr<JournalDesk>> desks_;
  SegmentStore store_;
  WriterSignal signal_;
  JournalWriter writer_;
  std::uint64_t first_epoch_;
  std::atomic<bool> stopping_{false};  // ordered by the signal
  std::thread thread_;
};

}  // namespace mxkv::server

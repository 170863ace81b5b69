// Checkpoints: all items on disk, in key order, beside a store that goes on. Then the journal before may
// go.
//
//   begin    the current epoch is ended. When all workers have passed it, at epoch S, whatever has a smaller
//            label has passed the commit point
//   settle   and when all keys were held since, for a moment, it is in the tree, too (checkpoint_fence.hpp)
//   scan     a scan for each part of the keys; the thread writes what they fill, at a given rate
//   wait     nothing that a scan saw has a greater label than `needs`: it waits until that is on disk. Else a
//            crash could keep half of a batch that never became durable.
//   verify   all parts are read as recovery would
//   name     the manifest names it. From then on it counts, and what it makes superfluous is removed
//
// What fails leaves the checkpoint before as it was. It decides nothing about when one is due.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/clock.hpp"
#include "server/durability/checkpoint_fence.hpp"
#include "server/durability/checkpoint_scan.hpp"
#include "server/durability/manifest_file.hpp"
#include "server/durability/part_reader.hpp"
#include "server/durability/part_writer.hpp"
#include "server/journal/disk.hpp"

namespace mxkv::server {

/// What checkpoints ask of the journal. Thread-safety: the checkpointer's thread.
class CheckpointJournal {
 public:
  virtual ~CheckpointJournal() = default;
  /// Ends the current epoch and returns it.
  virtual std::uint64_t end_epoch() = 0;
  /// All records with labels up to it have been handed over: the changes that they tell have passed.
  virtual std::uint64_t passed() = 0;
  /// Not below the label of any record whose effect was seen before.
  virtual std::uint64_t last_recorded() = 0;
  /// All up to `epoch` is to be on disk, whatever the mode; on_disk() tells.
  virtual void need_on_disk(std::uint64_t epoch) = 0;
  virtual bool on_disk(std::uint64_t epoch) = 0;
  /// No order above it was given out.
  virtual std::uint64_t ceiling() = 0;
  /// The manifest names a checkpoint that was begun at `epoch`: what is before may go.
  virtual void checkpointed(std::uint64_t epoch) = 0;
};

struct CheckpointOptions {
  std::uint64_t rate_bytes = std::uint64_t{200} << 20U;  ///< a second; 0: unlimited
  bool compress = false;
  std::uint32_t parts = 4;  ///< at most
};

enum class checkpoint_stage : std::uint8_t { idle, begin, settle, cut, scan, wait, verify, name, end };

struct CheckpointStatus {
  bool running = false;  ///< one was begun and has not ended
  checkpoint_stage stage = checkpoint_stage::idle;
  // Of the one that goes on.
  std::uint64_t epoch = 0;
  std::uint64_t items = 0;  ///< written so far
  std::uint64_t bytes = 0;
  double fraction = 0;  ///< of the items that there are
  // Of the last one.
  std::optional<CheckpointEntry> last;
  double last_seconds = 0;
  std::uint64_t ages_from_us =
      0;  ///< steady: what was read before is in it with its access age; 0: there is none
  std::uint64_t completed = 0;  ///< since the start
  std::uint64_t failed = 0;
  std::string last_error;  ///< of the one that failed last
};

/// One a data directory. Thread-safety: given per function.
class Checkpointer {
 public:
  /// What is given outlives it. Between starts a directory may hold parts that no manifest names: they go when
  /// the next checkpoint begins.
  Checkpointer(Disk& disk, ManifestFile& manifest, Store& store, CheckpointJournal& journal,
               const CheckpointOptions& options);
  /// Not while workers run, unless nothing goes on.
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // -- any thread

  /// A checkpoint begins. False: one goes on already.
  bool begin();
  /// What goes on ends without a result, soon.
  void abandon();
  /// Of the next one.
  void set_options(const CheckpointOptions& options);
  [[nodiscard]] CheckpointStatus status() const;

  // -- its thread, or a test instead

  /// Does one thing. False: there is nothing to do now; see pause_ns().
  bool step();
  /// How long to wait for the bell then; ~0: until begin().
  [[nodiscard]] std::uint64_t pause_ns() const noexcept;

  // -- start-up and end

  void start();
  /// Ends the thread, and with it what goes on.
  void stop();
  /// Gives up what buffers hold. When no worker runs any more.
  void release(runtime::Worker& worker) noexcept;

 private:
  using stage = checkpoint_stage;

  bool step_begin();
  bool step_settle();
  bool step_cut();
  bool step_scan();
  bool step_wait();
  bool step_verify();
  bool step_name();
  bool step_end();
  [[nodiscard]] std::string open_part(std::size_t i);
  [[nodiscard]] std::string write_buffer(std::size_t i);
  [[nodiscard]] std::string end_part(std::size_t i);
  void fail(const std::string& why);
  /// Once all scans have ended, and gave up what they hold.
  void end();
  [[nodiscard]] runtime::WorkerId some_worker() noexcept;
  void go_to(stage next);

  Disk& disk_;
  ManifestFile& manifest_;
  Store& store_;
  CheckpointJournal& journal_;
  CheckpointBell bell_;
  std::atomic<bool> wanted_{false};     // relaxed: the bell orders it
  std::atomic<bool> abandoned_{false};  // relaxed: seen at the next step
  std::atomic<bool> stopping_{false};   // relaxed: the bell orders it

  // The thread's.
  stage stage_ = stage::idle;
  CheckpointOptions options_;
  std::uint64_t ended_epoch_ = 0;
  CheckpointEntry entry_;
  std::unique_ptr<CheckpointFence> fence_;
  std::unique_ptr<CheckpointCut> cut_;
  std::deque<PartScan> scans_;
  std::vector<std::unique_ptr<PartWriter>> writers_;  ///< null: ended
  std::size_t next_scan_ = 0;
  std::uint32_t verified_ = 0;
  std::uint64_t begun_ns_ = 0;
  std::uint64_t scans_from_us_ = 0;  ///< steady
  std::uint64_t free_at_ns_ = 0;     ///< when the rate allows to write again
  std::uint32_t turn_ = 0;
  runtime::RequestId request_{0};  ///< of the scans of a checkpoint

  mutable std::mutex mutex_;
  CheckpointStatus status_;         ///< under the mutex
  CheckpointOptions next_options_;  ///< under the mutex
  std::thread thread_;
};

}  // namespace mxkv::server

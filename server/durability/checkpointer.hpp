// Checkpoints: all items on disk, in key order, while the store runs. Then the journal before the checkpoint
// may be removed.
//
//   begin    ends the current epoch. When all workers have passed it, at epoch S, all changes with a smaller label
//            have passed the commit point
//   settle   holds all keys for a moment. Then these changes are in the tree, too (checkpoint_fence.hpp)
//   scan     one scan for each part of the keys; the thread writes the filled buffers, at a given rate
//   wait     no change that a scan saw has a greater label than `needs`: waits until that is on disk. Else a crash
//            could keep half of a batch that never became durable.
//   verify   reads all parts as recovery would
//   name     the manifest names the checkpoint. From then on it counts, and superfluous files are removed
//
// A failed checkpoint leaves the one before in force. This file does not decide when a checkpoint is due.
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

/// The checkpointer's view of the journal. Thread-safety: the checkpointer's thread.
class CheckpointJournal {
 public:
  virtual ~CheckpointJournal() = default;
  /// Ends the current epoch and returns it.
  virtual std::uint64_t end_epoch() = 0;
  /// The epoch up to which workers have handed over all records: their changes have passed.
  virtual std::uint64_t passed() = 0;
  /// At least the label of every record whose effect was seen before the call.
  virtual std::uint64_t last_recorded() = 0;
  /// Asks for all records up to `epoch` on disk, in any mode; on_disk() says when they are.
  virtual void need_on_disk(std::uint64_t epoch) = 0;
  virtual bool on_disk(std::uint64_t epoch) = 0;
  /// No greater order was minted.
  virtual std::uint64_t ceiling() = 0;
  /// The manifest names a checkpoint begun at `epoch`: the journal before that may be removed.
  virtual void checkpointed(std::uint64_t epoch) = 0;
};

struct CheckpointOptions {
  std::uint64_t rate_bytes = std::uint64_t{200} << 20U;  ///< a second; 0: unlimited
  bool compress = false;
  std::uint32_t parts = 4;  ///< at most
};

enum class checkpoint_stage : std::uint8_t { idle, begin, settle, cut, scan, wait, verify, name, end };

struct CheckpointStatus {
  bool running = false;  ///< a checkpoint was begun and has not ended
  checkpoint_stage stage = checkpoint_stage::idle;
  // Of the checkpoint under way.
  std::uint64_t epoch = 0;
  std::uint64_t items = 0;  ///< written so far
  std::uint64_t bytes = 0;
  double fraction = 0;  ///< of the store's items
  // Of the last checkpoint.
  std::optional<CheckpointEntry> last;
  double last_seconds = 0;
  std::uint64_t ages_from_us =
      0;  ///< steady: the last checkpoint has the access ages of reads before this; 0: there is none
  std::uint64_t completed = 0;  ///< since the start
  std::uint64_t failed = 0;
  std::string last_error;  ///< of the last failed checkpoint
};

/// One a data directory. Thread-safety: given per function.
class Checkpointer {
 public:
  /// All arguments outlive this. At the start a directory may hold parts that no manifest names; the next
  /// checkpoint removes them when it begins.
  Checkpointer(Disk& disk, ManifestFile& manifest, Store& store, CheckpointJournal& journal,
               const CheckpointOptions& options);
  /// Not while workers run, unless no checkpoint is under way.
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // -- any thread

  /// Begins a checkpoint. False: one is under way already.
  bool begin();
  /// Ends the checkpoint under way soon, without a result.
  void abandon();
  /// For the next checkpoint.
  void set_options(const CheckpointOptions& options);
  [[nodiscard]] CheckpointStatus status() const;

  // -- its thread, or a test instead

  /// Makes one step. False: there is nothing to do now; see pause_ns().
  bool step();
  /// How long (ns) to wait for the bell then; ~0: without a limit.
  [[nodiscard]] std::uint64_t pause_ns() const noexcept;

  // -- start-up and end

  void start();
  /// Ends the thread, and the checkpoint under way.
  void stop();
  /// Drops the references of the buffers. When no worker runs any more.
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
  /// Ends the checkpoint, once all scans have ended and dropped their references.
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
  std::vector<std::unique_ptr<PartWriter>> writers_;  ///< null: the part has ended
  std::size_t next_scan_ = 0;
  std::uint32_t verified_ = 0;
  std::uint64_t begun_ns_ = 0;
  std::uint64_t scans_from_us_ = 0;  ///< steady
  std::uint64_t free_at_ns_ = 0;     ///< when the rate allows the next write
  std::uint32_t turn_ = 0;
  runtime::RequestId request_{0};  ///< of the scans of a checkpoint

  mutable std::mutex mutex_;
  CheckpointStatus status_;         ///< under the mutex
  CheckpointOptions next_options_;  ///< under the mutex
  std::thread thread_;
};

}  // namespace mxkv::server

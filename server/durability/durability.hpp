// Makes a store durable. Its members, each of which refers to those before it: the directory, the state
// recovered from it, the journal that continues there, its gate, checkpoints and their keeper.
//
// Its life: open_directory() before anything else starts; the constructor recovers the store and begins to
// serve from the directory; start() once the network is ready; finish() when no worker runs any more.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "config/options.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/durability/checkpoint_keeper.hpp"
#include "server/durability/data_directory.hpp"
#include "server/durability/recovery.hpp"
#include "server/durability/store_journal.hpp"
#include "server/journal/posix_disk.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

/// The start is refused: nothing was started or changed on disk. what() says why.
class StartRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A directory that this process holds.
struct HeldDirectory {
  std::unique_ptr<PosixDisk> disk;
  DataDirectory data;
};

/// Receives the log lines. Thread-safety: any thread.
class DurabilityLog {
 public:
  DurabilityLog() = default;
  DurabilityLog(const DurabilityLog&) = delete;
  DurabilityLog& operator=(const DurabilityLog&) = delete;

  virtual void debug(const std::string& text) = 0;
  virtual void info(const std::string& text) = 0;
  virtual void warn(const std::string& text) = 0;
  /// The journal failed, and the options want the process to end at once.
  [[noreturn]] virtual void fatal(const std::string& text) = 0;

 protected:
  ~DurabilityLog() = default;
};

/// The numbers of `stats durability`, each right for some recent moment.
struct DurabilityStatus {
  std::uint64_t epoch_current = 0;
  std::uint64_t epoch_durable = 0;
  std::uint64_t behind_ms = 0;
  std::uint64_t waiting_bytes = 0;
  std::uint64_t journal_bytes = 0;
  std::uint64_t journal_most = 0;
  std::uint64_t segments = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t records = 0;
  std::uint64_t groups = 0;
  std::uint64_t failures = 0;
  std::uint64_t slow_flushes = 0;
  FlushTimes::Figures flushes;
  CheckpointStatus checkpoint;
  std::uint64_t recovered_items = 0;
  std::uint64_t recovery_ms = 0;
  config::DurabilityOptions options;  ///< in force
  std::string refusal;                ///< why writes are refused; empty: they are not
  std::string last_error;
};

struct RecoverySettings {
  bool evict = false;           ///< if items do not fit, the newest are kept; else the start is refused
  bool recover_prefix = false;  ///< --recover=prefix
  std::function<void(std::uint64_t)> resume_time = [](std::uint64_t) {};  ///< see RecoveryOptions
  std::function<void(const RecoveryProgress&)> progress = [](const RecoveryProgress&) {};
};

/// Thread-safety: given per function.
class Durability {
 public:
  /// Opens and locks the directory. The error is one line. Start-up only.
  [[nodiscard]] static runtime::Result<HeldDirectory> open_directory(const std::string& path);

  /// Fills `store`, whose runtime does not run yet, and listens to it. Throws StartRefused. All arguments
  /// outlive this.
  Durability(HeldDirectory held, const config::DurabilityOptions& options, const RecoverySettings& settings,
             runtime::Runtime& runtime, Store& store, DurabilityLog& log);
  ~Durability();
  Durability(const Durability&) = delete;
  Durability& operator=(const Durability&) = delete;

  [[nodiscard]] CommitGate& gate() noexcept { return *journal_; }
  /// Starts to write the journal; while the disk is full, it refuses writes instead. `wake` ends a worker's
  /// sleep. Throws StartRefused. Start-up only.
  void start(std::function<void(std::size_t)> wake);
  /// Applies new values of the options that may change. Any thread.
  void apply(const config::DurabilityOptions& options);
  /// Makes a checkpoint and waits for its end; for a process that serves no clients. Empty, or the reason why
  /// it failed.
  [[nodiscard]] std::string checkpoint_now();
  /// Brings all records to disk, and notes an orderly end in the directory. When no worker runs any more.
  void finish();
  /// Any thread.
  [[nodiscard]] DurabilityStatus status() const;

  // For readers of changes, any thread: the directory, its manifest, and the epochs of its journal.

  [[nodiscard]] Disk& disk() noexcept { return *held_.disk; }
  [[nodiscard]] Manifest manifest() const { return manifest_->get(); }
  /// Whether the next process will know this one's tag.
  [[nodiscard]] bool manifest_is_kept() const { return manifest_->is_kept(); }
  [[nodiscard]] const CommitEpochs& epochs() const noexcept { return journal_->epochs(); }
  /// Keeps so many bytes of the journal that no checkpoint needs.
  void keep_history(std::uint64_t bytes) noexcept { journal_->set_history_bytes(bytes); }
  /// Bytes of the journal that no checkpoint needs.
  [[nodiscard]] std::uint64_t history_bytes() const noexcept { return journal_->segments().history_bytes(); }
  /// The records up to `epoch`, which is at most the current one, are written now, in any mode.
  void need(std::uint64_t epoch) noexcept { journal_->need(epoch); }
  /// `changed` is called on the writer's thread after each group and each failure. Empty: nobody reads; once this
  /// returns, the function before is not called any more.
  void tell_reader(std::function<void()> changed);

 private:
  void tell(const Recovered& found, double seconds);
  void begin_journal(const Recovered& found);
  void changed();

  runtime::Runtime& runtime_;
  Store& store_;
  DurabilityLog& log_;
  HeldDirectory held_;
  config::DurabilityOptions options_;  ///< under mutex_
  std::mutex reader_mutex_;            ///< guards reader_
  std::function<void()> reader_;
  mutable std::mutex mutex_;
  std::uint64_t recovered_items_ = 0;
  std::uint64_t recovery_ms_ = 0;
  LeftOutKeys left_out_;              ///< start() records them
  std::uint64_t served_from_us_ = 0;  ///< steady: access ages of reads before this are on disk
  std::function<void(std::size_t)> wake_;
  std::unique_ptr<ManifestFile> manifest_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<StoreJournal> feed_;
  std::unique_ptr<CheckpointKeeper> keeper_;
  std::unique_ptr<Checkpointer> checkpointer_;
  // The writer thread's: the failures and the refusal that were logged last.
  std::uint64_t failures_ = 0;
  std::string refusal_;
};

}  // namespace mxkv::server

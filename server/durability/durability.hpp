// Everything that makes a store durable, in the order in which it refers to each other: the directory, what was
// recovered from it, the journal that goes on behind that, its gate, checkpoints and their keeper.
//
// Its life: open_directory() before anything else starts; the constructor recovers the store and begins to serve from
// the directory; start() once the network is there; finish() when no worker runs any more.
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
#include "server/durability/journal_gate.hpp"
#include "server/durability/recovery.hpp"
#include "server/durability/store_journal.hpp"
#include "server/journal/posix_disk.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

/// Nothing was started, and nothing on disk was changed: what() says why.
class StartRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A directory that is held for this process.
struct HeldDirectory {
  std::unique_ptr<PosixDisk> disk;
  DataDirectory data;
};

/// Where its lines go. Thread-safety: any thread.
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

/// What `stats durability` shows. Each number is right for some recent moment.
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
  bool evict = false;           ///< of what does not fit the newest is kept; else the start is refused
  bool recover_prefix = false;  ///< --recover=prefix
  std::function<void(std::uint64_t)> resume_time = [](std::uint64_t) {};  ///< see RecoveryOptions
  std::function<void(const RecoveryProgress&)> progress = [](const RecoveryProgress&) {};
};

/// Thread-safety: given per function.
class Durability {
 public:
  /// Takes the directory of the options. The error is one line. Start-up only.
  [[nodiscard]] static runtime::Result<HeldDirectory> open_directory(const std::string& path);

  /// Fills `store`, whose runtime does not run, and listens to it. Throws StartRefused. All arguments outlive this.
  Durability(HeldDirectory held, const config::DurabilityOptions& options, const RecoverySettings& settings,
             runtime::Runtime& runtime, Store& store, DurabilityLog& log);
  ~Durability();
  Durability(const Durability&) = delete;
  Durability& operator=(const Durability&) = delete;

  [[nodiscard]] DiskGate& gate() noexcept { return *gate_; }
  /// The journal is written from now on, or refuses writes while the disk is full. `wake` ends a worker's sleep. Throws
  /// StartRefused. Start-up only.
  void start(std::function<void(std::size_t)> wake);
  /// New options, of those that may change. Any thread.
  void apply(const config::DurabilityOptions& options);
  /// A checkpoint now, to its end; for a process that serves nobody. Empty, or why there is none.
  [[nodiscard]] std::string checkpoint_now();
  /// All that was recorded is on disk, and the directory says that it ended in order. When no worker runs any more.
  void finish();
  /// Any thread.
  [[nodiscard]] DurabilityStatus status() const;

 private:
  void tell(const Recovered& found, double seconds);
  void begin_journal(const Recovered& found);
  void changed();

  runtime::Runtime& runtime_;
  Store& store_;
  DurabilityLog& log_;
  HeldDirectory held_;
  config::DurabilityOptions options_;  ///< under mutex_
  mutable std::mutex mutex_;
  std::uint64_t recovered_items_ = 0;
  std::uint64_t recovery_ms_ = 0;
  LeftOutKeys left_out_;              ///< that start() records
  std::uint64_t served_from_us_ = 0;  ///< steady: what was read before is on disk with its access age
  std::function<void(std::size_t)> wake_;
  std::unique_ptr<ManifestFile> manifest_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<StoreJournal> feed_;
  std::unique_ptr<JournalGate> gate_;
  std::unique_ptr<CheckpointKeeper> keeper_;
  std::unique_ptr<Checkpointer> checkpointer_;
  // The writer's: what was told.
  std::uint64_t failures_ = 0;
  std::string refusal_;
};

}  // namespace mxkv::server

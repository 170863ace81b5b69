// Range watches: the log of changes, its readers, the herald, and the thread that runs them. The log is the journal of a
// server with a directory, or else the log in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "config/options.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/durability/durability.hpp"
#include "server/feed/herald.hpp"
#include "server/feed/herald_thread.hpp"
#include "server/feed/journal_log.hpp"
#include "server/feed/memory_log.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

/// Thread-safety: given per member and function.
class Feed {
 public:
  /// All arguments outlive this. `durability`: null: a server without a directory; then nobody else listens to the
  /// store's changes. With one, it was not started yet. Start-up only.
  Feed(runtime::Runtime& runtime, Store& store, Durability* durability, const config::WatchOptions& options);
  ~Feed();
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  /// `wake_worker` ends a worker's sleep. No watch gets anything before. Start-up only.
  void start(std::function<void(std::size_t)> wake_worker);
  /// Tells nobody anything any more. Before the network ends.
  void stop() { thread_.stop(); }

  // -- worker `worker` only, as in CommitGate. The journal's rounds are the gate's own.

  void begin_round(runtime::WorkerId worker) noexcept {
    if (memory_ != nullptr) {
      memory_->begin_round(worker);
    }
  }
  void end_round(runtime::WorkerId worker) noexcept {
    if (memory_ != nullptr) {
      memory_->end_round(worker);
    }
  }
  void park(runtime::WorkerId worker) noexcept {
    if (memory_ != nullptr) {
      memory_->park(worker);
    }
  }

  // -- any thread

  [[nodiscard]] Herald& herald() noexcept { return *herald_; }
  [[nodiscard]] const Herald& herald() const noexcept { return *herald_; }
  /// The last epoch that watches may hear of.
  [[nodiscard]] std::uint64_t epoch() const noexcept { return live_->through(); }
  /// Bytes of recent changes in memory. With a directory 0.
  [[nodiscard]] std::uint64_t ring_bytes() const noexcept {
    return memory_ != nullptr ? memory_->ring_bytes() : 0;
  }
  /// Bytes of the journal that no checkpoint needs any more. Without a directory 0.
  [[nodiscard]] std::uint64_t history_bytes() const noexcept {
    return durability_ != nullptr ? durability_->history_bytes() : 0;
  }

 private:
  void begin_log(runtime::Runtime& runtime, Store& store, const config::WatchOptions& options);
  void begin_log(Durability& durability, const config::WatchOptions& options);
  void wake_worker(std::size_t worker) const {
    if (wake_worker_) {
      wake_worker_(worker);
    }
  }

  std::function<void(std::size_t)> wake_worker_;
  Durability* const durability_;
  HeraldThread thread_;
  std::unique_ptr<MemoryLog> memory_;    ///< null: there is a journal
  std::unique_ptr<JournalLog> journal_;  ///< null: there is none
  std::unique_ptr<ChangeSource> live_;
  std::unique_ptr<ChangeSource> past_;
  std::unique_ptr<Herald> herald_;
};

}  // namespace mxkv::server

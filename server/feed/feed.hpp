// Range watches of a server without a directory: the log in memory, its readers, the herald, and the thread that runs
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "config/options.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/feed/herald.hpp"
#include "server/feed/herald_thread.hpp"
#include "server/feed/memory_log.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

/// Thread-safety: given per member and function.
class Feed {
 public:
  /// Both arguments outlive this; nobody else listens to the store's changes. Start-up only.
  Feed(runtime::Runtime& runtime, Store& store, const config::WatchOptions& options);

  ~Feed() { stop(); }
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  /// `wake_worker` ends a worker's sleep. No watch gets anything before. Start-up only.
  void start(std::function<void(std::size_t)> wake_worker);
  /// Tells nobody anything any more. Before the network ends.
  void stop() { thread_.stop(); }

  [[nodiscard]] MemoryLog& log() noexcept { return log_; }
  [[nodiscard]] const MemoryLog& log() const noexcept { return log_; }
  [[nodiscard]] Herald& herald() noexcept { return herald_; }
  [[nodiscard]] const Herald& herald() const noexcept { return herald_; }

 private:
  void wake_worker(std::size_t worker) const {
    if (wake_worker_) {
      wake_worker_(worker);
    }
  }

  std::function<void(std::size_t)> wake_worker_;
  HeraldThread thread_;
  MemoryLog log_;
  RingSource live_;
  RingSource past_;
  Herald herald_;
};

}  // namespace mxkv::server

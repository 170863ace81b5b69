// The signals that end the daemon. They are blocked in every thread and waited for by the main one: no
// handler, so nothing has to be async-signal-safe, and it works as process 1 of a container, too.
#pragma once

#include <chrono>
#include <csignal>
#include <optional>

namespace mxkv::server {

/// Thread-safety: the main thread.
class TerminationSignals {
 public:
  /// Blocks SIGTERM and SIGINT in this thread and those that it starts; ignores SIGPIPE.
  TerminationSignals();

  /// Waits for one. Returns its number.
  [[nodiscard]] int wait() const;
  /// Waits for one, at most so long.
  [[nodiscard]] std::optional<int> wait_for(std::chrono::milliseconds time) const;

 private:
  sigset_t signals_{};
};

}  // namespace mxkv::server

// The signals that the daemon knows: SIGTERM, SIGINT and SIGUSR1 end it, SIGHUP makes it read its file again.
// They are blocked in every thread and waited for by the main one: no handler, so nothing has to be
// async-signal-safe, and it works as process 1 of a container, too.
#pragma once

#include <chrono>
#include <csignal>
#include <optional>
#include <string_view>

namespace mxkv::server {

/// One that came.
struct Signal {
  int number = 0;
  bool from_terminal = false;  ///< not sent by a process: a key was pressed, or the terminal is gone

  /// Whether it asks for the end. A SIGHUP of the system's own says that the terminal is gone.
  [[nodiscard]] bool ends() const noexcept { return number != SIGHUP || from_terminal; }
  [[nodiscard]] std::string_view name() const noexcept;
};

/// Thread-safety: the main thread.
class Signals {
 public:
  /// Blocks them in this thread and those that it starts; ignores SIGPIPE.
  Signals();

  /// Waits for one, at most so long; without a time: until one comes, or wake() was called.
  [[nodiscard]] std::optional<Signal> wait(std::optional<std::chrono::nanoseconds> most) const;
  /// Ends the main thread's wait, or its next one. Any thread.
  void wake() const noexcept;

 private:
  sigset_t signals_{};
  pthread_t main_;
  bool hangup_ignored_;  ///< as nohup leaves it
};

}  // namespace mxkv::server

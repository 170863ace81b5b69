// The daemon's signals: SIGTERM, SIGINT and SIGUSR1 end it, SIGHUP makes it read its file again. They are
// blocked in every thread, and the main thread waits for them. There is no handler, so no code has to be
// async-signal-safe; it also works as process 1 of a container.
#pragma once

#include <chrono>
#include <csignal>
#include <optional>
#include <string_view>

namespace mxkv::server {

/// A signal that came.
struct Signal {
  int number = 0;
  bool from_terminal = false;  ///< from the kernel: a key was pressed, or the terminal is gone

  /// Whether it asks the process to end. A SIGHUP from the kernel says that the terminal is gone.
  [[nodiscard]] bool ends() const noexcept { return number != SIGHUP || from_terminal; }
  [[nodiscard]] std::string_view name() const noexcept;
};

/// Thread-safety: the main thread.
class Signals {
 public:
  /// Blocks the signals in this thread and in threads that it starts; ignores SIGPIPE.
  Signals();

  /// Waits for a signal, at most for `most`; without it, until a signal comes or wake() was called.
  [[nodiscard]] std::optional<Signal> wait(std::optional<std::chrono::nanoseconds> most) const;
  /// Ends the main thread's current or next wait. Any thread.
  void wake() const noexcept;

 private:
  sigset_t signals_{};
  pthread_t main_;
  bool hangup_ignored_;  ///< nohup does that
};

}  // namespace mxkv::server

// What a service manager is told, as systemd's sd_notify(3) documents it: one datagram a message to the
// socket that NOTIFY_SOCKET names. Without that variable all of it does nothing.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace mxkv::server {

/// Thread-safety: any thread.
class Notifier {
 public:
  /// `socket` is a path, or @name in the abstract namespace; empty: nobody is told.
  explicit Notifier(std::string socket) : socket_(std::move(socket)) {}
  /// Whom the environment names.
  [[nodiscard]] static Notifier from_environment();

  /// It serves; also the end of a reload. Says the process's number, too, which is new in the background.
  bool ready() const;
  bool reloading() const;
  bool stopping() const;
  bool watchdog() const { return send("WATCHDOG=1"); }

  /// Sends assignments, one a line. Returns false if there is a socket and it did not take them.
  bool send(std::string_view assignments) const;

 private:
  std::string socket_;
};

/// How often the service manager wants to hear from this process (WATCHDOG_USEC, WATCHDOG_PID), if it does.
/// `process` is this process, and `started_as` the number it had before it went into the background.
[[nodiscard]] std::optional<std::chrono::microseconds> watchdog_period(long process, long started_as);

}  // namespace mxkv::server

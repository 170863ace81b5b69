// Messages to a service manager, as systemd's sd_notify(3) documents them: one datagram a message to the
// socket that NOTIFY_SOCKET names. Without that variable nothing is sent.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace mxkv::server {

/// Thread-safety: any thread.
class Notifier {
 public:
  /// `socket`: a path, or @name in the abstract namespace; empty: sends nothing.
  explicit Notifier(std::string socket) : socket_(std::move(socket)) {}
  /// A notifier for the socket that the environment names.
  [[nodiscard]] static Notifier from_environment();

  /// The daemon serves; also ends a reload. Also sends the process id, which is new in the background.
  bool ready() const;
  bool reloading() const;
  bool stopping() const;
  bool watchdog() const { return send("WATCHDOG=1"); }

  /// Sends assignments, one a line. Returns false if there is a socket and sending failed.
  bool send(std::string_view assignments) const;

 private:
  std::string socket_;
};

/// How often the service manager expects a message (WATCHDOG_USEC, WATCHDOG_PID), if it does. `process`: this
/// process; `started_as`: its id before it went into the background.
[[nodiscard]] std::optional<std::chrono::microseconds> watchdog_period(long process, long started_as);

}  // namespace mxkv::server

// What the main thread does while the workers serve: waits for signals, reloads, tells the service manager
// that all is well, and brings it all to an end.
#pragma once

#include <chrono>
#include <optional>

#include "server/daemon/chronicle.hpp"
#include "server/daemon/daemon.hpp"
#include "server/daemon/log.hpp"
#include "server/daemon/notify.hpp"
#include "server/daemon/parts.hpp"
#include "server/daemon/signals.hpp"
#include "server/daemon/watchdog.hpp"

namespace mxkv::server {

/// How it came to the end.
enum class ending : std::uint8_t {
  drained,    ///< what had arrived was answered
  timed_out,  ///< connections did not take their replies in time
  at_once,    ///< a second signal came: nothing was put in order
};

/// Thread-safety: the main thread.
class Supervisor final : private HappeningBell {
 public:
  /// The workers run and the listeners are up. `process` is as in Start.
  Supervisor(Parts& parts, Log& log, const Signals& signals, const config::DaemonOptions& options,
             Reread reread, long process);

  /// Says that it serves, and returns when it does not any more.
  [[nodiscard]] ending run();

 private:
  using Time = std::chrono::steady_clock::time_point;

  void reload();
  void apply(const config::DaemonOptions& wanted);
  [[nodiscard]] bool refuses(const config::DaemonOptions& wanted);
  void reread_users();
  void reopen_log(const config::LogOptions& options);
  [[nodiscard]] ending drain();
  /// What is to be done now and then, and how long until the next time; nothing: never.
  std::optional<std::chrono::nanoseconds> tick();
  void ping();
  void ring() noexcept override { signals_.wake(); }
  void chronicle(Time now);

  Parts& parts_;
  Log& log_;
  const Signals& signals_;
  config::DaemonOptions running_;  ///< what holds now
  Reread reread_;
  Notifier notifier_ = Notifier::from_environment();
  std::optional<std::chrono::microseconds> watchdog_;
  Time next_ping_{};
  WorkerRounds rounds_;
  Chronicle chronicle_;
};

}  // namespace mxkv::server

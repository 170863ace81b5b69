// What the main thread does while the workers serve: waits for signals, reloads, tells the service manager
// that all is well, and brings it all to an end.
#pragma once

#include <chrono>
#include <optional>

#include "config/resolve.hpp"
#include "server/admin/admin_service.hpp"
#include "server/admin/watchdog.hpp"
#include "server/daemon/admin_listeners.hpp"
#include "server/daemon/chronicle.hpp"
#include "server/daemon/daemon.hpp"
#include "server/daemon/log.hpp"
#include "server/daemon/notify.hpp"
#include "server/daemon/parts.hpp"
#include "server/daemon/signals.hpp"

namespace mxkv::server {

/// How it came to the end.
enum class ending : std::uint8_t {
  drained,    ///< what had arrived was answered
  timed_out,  ///< connections did not read their replies in time
  at_once,    ///< a second signal came: nothing was put in order
};

/// What options come to a limit of memory by.
struct Machine {
  const runtime::Topology& topology;
  const config::MachineFacts& facts;
};

/// Thread-safety: the main thread.
class Supervisor final : private HappeningBell {
 public:
  /// The workers run and the listeners are up. `process` is as in Start.
  Supervisor(Parts& parts, Log& log, const Signals& signals, const config::DaemonOptions& options,
             Reread reread, long process, AdminService& admin, const Machine& machine);

  /// Says that it serves, and returns when it does not any more.
  [[nodiscard]] ending run();

 private:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr const char* kConfigSet = "config set";  ///< who set an option

  void reload();
  /// `by`: the client or signal that asked for it, for the log. What `wanted` says was checked; `admin` is what
  /// prepare_admin() made of it, none where those listeners stay. Returns whether anything changed.
  bool apply(const config::DaemonOptions& wanted, const config::Resolved& resolved, const std::string& by,
             std::optional<std::vector<HttpListener>> admin);
  /// False: it is as the options say.
  bool limit_memory(const std::string& by, bool told);
  // supervisor_config.cpp
  /// Why what runs cannot become what is wanted; none: it can.
  [[nodiscard]] std::vector<std::string> refusals(const config::DaemonOptions& wanted,
                                                  const config::Resolved& resolved) const;
  /// The listeners of administration that are wanted; none: they stay, or `why` says what refuses them.
  [[nodiscard]] std::optional<std::vector<HttpListener>> admin_wanted(const config::DaemonOptions& wanted,
                                                                      std::vector<std::string>& why);
  void answer_config();
  [[nodiscard]] std::string set_option(const ConfigRequest& request);
  [[nodiscard]] config::DaemonOptions in_force();
  void reread_users();
  void log_refusal(std::string_view lines);
  struct CertificatesRead {
    std::size_t listeners = 0;  ///< that have them; 0: none does, or the old ones stay
    std::string flaw;           ///< of a file; empty: none
  };
  /// `by`: the client or signal that asked for it, for the log.
  CertificatesRead reread_certificates(const std::string& by);
  [[nodiscard]] std::string refresh_certificates(const ConfigRequest& request);
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
  AdminService& admin_;
  Machine machine_;
  config::Resolved resolved_;  ///< what running_ comes to on it
  Notifier notifier_ = Notifier::from_environment();
  std::optional<std::chrono::microseconds> watchdog_;
  Time next_ping_{};
  WorkerRounds rounds_;
  Chronicle chronicle_;
};

}  // namespace mxkv::server

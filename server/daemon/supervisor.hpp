// The main thread's work while the workers serve: waits for signals, reloads, tells the service manager that
// all is well, and ends the daemon.
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

/// How the daemon ended.
enum class ending : std::uint8_t {
  drained,    ///< all requests that had arrived were answered
  timed_out,  ///< connections did not read their replies in time
  at_once,    ///< after a second signal, without cleaning up
};

/// The machine, for which options are resolved to a memory limit.
struct Machine {
  const runtime::Topology& topology;
  const config::MachineFacts& facts;
};

/// Thread-safety: the main thread.
class Supervisor final : private HappeningBell {
 public:
  /// The workers run and the listeners are open. `process`: see Start.
  Supervisor(Parts& parts, Log& log, const Signals& signals, const config::DaemonOptions& options,
             Reread reread, long process, AdminService& admin, const Machine& machine);

  /// Reports that the daemon serves, and returns when it no longer does.
  [[nodiscard]] ending run();

 private:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr const char* kConfigSet = "config set";  ///< the origin of such options

  void reload();
  /// `by`: the client or signal that asked for it, for the log. `wanted` has been checked; `admin` is the
  /// result of prepare_admin(), none if those listeners stay. Returns whether anything changed.
  bool apply(const config::DaemonOptions& wanted, const config::Resolved& resolved, const std::string& by,
             std::optional<std::vector<HttpListener>> admin);
  /// False: the limit is already as in the options.
  bool limit_memory(const std::string& by, bool told);
  // supervisor_config.cpp
  /// Why the running options cannot become the wanted ones; empty: they can.
  [[nodiscard]] std::vector<std::string> refusals(const config::DaemonOptions& wanted,
                                                  const config::Resolved& resolved) const;
  /// The new listeners of administration; none: they stay, or `why` has the errors.
  [[nodiscard]] std::optional<std::vector<HttpListener>> admin_wanted(const config::DaemonOptions& wanted,
                                                                      std::vector<std::string>& why);
  void answer_config();
  [[nodiscard]] std::string set_option(const ConfigRequest& request);
  [[nodiscard]] config::DaemonOptions in_force();
  void reread_users();
  void log_refusal(std::string_view lines);
  struct CertificatesRead {
    std::size_t listeners = 0;  ///< that use them; 0: none does, or the old certificates stay
    std::string flaw;           ///< of a file; empty: none
  };
  /// Of all listeners that speak TLS.
  [[nodiscard]] std::vector<TlsDoor*> doors() const;
  /// `by`: the client or signal that asked for it, for the log.
  CertificatesRead reread_certificates(const std::string& by);
  [[nodiscard]] std::string refresh_certificates(const ConfigRequest& request);
  void reopen_log(const config::LogOptions& options);
  [[nodiscard]] ending drain();
  /// Does periodic work, and returns how long until the next; nothing: there is none.
  std::optional<std::chrono::nanoseconds> tick();
  void ping();
  void ring() noexcept override { signals_.wake(); }
  void chronicle(Time now);

  Parts& parts_;
  Log& log_;
  const Signals& signals_;
  config::DaemonOptions running_;  ///< the options in force
  Reread reread_;
  AdminService& admin_;
  Machine machine_;
  config::Resolved resolved_;  ///< running_, resolved for that machine
  Notifier notifier_ = Notifier::from_environment();
  std::optional<std::chrono::microseconds> watchdog_;
  Time next_ping_{};
  WorkerRounds rounds_;
  Chronicle chronicle_;
};

}  // namespace mxkv::server

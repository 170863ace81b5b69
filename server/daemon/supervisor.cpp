#include "server/daemon/supervisor.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "config/parse.hpp"
#include "server/daemon/host_state.hpp"
#include "server/daemon/reload.hpp"
#include "server/daemon/startup_screen.hpp"

namespace mxkv::server {

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kDrainLook{5};
constexpr std::chrono::seconds kSettleLook{1};

/// Who set it, as far as that is known.
std::string place_of(const config::Origins& origins, const std::string& path) {
  const config::Origin* const origin = config::find_origin(origins, path);
  return origin == nullptr ? "" : to_string(*origin) + ": ";
}

}  // namespace

Supervisor::Supervisor(Parts& parts, Log& log, const Signals& signals, const config::DaemonOptions& options,
                       Reread reread, long process)
    : parts_(parts),
      log_(log),
      signals_(signals),
      running_(options),
      reread_(std::move(reread)),
      watchdog_(watchdog_period(getpid(), process)) {
  parts_.store.happenings().set_bell(*this);
}

ending Supervisor::run() {
  if (!notifier_.ready()) {
    log_.warning("NOTIFY_SOCKET takes no message: the service manager is not told");
  }
  next_ping_ = steady_clock::now();
  for (;;) {
    const std::optional<Signal> signal = signals_.wait(tick());
    if (!signal) {
      continue;
    }
    if (!signal->ends()) {
      reload();
      continue;
    }
    log_.info(std::string{signal->name()} + ": ending; " +
              std::to_string(parts_.network.stats().open_connections) + " connections are open");
    notifier_.stopping();
    return drain();
  }
}

std::optional<std::chrono::nanoseconds> Supervisor::tick() {
  const Time now = steady_clock::now();
  std::optional<std::chrono::nanoseconds> next;
  if (watchdog_) {
    if (now >= next_ping_) {
      ping();
      next_ping_ = now + *watchdog_ / 2;
    }
    next = next_ping_ - now;
  }
  if (log_.owes_note()) {
    log_.tell_of_dropped();
    next = std::min<std::chrono::nanoseconds>(next.value_or(kSettleLook), kSettleLook);
  }
  chronicle(now);
  if (const auto more = chronicle_.next(now, parts_.store.happenings())) {
    next = std::min(next.value_or(*more), *more);
  }
  return next;
}

void Supervisor::chronicle(Time now) {
  const runtime::MemoryBudget& budget = parts_.runtime.budget();
  for (const Chronicle::Line& line : chronicle_.tell(now, parts_.store.happenings(),
                                                     {.connections_most = running_.limits.connections,
                                                      .memory_used = budget.used_bytes(),
                                                      .memory_most = budget.limit_bytes()})) {
    if (line.how == Chronicle::Line::level::warning) {
      log_.warning(line.text);
    } else {
      log_.info(line.text);
    }
  }
}

void Supervisor::ping() {
  if (const std::optional<HangingWorker> found = rounds_.hanging(pulses(parts_.runtime))) {
    log_.error("worker " + std::to_string(found->worker) +
               (found->how == hang::in_a_task ? " hangs in a task" : " only retries what does not go on") +
               ": the watchdog is not told that all is well");
  } else {
    notifier_.watchdog();
  }
}

void Supervisor::reload() {
  notifier_.reloading();
  const runtime::Result<config::DaemonOptions> wanted = reread_();
  if (!wanted) {
    for (std::string_view rest = wanted.error().message; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      log_.error("reload refused: " + std::string{rest.substr(0, end)});
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    reopen_log(running_.log);
  } else if (refuses(wanted.value())) {
    reopen_log(running_.log);
  } else {
    apply(wanted.value());
  }
  reread_users();
  notifier_.ready();
}

bool Supervisor::refuses(const config::DaemonOptions& wanted) {
  bool any = false;
  for (const Change& change : changes(running_, wanted)) {
    if (!changes_while_running(change.path)) {
      log_.error("reload refused: " + place_of(wanted.origins, change.path) + change.path +
                 ": cannot change while the daemon runs, from " + change.before + " to " + change.after);
      any = true;
    }
  }
  return any;
}

void Supervisor::apply(const config::DaemonOptions& wanted) {
  const std::vector<Change> found = changes(running_, wanted);
  running_ = wanted;
  reopen_log(running_.log);
  const std::size_t needed = descriptors_needed(running_, parts_.runtime.worker_count());
  raise_descriptor_limit(needed);
  if (const std::size_t most = read_host_state().descriptors; most != 0 && most < needed) {
    log_.warning("reload: limits.connections is " + std::to_string(running_.limits.connections) +
                 ", but only " + std::to_string(most) + " descriptors may be open");
  }
  // First they hold, then it is said.
  if (!parts_.change({running_.limits, running_.stats})) {
    log_.warning("reload: a worker has not taken the new settings yet");
  }
  if (parts_.durability != nullptr) {
    parts_.durability->apply(running_.durability);
  }
  for (const Change& change : found) {
    log_.info("reload: " + change.path + " is now " + change.after + ", was " + change.before);
  }
  if (found.empty()) {
    log_.info("reload: nothing changed");
  }
}

// The old users stay if the file is wrong. Who is in stays in.
void Supervisor::reread_users() {
  if (running_.server.auth_file.empty()) {
    return;
  }
  runtime::Result<Users> users = Users::read(running_.server.auth_file);
  if (!users) {
    log_.error("reload refused: server.auth_file: " + users.error().message);
    return;
  }
  log_.info("reload: " + std::to_string(users.value().size()) + " users may authenticate");
  parts_.credentials.replace(std::move(users).value());
}

void Supervisor::reopen_log(const config::LogOptions& options) {
  if (const std::string why = log_.reopen(options); !why.empty()) {
    log_.error("reload: the log file was not opened anew: " + why);
  }
}

ending Supervisor::drain() {
  parts_.network.drain();
  const Time deadline = steady_clock::now() + std::chrono::milliseconds{running_.server.drain_timeout_ms};
  while (!parts_.network.drained()) {
    if (steady_clock::now() >= deadline) {
      log_.warning("connections that did not take their replies in " +
                   config::format_duration_ms(running_.server.drain_timeout_ms) + " are dropped");
      return ending::timed_out;
    }
    const std::chrono::nanoseconds next = tick().value_or(kDrainLook);
    const std::optional<Signal> again = signals_.wait(std::min<std::chrono::nanoseconds>(next, kDrainLook));
    if (again && again->ends()) {
      log_.warning("second signal: ended at once");
      return ending::at_once;
    }
  }
  return ending::drained;
}

}  // namespace mxkv::server

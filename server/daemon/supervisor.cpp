#include "server/daemon/supervisor.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "config/describe.hpp"
#include "config/findings.hpp"
#include "config/parse.hpp"
#include "server/daemon/crash_report.hpp"
#include "server/daemon/host_state.hpp"
#include "server/daemon/reload.hpp"
#include "server/daemon/start_files.hpp"
#include "server/daemon/startup_screen.hpp"

namespace mxkv::server {

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kDrainLook{5};
constexpr std::chrono::seconds kSettleLook{1};

}  // namespace

Supervisor::Supervisor(Parts& parts, Log& log, const Signals& signals, const config::DaemonOptions& options,
                       Reread reread, long process, AdminService& admin, const Machine& machine)
    : parts_(parts),
      log_(log),
      signals_(signals),
      running_(options),
      reread_(std::move(reread)),
      admin_(admin),
      machine_(machine),
      resolved_(config::resolve(options, machine.topology, machine.facts).value()),
      watchdog_(watchdog_period(getpid(), process)) {
  parts_.store.happenings().set_bell(*this);
  parts_.config_inbox.set_bell(*this);
}

ending Supervisor::run() {
  admin_.set_certificates(certificate_ends(doors()));
  admin_.serves();
  if (!notifier_.ready()) {
    log_.warning("NOTIFY_SOCKET takes no message: the service manager is not notified");
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
    admin_.drains();
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
  answer_config();
  if (const auto more = chronicle_.next(now, parts_.store.happenings())) {
    next = std::min(next.value_or(*more), *more);
  }
  return next;
}

void Supervisor::chronicle(Time now) {
  const runtime::MemoryBudget& budget = parts_.runtime.budget();
  for (const Chronicle::Line& line :
       chronicle_.tell(now, parts_.store.happenings(),
                       {.connections_most = running_.limits.connections,
                        .connections_per_client = running_.limits.connections_per_client,
                        .memory_used = budget.used_bytes(),
                        .memory_most = budget.limit_bytes()})) {
    log_.write(line.how, line.text, line.event);
  }
}

void Supervisor::ping() {
  if (const std::optional<HangingWorker> found = rounds_.hanging(pulses(parts_.runtime))) {
    log_.error(
        "worker " + std::to_string(found->worker) +
        (found->how == hang::in_a_task ? " hangs in a task" : " is stuck: its tasks retry without progress") +
        "; the daemon stops sending watchdog pings");
  } else {
    notifier_.watchdog();
  }
}

void Supervisor::reload() {
  notifier_.reloading();
  std::vector<std::string> why;
  std::optional<std::vector<HttpListener>> admin;
  const runtime::Result<config::DaemonOptions> wanted = reread_();
  const runtime::Result<config::Resolved> resolved =
      wanted ? config::resolve(wanted.value(), machine_.topology, machine_.facts) : wanted.error();
  if (resolved) {
    why = refusals(wanted.value(), resolved.value());
    admin = admin_wanted(wanted.value(), why);
    for (const std::string& line : why) {
      log_.error("reload refused: " + line);
    }
  } else {
    log_refusal(resolved.error().message);
  }
  const bool holds = resolved && why.empty();
  reopen_log(holds ? wanted.value().log : running_.log);
  if (holds && !apply(wanted.value(), resolved.value(), "reload", std::move(admin)) &&
      running_.server.auth_file.empty()) {
    log_.info("reload: nothing changed");
  }
  reread_users();
  reread_certificates("reload");
  notifier_.ready();
}

void Supervisor::log_refusal(std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    log_.error("reload refused: " + std::string{lines.substr(0, end)});
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

bool Supervisor::apply(const config::DaemonOptions& wanted, const config::Resolved& resolved,
                       const std::string& by, std::optional<std::vector<HttpListener>> admin) {
  const std::vector<Change> found = changes(running_, wanted);
  log_.debug(by + ": " + std::to_string(found.size()) + " options differ, " +
             std::to_string(wanted.origins.size()) + " were given");
  const config::Origins before = std::exchange(running_, wanted).origins;
  resolved_ = resolved;
  const std::size_t needed = descriptors_needed(running_, parts_.runtime.worker_count());
  raise_descriptor_limit(needed);
  if (const std::size_t most = read_host_state().descriptors; most != 0 && most < needed) {
    log_.warning(by + ": limits.connections is " + std::to_string(running_.limits.connections) +
                 ", but only " + std::to_string(most) + " file descriptors may be open");
  }
  // The settings are in force before they are logged.
  const bool limited =
      limit_memory(by, std::ranges::find(found, "memory.limit", &Change::path) != found.end());
  if (!parts_.change(running_)) {
    log_.warning(by + ": a worker has not applied the new settings yet");
  }
  if (admin) {
    admin_.change(*std::move(admin));
  }
  admin_.set_config(config::print_yaml(in_force()));
  admin_.set_certificates(certificate_ends(doors()));
  for (const Change& change : found) {
    const config::Origin* const who = config::find_origin(before, change.path);
    const bool undone = who != nullptr && who->source == kConfigSet && by == "reload";
    log_.info(by + ": " + change.path + " is now " + change.after + ", was " + change.before +
              (undone ? " by config set" : ""));
  }
  return limited || !found.empty();
}

bool Supervisor::limit_memory(const std::string& by, bool told) {
  runtime::MemoryBudget& budget = parts_.runtime.budget();
  const std::size_t before = budget.limit_bytes();
  const std::size_t limit = resolved_.runtime.memory.limit_bytes;
  if (before == limit) {
    return false;
  }
  budget.set_limit_bytes(limit);
  if (!told) {
    log_.info(by + ": the memory limit is " + config::format_size(limit) +
              " again, cache_memlimit had set it to " + config::format_size(before));
  }
  return true;
}

// The old users stay if the file is invalid. Logged-in clients stay, unless their user is gone or has other
// rights now.
void Supervisor::reread_users() {
  if (running_.server.auth_file.empty()) {
    return;
  }
  config::Findings findings;
  config::UsersFile file = config::read_users(running_.server.auth_file, findings);
  if (!findings.empty()) {
    log_refusal(config::to_error(std::move(findings)).message);
    return;
  }
  for (const std::string& warning : file.warnings) {
    log_.warning(warning);
  }
  for (const std::string& warning : config::crossed_prefixes(file.users, running_.prefixes)) {
    log_.warning(warning);
  }
  parts_.credentials.replace(std::move(file.users));
  const std::size_t closed = parts_.network.review_users();
  log_.info("reload: " + count_of_users(parts_.credentials.users()) + " may authenticate" +
            (closed == 0
                 ? ""
                 : "; closed " + std::to_string(closed) + (closed == 1 ? " connection" : " connections") +
                       " of users who were removed or changed"));
}

std::vector<TlsDoor*> Supervisor::doors() const {
  std::vector<TlsDoor*> all = parts_.network.tls_doors();
  const std::vector<TlsDoor*> of_admin = admin_.tls_doors();
  all.insert(all.end(), of_admin.begin(), of_admin.end());
  return all;
}

// The old certificates stay if any of the files is invalid.
Supervisor::CertificatesRead Supervisor::reread_certificates(const std::string& by) {
  std::vector<TlsFlaw> flaws;
  std::vector<std::string> doubts;
  const std::size_t listeners = server::reread_certificates(doors(), flaws, doubts);
  for (const TlsFlaw& flaw : flaws) {
    log_.error(by + " refused: tls." + flaw.key + ": " + flaw.what);
  }
  if (flaws.empty()) {
    for (const std::string& doubt : doubts) {
      log_.warning(doubt);
    }
  }
  if (listeners > 0) {
    admin_.set_certificates(certificate_ends(doors()));
    log_.info(by + ": certificates of " + std::to_string(listeners) +
              (listeners == 1 ? " listener were read" : " listeners were read"));
  }
  return {.listeners = listeners,
          .flaw = flaws.empty() ? "" : "tls." + flaws.front().key + ": " + flaws.front().what};
}

void Supervisor::reopen_log(const config::LogOptions& options) {
  report_crashes_also_to(options.file);
  if (const std::string why = log_.reopen(options); !why.empty()) {
    log_.error("the log file could not be reopened: " + why);
  }
}

ending Supervisor::drain() {
  if (parts_.cluster != nullptr) {
    constexpr int kHandOverMs = 3000;
    parts_.cluster->node.hand_over(kHandOverMs);
  }
  parts_.network.drain();
  const Time deadline = steady_clock::now() + std::chrono::milliseconds{running_.server.drain_timeout_ms};
  while (!parts_.network.drained()) {
    if (steady_clock::now() >= deadline) {
      log_.warning((parts_.network.stats().held != 0
                        ? "connections whose replies waited for the disk, or the cluster's log, for "
                        : "connections that did not read their replies within ") +
                   config::format_duration_ms(running_.server.drain_timeout_ms) + " are dropped");
      return ending::timed_out;
    }
    const std::chrono::nanoseconds next = tick().value_or(kDrainLook);
    const std::optional<Signal> again = signals_.wait(std::min<std::chrono::nanoseconds>(next, kDrainLook));
    if (again && again->ends()) {
      log_.warning("second signal: ended at once, without waiting for replies");
      return ending::at_once;
    }
  }
  return ending::drained;
}

}  // namespace mxkv::server

#include "server/daemon/daemon.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/describe.hpp"
#include "config/findings.hpp"
#include "config/parse.hpp"
#include "config/resolve.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/readable.hpp"
#include "runtime/base/resumed_clock.hpp"
#include "runtime/topology/build.hpp"
#include "server/admin/admin_service.hpp"
#include "server/daemon/about.hpp"
#include "server/daemon/address_space.hpp"
#include "server/daemon/admin_listeners.hpp"
#include "server/daemon/crash_report.hpp"
#include "server/daemon/log.hpp"
#include "server/daemon/notify.hpp"
#include "server/daemon/open_addresses.hpp"
#include "server/daemon/parts.hpp"
#include "server/daemon/pid_file.hpp"
#include "server/daemon/start_files.hpp"
#include "server/daemon/startup_screen.hpp"
#include "server/daemon/supervisor.hpp"

namespace mxkv::server {

namespace {

using runtime::Result;

/// The machine, and the options resolved for it.
struct Settled {
  runtime::Topology topology;
  config::MachineFacts facts;
  config::Resolved resolved;
  std::optional<config::UsersFile> users;
  StartCertificates certificates;
  config::Findings doubts;  ///< about certificates
};

void log_machine(Log& log, const config::DaemonOptions& options, const Settled& settled) {
  log.info(program_text() + ", process " + std::to_string(getpid()));
  for (const std::string& line : startup_screen(options, settled.topology, settled.facts, settled.resolved)) {
    log.info(line);
  }
  raise_descriptor_limit(descriptors_needed(options, settled.resolved.runtime.workers.size()));
  for (const std::string& line :
       startup_warnings(options, settled.topology, settled.facts, settled.resolved, read_host_state())) {
    log.warning(line);
  }
  for (const config::Finding& doubt : settled.doubts) {
    log.warning(to_string(doubt));
  }
}

/// The index of the address in `addresses` at which a passed socket listens.
std::optional<std::size_t> entry_of(const config::ListenAddress& passed,
                                    const std::vector<config::ListenAddress>& addresses) {
  const auto found = std::ranges::find_if(addresses, [&passed](const config::ListenAddress& one) {
    return one.path == passed.path &&
           (!one.path.empty() || (one.address == passed.address && one.port == passed.port));
  });
  return found == addresses.end() ? std::nullopt
                                  : std::optional{static_cast<std::size_t>(found - addresses.begin())};
}

/// Lines about listeners. They are logged once all listeners serve: until then the start may still be
/// refused.
class ListenerLines {
 public:
  /// `warning`: about a listener that is open to strangers; empty: it is not.
  void add(const config::ListenAddress& address, const std::string& how, std::string warning) {
    lines_.push_back({"listening on " + config::format_listen(address) + how, std::move(warning)});
  }
  void tell(Log& log) const {
    for (const Line& line : lines_) {
      log.info(line.text);
      if (!line.warning.empty()) {
        log.warning(line.warning);
      }
    }
  }

 private:
  struct Line {
    std::string text;
    std::string warning;
  };
  std::vector<Line> lines_;
};

/// The passed sockets, or else sockets at the options' addresses. `tls`: by listener.
Result<std::vector<ListenSocket>> open_sockets(const config::DaemonOptions& options,
                                               const std::vector<std::shared_ptr<const TlsContext>>& tls,
                                               std::vector<PassedSocket>& passed, ListenerLines& lines,
                                               Log& log) {
  const std::vector<config::ListenAddress>& addresses = options.listeners;
  std::vector<ListenSocket> sockets;
  const auto add = [&](ListenSocket socket, std::optional<std::size_t> entry, const std::string& how) {
    std::string by;
    if (entry && tls[*entry] != nullptr) {
      socket.set_tls(tls[*entry]);
      by = text_of_tls(addresses[*entry], tls[*entry].get()) +
           (tls[*entry]->by_kernel() ? ", encrypted by the kernel" : "");
    }
    lines.add(socket.address(), how + by, warning_of_open(socket.address(), options.server));
    sockets.push_back(std::move(socket));
  };
  std::vector<bool> used(addresses.size());
  for (PassedSocket& one : passed) {
    const std::optional<std::size_t> entry = entry_of(one.socket.address(), addresses);
    if (entry) {
      one.socket.take_settings(addresses[*entry]);
      used[*entry] = true;
    }
    add(std::move(one.socket), entry, one.name.empty() ? " (passed in)" : " (passed in as " + one.name + ")");
  }
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (!passed.empty()) {
      if (addresses[i].tls && !used[i]) {
        log.warning("listeners[" + std::to_string(i) + "], " + config::format_listen(addresses[i]) +
                    ", has TLS, but no socket with that address was passed in");
      }
      continue;
    }
    Result<ListenSocket> socket = ListenSocket::open(addresses[i]);
    if (!socket) {
      return socket.error();
    }
    add(std::move(socket).value(), i, "");
  }
  return sockets;
}

/// Opens the listener for the cluster's other nodes. `tls`: null if nodes do not use TLS.
Result<ListenSocket> open_for_nodes(const config::ClusterOptions& options,
                                    const std::shared_ptr<const TlsContext>& tls, ListenerLines& lines) {
  config::ListenAddress address = *options.peer;
  if (tls != nullptr) {
    address.tls = options.tls;
  }
  Result<ListenSocket> socket = ListenSocket::open(address);
  if (socket) {
    socket.value().set_tls(tls);
    lines.add(address, " for the cluster's nodes" + text_of_tls(address, tls.get()),
              warning_of_open_node(options));
  }
  return socket;
}

/// Writes the journal's lines into the daemon's log.
class JournalLines final : public DurabilityLog {
 public:
  explicit JournalLines(Log& log) noexcept : log_(log) {}

  void debug(const std::string& text) override { log_.debug(text); }
  void info(const std::string& text) override { log_.info(text); }
  void warn(const std::string& text) override { log_.warning(text); }
  void fatal(const std::string& text) override {
    log_.error(text + "; durability.on_failure is exit");
    _exit(kExitDisk);
  }

 private:
  Log& log_;
};

/// Reports the progress of recovery to the log and to the service manager, which then waits longer. A signal
/// that asks the process to end ends the recovery.
class RecoveryLines {
 public:
  RecoveryLines(Log& log, const Signals& signals, AdminService& admin) noexcept
      : log_(log), signals_(signals), admin_(admin) {}

  void operator()(const RecoveryProgress& progress) {
    admin_.recovering(progress);
    if (const std::optional<Signal> signal = signals_.wait(std::chrono::nanoseconds{0});
        signal && signal->ends()) {
      throw StartRefused{std::string{signal->name()} + ": ended while the journal was read"};
    }
    const std::string text = "recovering: " + std::to_string(static_cast<int>(progress.fraction * 100)) +
                             " %, " + std::to_string(progress.items) + " items, about " +
                             std::to_string(static_cast<std::uint64_t>(progress.seconds_left) + 1) +
                             " s left";
    notifier_.send("STATUS=" + text + "\nEXTEND_TIMEOUT_USEC=30000000");
    if (progress.seconds >= next_line_s_) {
      next_line_s_ = progress.seconds + kLineEveryS;
      log_.info("journal: " + text);
    }
  }

 private:
  static constexpr double kLineEveryS = 2;

  Log& log_;
  const Signals& signals_;
  AdminService& admin_;
  Notifier notifier_ = Notifier::from_environment();
  double next_line_s_ = kLineEveryS;
};

/// Shows the daemon's parts to administration, for as long as they exist.
class AdminView {
 public:
  AdminView(AdminService& admin, Parts& parts) : admin_(admin) {
    admin.attach({.runtime = parts.runtime,
                  .store = parts.store,
                  .network = parts.network,
                  .statistics = parts.statistics,
                  .durability = parts.durability.get(),
                  .cluster = parts.cluster == nullptr ? nullptr : &parts.cluster->node,
                  .routed = parts.cluster == nullptr ? nullptr : &parts.cluster->store,
                  .feed = parts.feed.get()});
  }
  ~AdminView() { admin_.detach(); }
  AdminView(const AdminView&) = delete;
  AdminView& operator=(const AdminView&) = delete;

 private:
  AdminService& admin_;
};

int write_checkpoint(Parts& parts) {
  MXKV_ASSERT(parts.durability != nullptr, "a checkpoint is written into a directory");
  if (const auto started = parts.start(); !started) {
    return complain(kExitFailed, started.error().message.c_str());
  }
  const std::string wrong = parts.durability->checkpoint_now();
  const CheckpointStatus made = parts.durability->status().checkpoint;
  parts.end();
  if (!wrong.empty()) {
    return complain(kExitFailed, ("checkpoint: " + wrong).c_str());
  }
  std::printf("checkpoint: %llu items, %llu bytes\n", static_cast<unsigned long long>(made.last->items),
              static_cast<unsigned long long>(made.last->bytes));
  return kExitOk;
}

int serve(const config::DaemonOptions& options, Settled settled, std::optional<HeldDirectory> held,
          std::unique_ptr<ClusterStart> joined, Start& start) {
  const Signals signals;
  Result<PidFile> pid_file = PidFile::hold(options.server.pid_file);
  if (!pid_file) {
    return complain(kExitFailed, pid_file.error().message.c_str());
  }
  Log log{options.log};
  report_crashes_also_to(options.log.file);
  runtime::ResumedClock<runtime::SystemClock> system;
  runtime::ResumedClock<runtime::SteeredClock> steered;
  const bool steers = options.server.debug_time;
  const runtime::Clock& clock = steers ? static_cast<const runtime::Clock&>(steered) : system;
  log_machine(log, options, settled);
  if (const std::string lack = lack_of_addresses(settled.resolved.runtime.memory.limit_bytes);
      !lack.empty()) {
    return complain(kExitFailed, lack.c_str());
  }
  // Before administration, whose pages may ask for a login during recovery.
  Credentials credentials;
  if (settled.users) {
    for (const std::string& warning : settled.users->warnings) {
      log.warning(warning);
    }
    for (const std::string& warning : config::crossed_prefixes(settled.users->users, options.prefixes)) {
      log.warning(warning);
    }
    credentials.replace(std::move(settled.users->users));
    log.info("clients authenticate: " + count_of_users(credentials.users()) + " of " +
             options.server.auth_file);
  }
  Result<std::vector<ListenSocket>> admin_sockets = open_admin_sockets(
      start.only_checkpoint ? std::vector<config::ListenAddress>{} : options.admin.listeners,
      settled.certificates.admin, log);
  if (!admin_sockets) {
    return complain(kExitFailed, admin_sockets.error().message.c_str());
  }
  // A copy of the resolved options, since the runtime takes over a part of them below.
  const config::Resolved found = settled.resolved;
  AdminService admin{std::move(admin_sockets).value(), config::print_yaml(config::effective(options, found)),
                     credentials, log};
  JournalLines lines{log};
  std::optional<DurableStart> durable;
  if (held) {
    const auto resume_time = [&](std::uint64_t us) { steers ? steered.resume_at(us) : system.resume_at(us); };
    durable.emplace(DurableStart{*std::move(held), lines, RecoveryLines{log, signals, admin}, resume_time});
  }
  Parts parts{
      options,     std::move(settled.resolved.runtime), clock,       steers ? &steered.from() : nullptr, log,
      credentials, durable ? &*durable : nullptr,       joined.get()};
  if (start.only_checkpoint) {
    return write_checkpoint(parts);
  }
  ListenerLines listeners;
  Result<std::vector<ListenSocket>> sockets =
      open_sockets(options, settled.certificates.listeners, start.passed, listeners, log);
  if (!sockets) {
    return complain(kExitFailed, sockets.error().message.c_str());
  }
  std::vector<config::ListenAddress> open;
  std::ranges::transform(sockets.value(), std::back_inserter(open), &ListenSocket::address);
  parts.statistics.set_listeners(std::move(open));
  parts.network.listen(std::move(sockets).value());
  if (joined != nullptr) {
    Result<ListenSocket> peers = open_for_nodes(options.cluster, settled.certificates.nodes, listeners);
    if (!peers) {
      return complain(kExitFailed, peers.error().message.c_str());
    }
    parts.network.listen_for_peers(std::move(peers).value());
  }
  const AdminView view{admin, parts};
  if (const auto started = parts.start(); !started) {
    return complain(kExitFailed, started.error().message.c_str());
  }
  listeners.tell(log);
  if (options.server.daemonize && options.log.file.empty()) {
    log.warning("in the background without log.file: nothing more is logged");
  }
  start.background.serves();
  Supervisor supervisor{parts,
                        log,
                        signals,
                        options,
                        std::move(start.reread),
                        start.process,
                        admin,
                        {settled.topology, settled.facts}};
  if (supervisor.run() == ending::at_once) {
    pid_file.value().remove();
    _exit(kExitFailed);
  }
  parts.end();
  log.info("ended");
  return kExitOk;
}

}  // namespace

int complain(int code, const char* message) {
  // Each line gets the prefix, so that it can be found in a log to which other programs write, too.
  for (std::string_view rest = message; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::fprintf(stderr, "mxkvd: %s\n", runtime::readable(rest.substr(0, end)).c_str());
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return code;
}

int run_daemon(const config::DaemonOptions& options, Start& start) {
  runtime::Result<runtime::Topology> topology = runtime::live_topology();
  if (!topology) {
    return complain(kExitFailed, topology.error().message.c_str());
  }
  const runtime::Result<config::MachineFacts> facts = config::read_machine_facts();
  if (!facts) {
    return complain(kExitFailed, facts.error().message.c_str());
  }
  config::share_out_memory(topology.value(), facts.value());
  runtime::Result<config::Resolved> resolved = config::resolve(options, topology.value(), facts.value());
  if (!resolved) {
    return complain(kExitWrongOptions, resolved.error().message.c_str());
  }
  config::Findings findings;
  std::optional<config::UsersFile> users = read_start_files(options, findings);
  config::Findings doubts;
  StartCertificates certificates = read_certificates(options, findings, doubts);
  if (!findings.empty()) {
    return complain(kExitWrongOptions, config::to_error(std::move(findings)).message.c_str());
  }
  std::optional<HeldDirectory> held;
  if (!options.durability.directory.empty()) {
    Result<HeldDirectory> opened = Durability::open_directory(options.durability.directory);
    if (!opened) {
      return complain(kExitWrongOptions, opened.error().message.c_str());
    }
    held = std::move(opened).value();
  }
  std::unique_ptr<ClusterStart> joined;
  if (!options.cluster.name.empty()) {
    Result<std::unique_ptr<ClusterStart>> found = join_cluster(options);
    if (!found) {
      return complain(kExitFailed, found.error().message.c_str());
    }
    joined = std::move(found).value();
  }
  try {
    return serve(options,
                 {std::move(topology).value(), facts.value(), std::move(resolved).value(), std::move(users),
                  std::move(certificates), std::move(doubts)},
                 std::move(held), std::move(joined), start);
  } catch (const StartRefused& error) {
    return complain(kExitWrongOptions, error.what());
  } catch (const std::exception& error) {
    return complain(kExitFailed, error.what());
  }
}

}  // namespace mxkv::server

#include "server/daemon/daemon.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/findings.hpp"
#include "config/parse.hpp"
#include "config/resolve.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/topology/build.hpp"
#include "server/daemon/address_space.hpp"
#include "server/daemon/log.hpp"
#include "server/daemon/notify.hpp"
#include "server/daemon/parts.hpp"
#include "server/daemon/pid_file.hpp"
#include "server/daemon/start_files.hpp"
#include "server/daemon/startup_screen.hpp"
#include "server/daemon/supervisor.hpp"

namespace mxkv::server {

namespace {

using runtime::Result;

/// The machine, and what the options come to on it.
struct Settled {
  runtime::Topology topology;
  config::MachineFacts facts;
  config::Resolved resolved;
  std::optional<Users> users;
};

void log_machine(Log& log, const config::DaemonOptions& options, const Settled& settled) {
  log.info("mxkvd " MXKV_VERSION ", process " + std::to_string(getpid()));
  for (const std::string& line : startup_screen(options, settled.topology, settled.facts, settled.resolved)) {
    log.info(line);
  }
  raise_descriptor_limit(descriptors_needed(options, settled.resolved.runtime.workers.size()));
  for (const std::string& line :
       startup_warnings(options, settled.topology, settled.facts, settled.resolved, read_host_state())) {
    log.warning(line);
  }
}

/// The sockets that were passed in, else those of the options.
Result<std::vector<ListenSocket>> open_sockets(const std::vector<config::ListenAddress>& addresses,
                                               std::vector<PassedSocket>& passed, Log& log) {
  std::vector<ListenSocket> sockets;
  const auto add = [&sockets, &log](ListenSocket socket, const std::string& how) {
    log.info("listening on " + config::format_listen(socket.address()) + how);
    sockets.push_back(std::move(socket));
  };
  for (PassedSocket& one : passed) {
    add(std::move(one.socket), one.name.empty() ? " (passed in)" : " (passed in as " + one.name + ")");
  }
  for (std::size_t i = 0; i < addresses.size() && passed.empty(); ++i) {
    Result<ListenSocket> socket = ListenSocket::open(addresses[i]);
    if (!socket) {
      return socket.error();
    }
    add(std::move(socket).value(), "");
  }
  return sockets;
}

/// The journal's lines, in the daemon's log.
class JournalLines final : public DurabilityLog {
 public:
  explicit JournalLines(Log& log) noexcept : log_(log) {}

  void info(const std::string& text) override { log_.info(text); }
  void warn(const std::string& text) override { log_.warning(text); }
  void fatal(const std::string& text) override {
    log_.error(text + "; durability.on_failure is exit");
    _exit(kExitDisk);
  }

 private:
  Log& log_;
};

/// How far the recovery is, for the log and the service manager, which then waits a while longer. A signal that asks
/// for the end ends it.
class RecoveryLines {
 public:
  RecoveryLines(Log& log, const Signals& signals) noexcept : log_(log), signals_(signals) {}

  void operator()(const RecoveryProgress& progress) {
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
  Notifier notifier_ = Notifier::from_environment();
  double next_line_s_ = kLineEveryS;
};

int write_checkpoint(Parts& parts) {
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
          Start& start) {
  const Signals signals;
  Result<PidFile> pid_file = PidFile::hold(options.server.pid_file);
  if (!pid_file) {
    return complain(kExitFailed, pid_file.error().message.c_str());
  }
  Log log{options.log};
  const runtime::SystemClock system;
  runtime::SteeredClock steered;
  const bool steers = options.server.debug_time;
  const runtime::Clock& clock = steers ? static_cast<const runtime::Clock&>(steered) : system;
  log_machine(log, options, settled);
  if (const std::string lack = lack_of_addresses(settled.resolved.runtime.memory.limit_bytes);
      !lack.empty()) {
    return complain(kExitFailed, lack.c_str());
  }
  JournalLines lines{log};
  std::optional<DurableStart> durable;
  if (held) {
    durable.emplace(DurableStart{*std::move(held), lines, RecoveryLines{log, signals}});
  }
  Parts parts{options, std::move(settled.resolved.runtime), clock, steers ? &steered : nullptr,
              log,     durable ? &*durable : nullptr};
  if (settled.users) {
    log.info("clients authenticate: " + std::to_string(settled.users->size()) + " users of " +
             options.server.auth_file);
    parts.credentials.replace(*std::move(settled.users));
  }
  if (start.only_checkpoint) {
    return write_checkpoint(parts);
  }
  Result<std::vector<ListenSocket>> sockets = open_sockets(options.listeners, start.passed, log);
  if (!sockets) {
    return complain(kExitFailed, sockets.error().message.c_str());
  }
  parts.network.listen(std::move(sockets).value());
  if (const auto started = parts.start(); !started) {
    return complain(kExitFailed, started.error().message.c_str());
  }
  if (options.server.daemonize && options.log.file.empty()) {
    log.warning("in the background without log.file: nothing more is logged");
  }
  start.background.serves();
  Supervisor supervisor{parts, log, signals, options, std::move(start.reread), start.process};
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
  // Of several lines each is found by its own prefix, in a log that others write to as well.
  for (std::string_view rest = message; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::fprintf(stderr, "mxkvd: %s\n", std::string{rest.substr(0, end)}.c_str());
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
  runtime::Result<config::Resolved> resolved = config::resolve(options, topology.value(), facts.value());
  if (!resolved) {
    return complain(kExitWrongOptions, resolved.error().message.c_str());
  }
  config::Findings findings;
  std::optional<Users> users = read_start_files(options, findings);
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
  try {
    return serve(options,
                 {std::move(topology).value(), facts.value(), std::move(resolved).value(), std::move(users)},
                 std::move(held), start);
  } catch (const StartRefused& error) {
    return complain(kExitWrongOptions, error.what());
  } catch (const std::exception& error) {
    return complain(kExitFailed, error.what());
  }
}

}  // namespace mxkv::server

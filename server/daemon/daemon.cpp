#include "server/daemon/daemon.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/parse.hpp"
#include "config/resolve.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "runtime/topology/build.hpp"
#include "server/daemon/log.hpp"
#include "server/daemon/signals.hpp"
#include "server/net/network.hpp"
#include "server/stats/statistics.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

namespace {

/// What has arrived is answered when the daemon ends, but not for longer than this.
constexpr std::chrono::seconds kDrainAtMost{5};
constexpr std::chrono::milliseconds kDrainLook{5};

/// All parts, in the order in which they refer to each other.
struct Parts {
  Parts(const config::DaemonOptions& options, runtime::RuntimeOptions resolved, const runtime::Clock& clock)
      : runtime(std::move(resolved), clock),
        store(runtime, {.tree = {},
                        .ranges = {.items = options.limits.scan_items,
                                   .bytes = options.limits.scan_bytes,
                                   .time_ns = std::uint64_t{options.limits.scan_time_ms} * 1'000'000},
                        .value_bytes = options.limits.value_bytes}),
        statistics(runtime, store, options),
        replies(make_replies(runtime)),
        network(runtime, replies, store, options.limits,
                {&statistics, [](void* source, std::string_view group) {
                   return static_cast<Statistics*>(source)->text(group);
                 }}) {
    statistics.set_network(network);
  }
  ~Parts() {
    runtime.stop();
    // Tasks that never ran refer to store and replies, so they go first.
    runtime.drain_stopped();
  }

  static std::vector<std::unique_ptr<WorkerReplies>> make_replies(runtime::Runtime& runtime) {
    std::vector<std::unique_ptr<WorkerReplies>> replies;
    for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
      replies.push_back(std::make_unique<WorkerReplies>(
          runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)}), runtime.budget()));
    }
    return replies;
  }

  runtime::Runtime runtime;
  Store store;
  Statistics statistics;
  std::vector<std::unique_ptr<WorkerReplies>> replies;
  Network network;
};

void log_machine(Log& log, const runtime::Topology& topology, const config::DaemonOptions& options,
                 const runtime::RuntimeOptions& resolved) {
  std::string workers;
  for (const runtime::WorkerPlacement& worker : resolved.workers) {
    workers += (workers.empty() ? "" : ",") +
               (worker.pinned ? std::to_string(worker.pu.value()) : std::string{"any"});
  }
  log.info("mxkvd " MXKV_VERSION ", process " + std::to_string(getpid()));
  log.info("machine: " + std::to_string(topology.pus.size()) + " CPUs, " +
           std::to_string(topology.nodes.size()) + " NUMA nodes; " + std::to_string(resolved.workers.size()) +
           " workers on CPUs " + workers);
  log.info("memory: limit " + config::format_size(resolved.memory.limit_bytes) +
           (options.memory.limit_bytes == 0 ? " (found out)" : "") +
           "; when it is full, writes get SERVER_ERROR out of memory storing object; nothing is evicted");
  log.info("data is kept in memory only: a restart loses it");
}

/// Answers what has arrived; a second signal ends the process at once.
void drain(Parts& parts, const TerminationSignals& signals, Log& log) {
  parts.network.drain();
  const auto deadline = std::chrono::steady_clock::now() + kDrainAtMost;
  while (!parts.network.drained()) {
    if (std::chrono::steady_clock::now() >= deadline) {
      log.warning("connections that did not take their replies are dropped");
      return;
    }
    if (const std::optional<int> again = signals.wait_for(kDrainLook)) {
      log.warning("second signal: ended at once");
      _exit(kExitFailed);
    }
  }
}

int serve(const config::DaemonOptions& options, const runtime::Topology& topology,
          runtime::RuntimeOptions resolved) {
  Log log{options.log};
  const TerminationSignals signals;
  const runtime::SystemClock clock;
  log_machine(log, topology, options, resolved);
  Parts parts{options, std::move(resolved), clock};
  const auto listeners = parts.network.listen(options.listeners);
  if (!listeners) {
    return complain(kExitFailed, listeners.error().message.c_str());
  }
  if (const auto started = parts.runtime.start(); !started) {
    return complain(kExitFailed, started.error().message.c_str());
  }
  for (const config::ListenAddress& address : listeners.value()) {
    log.info("listening on " + config::format_listen(address));
  }
  const int signal = signals.wait();
  log.info(signal == SIGTERM ? "SIGTERM: ending" : "SIGINT: ending");
  drain(parts, signals, log);
  log.info("ended");
  return kExitOk;
}

}  // namespace

int complain(int code, const char* message) {
  // Of several lines each is found by its own prefix, in a log that others write to as well.
  for (std::string_view rest = message; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::fprintf(stderr, "mxkvd: %.*s\n", static_cast<int>(end), rest.data());
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return code;
}

int run_daemon(const config::DaemonOptions& options) {
  const runtime::Result<runtime::Topology> topology = runtime::live_topology();
  if (!topology) {
    return complain(kExitFailed, topology.error().message.c_str());
  }
  const runtime::Result<config::MachineFacts> facts = config::read_machine_facts();
  if (!facts) {
    return complain(kExitFailed, facts.error().message.c_str());
  }
  runtime::Result<runtime::RuntimeOptions> resolved =
      config::resolve(options, topology.value(), facts.value());
  if (!resolved) {
    return complain(kExitWrongOptions, resolved.error().message.c_str());
  }
  try {
    return serve(options, topology.value(), std::move(resolved).value());
  } catch (const std::exception& error) {
    return complain(kExitFailed, error.what());
  }
}

}  // namespace mxkv::server

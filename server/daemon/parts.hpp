// All that serves, in the order in which it refers to each other.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "config/options.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/cluster/cluster_store.hpp"
#include "server/daemon/administration.hpp"
#include "server/daemon/cluster_start.hpp"
#include "server/daemon/log.hpp"
#include "server/daemon/task_alarm.hpp"
#include "server/durability/durability.hpp"
#include "server/net/credentials.hpp"
#include "server/net/network.hpp"
#include "server/stats/statistics.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

/// What a store that is durable begins with.
struct DurableStart {
  HeldDirectory held;
  DurabilityLog& log;
  std::function<void(const RecoveryProgress&)> progress;
  std::function<void(std::uint64_t)> resume_time;  ///< sets the steady time of the runtime's clock
};

/// A node of a cluster: what brings its requests and its logs together. The store outlives it.
struct ClusterParts {
  ClusterParts(const config::DaemonOptions& options, ClusterStart& start, runtime::Runtime& runtime,
               Store& store, Log& log);
  ~ClusterParts();
  ClusterParts(const ClusterParts&) = delete;
  ClusterParts& operator=(const ClusterParts&) = delete;

  std::shared_ptr<EngineLines> lines;  ///< of the engine, which is there for longer than the log
  Routes routes;
  ClusterNode node;
  ClusterStore store;
};

/// Thread-safety: the main thread; each member says for itself what others may do.
struct Parts {
  /// All arguments outlive this, but `durable`, which is null where nothing is kept on disk. `cluster`: null where there
  /// is none. `steered`: the clock
  /// itself, where debugtime may steer it. `credentials` are stopped when this goes. Throws std::system_error when the system refuses something, and
  /// StartRefused.
  Parts(const config::DaemonOptions& options, runtime::RuntimeOptions resolved, const runtime::Clock& clock,
        runtime::SteeredClock* steered, Log& log, Credentials& credentials, DurableStart* durable,
        ClusterStart* cluster);
  ~Parts();
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  /// The workers run, and what they do is durable from then on.
  [[nodiscard]] runtime::Result<bool> start();
  /// What of `options` can change while all runs holds from now on, but for the memory's limit and the log. Returns
  /// whether all workers have it by now.
  bool change(const config::DaemonOptions& options);
  /// The workers end; what they did is on disk.
  void end();

  TaskAlarm alarm;
  runtime::Runtime runtime;
  Store store;
  std::unique_ptr<Durability> durability;  ///< null: there is none
  std::unique_ptr<ClusterParts> cluster;   ///< null: there is none
  Credentials& credentials;
  Statistics statistics;
  ConfigInbox config_inbox;
  Administration administration;
  std::vector<std::unique_ptr<WorkerReplies>> replies;
  Network network;
};

}  // namespace mxkv::server

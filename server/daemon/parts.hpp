// All parts that serve, each after those it refers to.
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
#include "server/feed/feed.hpp"
#include "server/net/users/credentials.hpp"
#include "server/net/worker/network.hpp"
#include "server/stats/statistics.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

/// The start of a durable store.
struct DurableStart {
  HeldDirectory held;
  DurabilityLog& log;
  std::function<void(const RecoveryProgress&)> progress;
  std::function<void(std::uint64_t)> resume_time;  ///< sets the steady time of the runtime's clock
};

/// A node of a cluster, with its requests and its logs. The store outlives it.
struct ClusterParts {
  ClusterParts(const config::DaemonOptions& options, ClusterStart& start, runtime::Runtime& runtime,
               Store& store, Log& log);
  ~ClusterParts();
  ClusterParts(const ClusterParts&) = delete;
  ClusterParts& operator=(const ClusterParts&) = delete;

  std::shared_ptr<EngineLines> lines;  ///< of the engine, which outlives the log
  Routes routes;
  ClusterNode node;
  ClusterStore store;
};

/// Thread-safety: the main thread; each member documents what other threads may do.
struct Parts {
  /// All arguments but `durable` outlive this. `durable`: null without a journal. `cluster`: null without a
  /// cluster. `steered`: the clock, if debugtime may steer it, or null. The destructor stops `credentials`.
  /// Throws std::system_error if the system refuses a resource, and StartRefused.
  Parts(const config::DaemonOptions& options, runtime::RuntimeOptions resolved, const runtime::Clock& clock,
        runtime::SteeredClock* steered, Log& log, Credentials& credentials, DurableStart* durable,
        ClusterStart* cluster);
  ~Parts();
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  /// Starts the workers. From then on their changes are durable.
  [[nodiscard]] runtime::Result<bool> start();
  /// Applies the values of `options` that can change at run time, except the memory limit and the log.
  /// Returns whether all workers have taken them already.
  bool change(const config::DaemonOptions& options);
  /// Ends the workers, and brings their changes to disk.
  void end();

  TaskAlarm alarm;
  runtime::Runtime runtime;
  Store store;
  std::unique_ptr<Durability> durability;  ///< null: there is no journal
  std::unique_ptr<ClusterParts> cluster;   ///< null: there is no cluster
  std::unique_ptr<Feed> feed;              ///< null: there is a cluster
  Credentials& credentials;
  Statistics statistics;
  ConfigInbox config_inbox;
  Administration administration;
  std::vector<std::unique_ptr<WorkerReplies>> replies;
  Network network;
};

}  // namespace mxkv::server

// All that serves, in the order in which it refers to each other.
#pragma once

#include <memory>
#include <vector>

#include "config/options.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/daemon/administration.hpp"
#include "server/daemon/log.hpp"
#include "server/daemon/task_alarm.hpp"
#include "server/net/credentials.hpp"
#include "server/net/network.hpp"
#include "server/stats/statistics.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

/// Thread-safety: the main thread; each member says for itself what others may do.
struct Parts {
  /// All arguments outlive this. `steered`: the clock itself, where debugtime may steer it. Throws
  /// std::system_error when the system refuses something.
  Parts(const config::DaemonOptions& options, runtime::RuntimeOptions resolved, const runtime::Clock& clock,
        runtime::SteeredClock* steered, Log& log);
  ~Parts();
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  /// New limits for all that run. Returns whether all workers have them by now.
  bool set_limits(const config::LimitOptions& limits);

  TaskAlarm alarm;
  runtime::Runtime runtime;
  Store store;
  Credentials credentials;
  Statistics statistics;
  Administration administration;
  std::vector<std::unique_ptr<WorkerReplies>> replies;
  Network network;
};

}  // namespace mxkv::server

// The replies of one worker: its block pool and its directory. Made before store and network, which both
// refer to it.
#pragma once

#include "runtime/scheduler/runtime.hpp"
#include "runtime/scheduler/worker.hpp"
#include "server/reply/connection_table.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only; made at start-up.
struct WorkerReplies {
  explicit WorkerReplies(runtime::Worker& worker, runtime::MemoryBudget& budget)
      : pool(budget, worker.account(), runtime::memory_category::output,
             kOutputParts * worker.runtime().worker_count()),
        directory(worker.id().value(), pool) {}

  BlockPool pool;
  ConnectionTable directory;
};

}  // namespace mxkv::server

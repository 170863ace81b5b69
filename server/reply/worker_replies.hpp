// The replies of one worker: its block pool and its connection table. Made before store and network, which
// both refer to it.
#pragma once

#include "runtime/scheduler/runtime.hpp"
#include "runtime/scheduler/worker.hpp"
#include "server/reply/connection_table.hpp"

namespace mxkv::server {

/// Spawns parked writes on their connection's worker. Thread-safety: owner worker only.
class WorkerSpawner final : public TaskSpawner {
 public:
  explicit WorkerSpawner(runtime::Worker& worker) noexcept : worker_(worker) {}
  void spawn(runtime::MxTask* task) override { worker_.spawn(task); }

 private:
  runtime::Worker& worker_;
};

/// Thread-safety: owner worker only; made at start-up.
struct WorkerReplies {
  explicit WorkerReplies(runtime::Worker& worker, runtime::MemoryBudget& budget)
      : spawner(worker),
        pool(budget, worker.account(), runtime::memory_category::output,
             kOutputParts * worker.runtime().worker_count()),
        directory(worker.id().value(), pool) {
    directory.set_spawner(spawner);
  }

  WorkerSpawner spawner;
  BlockPool pool;
  ConnectionTable directory;
};

}  // namespace mxkv::server

// Moves of pools between workers, and of objects between pools: each is a task where the thing was.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/pool/task_pool.hpp"

namespace mxkv::runtime {

class Worker;

/// Has worker `from` hand its pool over to worker `to` soon; if it has not got it any more, nothing happens.
/// `by` is the worker of the calling thread. Any worker.
void send_pool(Worker& by, TaskPool& pool, WorkerId from, WorkerId to) noexcept;

}  // namespace mxkv::runtime

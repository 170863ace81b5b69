// Moves of pools between workers, and of objects between pools: each is a task at the former place.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/ids.hpp"
#include "runtime/pool/task_pool.hpp"
#include "runtime/resource/data_object.hpp"
#include "runtime/scheduler/rebalancing/object_heat.hpp"
#include "runtime/scheduler/task_window.hpp"

namespace mxkv::runtime {

class Worker;

/// Has worker `from` hand its pool over to worker `to` soon; nothing happens if `from` does not own it any
/// more. `by` is the worker of the calling thread. Any worker.
void send_pool(Worker& by, TaskPool& pool, WorkerId from, WorkerId to) noexcept;

/// Puts an object of pool `from`, whose lease `worker` holds, into pool `to`: tasks that are on their way to
/// it are forwarded. Returns whether it did: not if the object is elsewhere already, or latched. Owner worker
/// only.
bool move_object(Worker& worker, DataObject& object, PoolId from, PoolId to) noexcept;

/// Takes the first task of a fill out of a leased pool and counts its object. Where the rebalancer wants that
/// object elsewhere, a task that moves it goes first. Returns how many tasks of the pool it took: 0 or 1.
/// Owner worker only.
std::uint32_t fill_sampled(Worker& worker, TaskWindow& window, ObjectHeat& heat, TaskPool& pool,
                           std::size_t tag) noexcept;

}  // namespace mxkv::runtime

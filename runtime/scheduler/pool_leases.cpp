#include "runtime/scheduler/pool_leases.hpp"

namespace mxkv::runtime {

void PoolLeases::take_stolen(TaskPool& pool) noexcept {
  MXKV_ASSERT(stolen_ == nullptr, "one pool is stolen at a time");
  MXKV_ASSERT(!holds(pool.id()), "a lease is held once");
  stolen_ = &pool;
  states_[pool.id().value()] = lease_state::stolen;
}

bool PoolLeases::has_ready(const OwnedPools& victim) noexcept {
  for (std::size_t slot = 1; slot < victim.used(); ++slot) {
    const TaskPool* const pool = victim.at(slot);
    if (pool != nullptr && pool->stealable()) {
      return true;
    }
  }
  return false;
}

// The holder of the lease executes, and may be a thief; the owner only looks. So a pool that this worker
// stole, and then came to own, stays until it was given back as stolen.
bool PoolLeases::end_last_term(TaskPool& pool) noexcept {
  if (holds(pool.id())) {
    if (leaving_ == nullptr) {
      leaving_ = &pool;
    }
    if (leaving_ != &pool || stolen_ == &pool || pool.in_buffer() != 0) {
      return false;
    }
    end(pool, lease_state::own);
  }
  if (leaving_ == &pool) {
    leaving_ = nullptr;
  }
  return true;
}

bool PoolLeases::any_to_run() const noexcept {
  for (std::size_t slot = 0; slot < owned_.used(); ++slot) {
    const TaskPool* const pool = owned_.at(slot);
    if (pool != nullptr && (holds(pool->id()) || pool->state() == pool_state::ready)) {
      return true;
    }
  }
  return false;
}

std::uint32_t PoolLeases::tasks_in_buffer() const noexcept {
  std::uint32_t tasks = stolen_ == nullptr ? 0 : stolen_->in_buffer();
  for (std::size_t slot = 0; slot < owned_.used(); ++slot) {
    const TaskPool* const pool = owned_.at(slot);
    tasks += pool != nullptr && pool != stolen_ && holds(pool->id()) ? pool->in_buffer() : 0;
  }
  return tasks;
}

}  // namespace mxkv::runtime

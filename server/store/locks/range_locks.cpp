#include "server/store/locks/range_locks.hpp"

#include "runtime/base/paths.hpp"
#include "runtime/base/probe.hpp"
#include "server/store/core/worker_context.hpp"

namespace mxkv::server {

using runtime::step;

bool RangeLock::close_slots() {
  MXKV_ASSERT(slots().first <= slots().last, "slots are in the order of their keys");
  MXKV_ASSERT(slots().last < locks_->slots.most(), "there are gates for all slots");
  for (; slots().first + next_ <= slots().last; ++next_) {
    const std::uint32_t slot = slots().first + next_;
    if (user_->touches(*holder_, slot, locks_->slots) && !locks_->gate.close(slot, *this)) {
      return false;
    }
  }
  runtime::WriteGate::closed();
  return true;
}

// The map is the same as when they were closed: it changes only while all slots are held.
void RangeLock::open_slots(runtime::Worker& worker) {
  MXKV_ASSERT(slots().first + next_ == slots().last + 1, "what is opened was closed to the last slot");
  for (std::uint32_t slot = slots().first; slot <= slots().last; ++slot) {
    if (user_->touches(*holder_, slot, locks_->slots)) {
      locks_->gate.open(slot, worker);
    }
  }
}

step RangeLock::run(runtime::Worker& worker) {
  MXKV_ASSERT(stage_ != stage::begun, "a lock rests while its holder has it");
  switch (stage_) {
    case stage::arriving:
      MXKV_PROBE1(lock_wait_begin, this);
      stage_ = stage::closing;
      if (stays()) {
        if (at_ != worker.id()) {
          MXKV_PATH(held_away);
          worker.local<WorkerContext>().counters.count(counter::held_away);
        }
        at_ = worker.id();
        annotate(at_);
      }
      [[fallthrough]];
    case stage::closing:
      if (!close_slots()) {
        return step::parked;  // another worker may already run the lock
      }
      stage_ = stage::held;
      MXKV_PROBE1(lock_wait_end, this);
      if (worker.id() != at_) {
        annotate(at_);
        return step::again;
      }
      [[fallthrough]];
    case stage::held:
      stage_ = stage::begun;  // from now on the lock is the holder's
      user_->begin(*holder_, *this, worker);
      return step::parked;
    case stage::begun:
      break;
    case stage::releasing:
      open_slots(worker);
      user_->released(*holder_, worker);
      toggle().finished(*this, worker);
      return step::done;
  }
  return step::done;
}

void RangeLock::discard(runtime::Worker& worker) {
  if (stage_ == stage::releasing) {
    user_->released(*holder_, worker);
  } else if (stage_ != stage::begun) {
    holder_->task_class().discard(*holder_, worker);
  }
}

}  // namespace mxkv::server

MXKV_TASK_CLASS(, mxkv::server::RangeLock);

#include "server/reply/request_order.hpp"

#include <utility>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

OrderTablePool::~OrderTablePool() {
  while (free_ != nullptr) {
    delete std::exchange(free_, free_->next);
  }
}

RequestOrder::~RequestOrder() {
  delete table_;  // not to the pool: its counters are not zero
}

// Called for each request whose key is noted: decides whether the following requests need that. They do not
// while no request in flight, and none that waits, can conflict with them. A request that could conflict
// comes here first.
void RequestOrder::follow(operation_kind kind) noexcept {
  if (kind == operation_kind::range && streak_kind_ == operation_kind::read) {
    return;  // ranges and reads do not conflict
  }
  streak_ = kind == streak_kind_ ? streak_ + 1 : 1;
  streak_kind_ = kind;
  const bool possible = kind == operation_kind::read    ? changes_ == 0
                        : kind == operation_kind::write ? keyed_ == 0 && ranges_ == 0
                                                        : false;
  const bool keys_untracked = possible && streak_ > kStreak && !barrier_ && waiting_.all == 0 &&
                              (untracked_ == 0 || untracked_kind_ == kind);
  passing_kind_ = keys_untracked ? kind : operation_kind::barrier;
  if (keys_untracked) {
    untracked_kind_ = kind;
  }
}

bool RequestOrder::conflicts(OrderClaim claim) const noexcept {
  if (barrier_) {
    return true;
  }
  if (untracked_ != 0 && claim.kind() != untracked_kind_ &&
      !(claim.kind() == operation_kind::range && untracked_kind_ == operation_kind::read)) {
    return true;
  }
  const OrderTable::Slot slot = table_ == nullptr ? OrderTable::Slot{} : table_->slots[claim.slot()];
  // A full counter counts as a conflict; it falls again.
  switch (claim.kind()) {
    case operation_kind::read:
      return slot.writes != 0 || slot.reads == OrderTable::kMost || (waiting_.changes & bit(claim)) != 0;
    case operation_kind::write:
      return slot.reads != 0 || slot.writes == OrderTable::kMost || ranges_ != 0 || waiting_.writes != 0 ||
             ((waiting_.reads | waiting_.changes) & bit(claim)) != 0;
    case operation_kind::exclusive:
      return slot.reads != 0 || slot.writes != 0 || ranges_ != 0 ||
             ((waiting_.reads | waiting_.changes) & bit(claim)) != 0;
    case operation_kind::range:
      return changes_ != 0 || waiting_.changes != 0;
    case operation_kind::barrier:
      return in_flight() != 0 || waiting_.all != 0;
  }
  return true;
}

void RequestOrder::take(OrderClaim claim) {
  MXKV_ASSERT(!barrier_, "nothing starts beside a barrier");
  ++tracked_;
  if (claim.kind() == operation_kind::range) {
    ++ranges_;
    return;
  }
  if (claim.kind() == operation_kind::barrier) {
    MXKV_ASSERT(in_flight() == 1, "a barrier runs alone");
    barrier_ = true;
    return;
  }
  if (table_ == nullptr) {
    table_ = pool_->take();
  }
  ++keyed_;
  OrderTable::Slot& slot = table_->slots[claim.slot()];
  if (claim.kind() != operation_kind::write) {
    ++slot.reads;
  }
  if (claim.kind() != operation_kind::read) {
    ++slot.writes;
    ++changes_;
  }
}

bool RequestOrder::finish_tracked(OrderClaim claim) noexcept {
  MXKV_ASSERT(tracked_ > 0, "an operation ends once");
  --tracked_;
  if (claim.kind() == operation_kind::range) {
    MXKV_ASSERT(ranges_ > 0, "a range ends once");
    return --ranges_ == 0;
  }
  if (claim.kind() == operation_kind::barrier) {
    MXKV_ASSERT(barrier_ && in_flight() == 0, "a barrier ends alone");
    barrier_ = false;
    return true;
  }
  MXKV_ASSERT(table_ != nullptr && keyed_ > 0, "the table stays as long as tracked keys are in flight");
  OrderTable::Slot& slot = table_->slots[claim.slot()];
  bool freed = false;
  if (claim.kind() != operation_kind::write) {
    MXKV_ASSERT(slot.reads > 0, "a read ends once");
    freed = slot.reads == OrderTable::kMost || slot.reads == 1;
    --slot.reads;
  }
  if (claim.kind() != operation_kind::read) {
    MXKV_ASSERT(slot.writes > 0 && changes_ > 0, "a change ends once");
    freed = freed || slot.writes == OrderTable::kMost || slot.writes == 1 || changes_ == 1;
    --slot.writes;
    --changes_;
  }
  if (--keyed_ == 0) {
    pool_->give(std::exchange(table_, nullptr));
  }
  return freed || in_flight() == 0;
}

void RequestOrder::add_waiting(OrderClaim claim) noexcept {
  MXKV_DCHECK(has_one_key(claim.kind()), "ranges and barriers are not overtaken");
  ++waiting_.all;
  (claim.kind() == operation_kind::read ? waiting_.reads : waiting_.changes) |= bit(claim);
  waiting_.writes += static_cast<std::size_t>(claim.kind() == operation_kind::write);
}

}  // namespace mxkv::server

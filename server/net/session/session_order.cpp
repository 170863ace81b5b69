// Session's functions for requests that start at the store, and for requests that wait for their order.
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/net/observe/key_hash.hpp"
#include "server/net/session/session.hpp"

namespace mxkv::server {

bool Session::starts_now(operation_kind kind, std::string_view key, OrderClaim& claim) {
  RequestOrder& order = entry_->order;
  if (order.keys_untracked(kind)) [[likely]] {
    claim = order.start_untracked(kind);
    return true;
  }
  claim = OrderClaim{kind, hash_key(key)};
  return order.try_start(claim);
}

void Session::start_any(const protocol::PointRequest& request, bool silent) {
  start(request, kind_of(request), nullptr, silent);
}

void Session::enqueue(const protocol::PointRequest& request, ItemBuilder* value, OrderClaim claim,
                      std::uint32_t ticket) {
  MXKV_ASSERT((first_waiting_ == nullptr) == (waiting_count_ == 0), "the count is that of the list");
  entry_->order.add_waiting(claim);
  Waiting* const waiting = host_->waiting.take();
  waiting->claim = claim;
  waiting->ticket = ticket;
  waiting->hold(request, value);
  (first_waiting_ == nullptr ? first_waiting_ : last_waiting_->next) = waiting;
  last_waiting_ = waiting;
  ++waiting_count_;
}

// Tries all waiting requests, in the order sent. Returns whether any has started.
bool Session::start_waiting() {
  if (first_waiting_ == nullptr) [[likely]] {
    return false;
  }
  entry_->order.begin_pass();
  const std::size_t before = waiting_count_;
  last_waiting_ = nullptr;
  for (Waiting** link = &first_waiting_; *link != nullptr;) {
    Waiting* const waiting = *link;
    if (!entry_->order.try_start(waiting->claim)) {
      entry_->order.add_waiting(waiting->claim);
      last_waiting_ = waiting;
      link = &waiting->next;
      continue;
    }
    *link = waiting->next;
    --waiting_count_;
    launch(waiting->request(), waiting->claim.kind(), waiting->value(),
           address(waiting->claim, waiting->ticket));
    host_->waiting.give(waiting);
  }
  MXKV_ASSERT((first_waiting_ == nullptr) == (waiting_count_ == 0), "the count is that of the list");
  return waiting_count_ != before;
}

}  // namespace mxkv::server

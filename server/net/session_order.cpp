// Session's functions: requests that start at the store, and requests that wait for their order.
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/net/key_hash.hpp"
#include "server/net/session.hpp"

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

void Session::get(std::string_view key, protocol::verb op, std::int64_t exptime, bool end_line) {
  const bool plain = op == protocol::verb::get || op == protocol::verb::gets;
  OrderClaim claim{0};
  const bool starts = starts_now(plain ? operation_kind::read : operation_kind::exclusive, key, claim);
  const std::uint32_t ticket = entry_->replies.open();
  if (starts) [[likely]] {
    host_->store.get(host_->worker, key, op, exptime, end_line, address(claim, ticket));
    return;
  }
  Waiting* const waiting = enqueue(claim, ticket, op);
  waiting->set_key(key);
  waiting->exptime = exptime;
  waiting->end_line = end_line;
}

void Session::meta_get(const protocol::Request& request) {
  const bool reads = request.op == protocol::verb::meta_debug || !request.meta.changes_item();
  OrderClaim claim{0};
  const bool starts =
      starts_now(reads ? operation_kind::read : operation_kind::exclusive, request.key, claim);
  const std::uint32_t ticket = entry_->replies.open();
  if (starts) [[likely]] {
    host_->store.meta_get(host_->worker, request.key, request.op, request.meta, address(claim, ticket));
    return;
  }
  Waiting* const waiting = enqueue(claim, ticket, request.op);
  waiting->set_key(request.key);
  waiting->meta = request.meta;
}

void Session::mutate(const protocol::Request& request) {
  OrderClaim claim{0};
  const bool starts = starts_now(operation_kind::write, request.key, claim);
  const std::uint32_t ticket = ticket_for(request.noreply);
  if (starts) [[likely]] {
    host_->store.mutate(host_->worker, request, address(claim, ticket), entry_->commits.start());
    return;
  }
  Waiting* const waiting = enqueue(claim, ticket, request.op);
  waiting->set_key(request.key);
  waiting->exptime = request.exptime;
  waiting->delta = request.delta;
  if (protocol::is_meta(request.op)) {
    waiting->meta = request.meta;
  }
}

Session::Waiting* Session::enqueue(OrderClaim claim, std::uint32_t ticket, protocol::verb op) {
  MXKV_ASSERT((first_waiting_ == nullptr) == (waiting_count_ == 0), "the count is that of the list");
  entry_->order.add_waiting(claim);
  Waiting* const waiting = host_->waiting.take();
  waiting->claim = claim;
  waiting->ticket = ticket;
  waiting->op = op;
  (first_waiting_ == nullptr ? first_waiting_ : last_waiting_->next) = waiting;
  last_waiting_ = waiting;
  ++waiting_count_;
  return waiting;
}

// Tries all that wait, in the order sent. Returns whether any has started.
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
    launch(*waiting);
    host_->waiting.give(waiting);
  }
  MXKV_ASSERT((first_waiting_ == nullptr) == (waiting_count_ == 0), "the count is that of the list");
  return waiting_count_ != before;
}

void Session::launch(Waiting& waiting) {
  const ReplyAddress where = address(waiting.claim, waiting.ticket);
  if (waiting.op == protocol::verb::meta_get || waiting.op == protocol::verb::meta_debug) {
    host_->store.meta_get(host_->worker, waiting.key(), waiting.op, waiting.meta, where);
  } else if (waiting.claim.kind() != operation_kind::write) {
    host_->store.get(host_->worker, waiting.key(), waiting.op, waiting.exptime, waiting.end_line, where);
  } else if (waiting.value) {
    host_->store.store(host_->worker, std::move(*waiting.value), where, entry_->commits.start());
  } else {
    protocol::Request request;
    request.op = waiting.op;
    request.key = waiting.key();
    request.exptime = waiting.exptime;
    request.delta = waiting.delta;
    if (protocol::is_meta(waiting.op)) {
      request.meta = waiting.meta;
    }
    request.noreply = !where.wants_reply();
    host_->store.mutate(host_->worker, request, where, entry_->commits.start());
  }
}

}  // namespace mxkv::server

// BasicSession's functions: starting requests at the store, through the order fence. Part of
// session_impl.hpp.
#pragma once

#include <utility>

#include "protocol/reply.hpp"
#include "server/net/key_hash.hpp"
#include "server/net/session.hpp"

namespace mxkv::server {

inline DumpProgress* begin_dump(const protocol::Request& request) {
  if (request.op == protocol::verb::cachedump) {
    return new DumpProgress{dump_form::cachedump, request.delta};
  }
  return new DumpProgress{request.op == protocol::verb::mgdump ? dump_form::mgdump : dump_form::metadump};
}

constexpr bool changes_range(protocol::verb op) noexcept {
  return op == protocol::verb::meta_range_delete || op == protocol::verb::meta_range_touch;
}

template <class Host>
bool BasicSession<Host>::dispatch(const protocol::Request& request) {
  using protocol::verb;
  switch (request.op) {
    case verb::get:
    case verb::gets:
    case verb::gat:
    case verb::gats:
      if (request.key_count == 1) [[likely]] {
        get(request.key, request.op, request.exptime, true);
      } else {
        keys_op_ = request.op;
        keys_exptime_ = request.exptime;
        input_ = input::keys;
      }
      return true;
    case verb::set:
    case verb::add:
    case verb::replace:
    case verb::append:
    case verb::prepend:
    case verb::cas:
    case verb::meta_set:
      return begin_value(request);
    case verb::remove:
    case verb::incr:
    case verb::decr:
    case verb::touch:
    case verb::meta_delete:
    case verb::meta_arithmetic:
      mutate(request);
      return true;
    case verb::meta_get:
    case verb::meta_debug:
      meta_get(request);
      return true;
    case verb::meta_noop:
      if (entry_->commits.in_flight() == 0 && first_waiting_ == nullptr) [[likely]] {
        answer(protocol::kMetaNoop);
        return true;
      }
      // Writes that say nothing have taken effect when it is answered.
      return dispatch_alone(request, operation_kind::barrier);
    case verb::scan:
    case verb::scans:
    case verb::pscan:
    case verb::pscans:
    case verb::meta_range:
    case verb::meta_count:
    case verb::meta_range_delete:
    case verb::meta_range_touch:
      return dispatch_alone(request,
                            changes_range(request.op) ? operation_kind::barrier : operation_kind::range);
    case verb::meta_batch:
      begin_batch(static_cast<std::uint32_t>(request.delta));
      return true;
    case verb::stats:
    case verb::verbosity:
    case verb::cache_memlimit:
    case verb::shutdown:
    case verb::debugtime:
    case verb::flush_all:
      return dispatch_alone(request, operation_kind::barrier);
    case verb::version:
      answer(host_->version_line);
      return true;
    case verb::tune:
      if (!request.noreply) {
        answer(protocol::kOk);
      }
      return true;
    case verb::watch:
      watch(static_cast<std::uint32_t>(request.delta));
      return true;
    case verb::metadump:
    case verb::mgdump:
    case verb::cachedump:
      dump_ = begin_dump(request);
      input_ = input::dump;
      return true;
    case verb::quit:
      closing_ = true;
      return true;
  }
  return true;
}

// Ranges and barriers are not copied to wait: whoever finds that one must wait takes nothing more.
template <class Host>
bool BasicSession<Host>::dispatch_alone(const protocol::Request& request, operation_kind kind) {
  const FenceClaim claim{kind, 0};
  if (kind == operation_kind::range && !host_->has_page_room()) {
    wait_for_share();
    return false;
  }
  if ((kind == operation_kind::range && entry_->fence.ranges_in_flight() >= kMostRanges) ||
      !entry_->fence.try_start(claim)) {
    return false;
  }
  const ReplyAddress where = address(claim, ticket_for(request.noreply));
  if (request.op == protocol::verb::flush_all) {
    host_->store.flush_all(host_->worker, request.exptime, where);
  } else if (protocol::is_range(request.op)) {
    if (kind == operation_kind::range) {
      begin_page(host_->request);
    }
    host_->store.range(host_->worker, request, where);
  } else if (request.op == protocol::verb::meta_noop) {
    host_->directory.reply(where, protocol::kMetaNoop);
    host_->directory.finished(where);
  } else {
    const std::string text = host_->admin.run(host_->admin.context, request);
    closing_ = text.empty();  // shutdown, which closes without an answer
    if (ReplyQueue* const replies = host_->directory.find(where); replies != nullptr) {
      replies->append(where.ticket, text);
      replies->close(where.ticket);
    }
    host_->directory.finished(where);
  }
  return true;
}

/// Where the share is small a page is shorter than it might be: it ends with a cursor.
template <class Host>
void BasicSession<Host>::begin_page(protocol::Request& request) noexcept {
  const std::size_t most = host_->page_bytes();
  if (most < host_->limits.scan_bytes && (request.range.byte_limit == 0 || request.range.byte_limit > most)) {
    request.range.byte_limit = most;
  }
  host_->directory.began_range();
}

template <class Host>
bool BasicSession<Host>::pass_fence(operation_kind kind, std::string_view key, FenceClaim& claim) {
  RequestOrder& fence = entry_->fence;
  if (fence.keys_untracked(kind)) [[likely]] {
    claim = fence.start_unnoted(kind);
    return true;
  }
  claim = FenceClaim{kind, hash_key(key)};
  return fence.try_start(claim);
}

template <class Host>
void BasicSession<Host>::get(std::string_view key, protocol::verb op, std::int64_t exptime, bool end_line) {
  const bool plain = op == protocol::verb::get || op == protocol::verb::gets;
  FenceClaim claim{0};
  const bool starts = pass_fence(plain ? operation_kind::read : operation_kind::exclusive, key, claim);
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

template <class Host>
void BasicSession<Host>::meta_get(const protocol::Request& request) {
  const bool reads = request.op == protocol::verb::meta_debug || !request.meta.changes_item();
  FenceClaim claim{0};
  const bool starts =
      pass_fence(reads ? operation_kind::read : operation_kind::exclusive, request.key, claim);
  const std::uint32_t ticket = entry_->replies.open();
  if (starts) [[likely]] {
    host_->store.meta_get(host_->worker, request.key, request.op, request.meta, address(claim, ticket));
    return;
  }
  Waiting* const waiting = enqueue(claim, ticket, request.op);
  waiting->set_key(request.key);
  waiting->meta = request.meta;
}

template <class Host>
void BasicSession<Host>::mutate(const protocol::Request& request) {
  FenceClaim claim{0};
  const bool starts = pass_fence(operation_kind::write, request.key, claim);
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

template <class Host>
WaitingRequest<typename Host::Builder>* BasicSession<Host>::enqueue(FenceClaim claim, std::uint32_t ticket,
                                                                    protocol::verb op) {
  entry_->fence.add_waiting(claim);
  Waiting* const waiting = host_->waiting.take();
  waiting->claim = claim;
  waiting->ticket = ticket;
  waiting->op = op;
  (first_waiting_ == nullptr ? first_waiting_ : last_waiting_->next) = waiting;
  last_waiting_ = waiting;
  ++waiting_count_;
  return waiting;
}

template <class Host>
bool BasicSession<Host>::start_waiting() {
  if (first_waiting_ == nullptr) [[likely]] {
    return false;
  }
  entry_->fence.begin_pass();
  const std::size_t before = waiting_count_;
  last_waiting_ = nullptr;
  for (Waiting** link = &first_waiting_; *link != nullptr;) {
    Waiting* const waiting = *link;
    if (!entry_->fence.try_start(waiting->claim)) {
      entry_->fence.add_waiting(waiting->claim);
      last_waiting_ = waiting;
      link = &waiting->next;
      continue;
    }
    *link = waiting->next;
    --waiting_count_;
    launch(*waiting);
    host_->waiting.give(waiting);
  }
  return waiting_count_ != before;
}

template <class Host>
void BasicSession<Host>::launch(Waiting& waiting) {
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

template <class Host>
void BasicSession<Host>::answer(std::string_view text) {
  ReplyQueue& replies = entry_->replies;
  const std::uint32_t ticket = replies.open();
  replies.append(ticket, text);
  replies.close(ticket);
  host_->directory.mark_dirty(*entry_);
}

}  // namespace mxkv::server

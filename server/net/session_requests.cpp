// Session's functions for requests: which call of the store each of them is.
#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/session.hpp"

namespace mxkv::server {

bool Session::dispatch(const protocol::Request& request) {
  using protocol::beginning;
  switch (protocol::command_of(request.op).begins) {
    case beginning::keys:
      begin_keys(request);
      return true;
    case beginning::value:
      return begin_value(request);
    case beginning::point:
      start_any(protocol::point_request(request), request.noreply);
      return true;
    case beginning::noop:
      // A peer's noop only ends the reply before it.
      if ((entry_->commits.in_flight() == 0 && first_waiting_ == nullptr) || entry_->by_peer) [[likely]] {
        answer(protocol::kMetaNoop);
        return true;
      }
      // Quiet writes must have taken effect when it is answered.
      return dispatch_alone(request, operation_kind::barrier);
    case beginning::page:
      return dispatch_alone(request, operation_kind::range);
    case beginning::alone:
      return dispatch_alone(request, operation_kind::barrier);
    case beginning::batch:
      begin_batch(request.batch_lines);
      return true;
    case beginning::version:
      answer(host_->version_line);
      return true;
    case beginning::tune:
      if (!request.noreply) {
        answer(protocol::kOk);
      }
      return true;
    case beginning::client:
      if (!request.argument.starts_with("name")) {
        return dispatch_alone(request, operation_kind::barrier);
      }
      answer(entry_->owner->take_name(protocol::word_behind(request.argument)) ? protocol::kOk
                                                                               : protocol::kBadName);
      return true;
    case beginning::watch:
      watch(request.watched);
      return true;
    case beginning::dump:
      begin_dump(request);
      return true;
    case beginning::quit:
      drain();
      return true;
  }
  return true;
}

// A request of one key starts at once. With several keys, the keys start one by one as there is room.
void Session::begin_keys(const protocol::Request& request) {
  if (request.key_count > 1) {
    keys_.each = protocol::point_request(request);
    keys_.each.end_line = false;
    state_.begin_keys();
  } else if (protocol::command_of(request.op).terms.touches) {
    start(protocol::point_request(request), operation_kind::exclusive, nullptr, false);
  } else {
    start({.key = request.key, .op = request.op}, operation_kind::read, nullptr, false);
  }
}

// Ranges and barriers are not copied to wait: if one has to wait, the session takes nothing more.
bool Session::dispatch_alone(const protocol::Request& request, operation_kind kind) {
  const OrderClaim claim{kind, 0};
  if (kind == operation_kind::range && !host_->has_page_room()) {
    // The asking node has already reserved room for the page. To avoid deadlock, one page per peer may always
    // start.
    if (!entry_->by_peer) {
      wait_for_page();
      return false;
    }
    if (entry_->order.ranges_in_flight() > 0) {
      pauses_.add(pause::order);
      return false;
    }
  }
  if ((kind == operation_kind::range && entry_->order.ranges_in_flight() >= kMostRanges) ||
      !entry_->order.try_start(claim)) {
    pauses_.add(pause::order);
    return false;
  }
  const ReplyAddress where = address(claim, ticket_for(request.noreply));
  if (request.op == protocol::verb::flush_all) {
    if (host_->store.flush_all(host_->worker, request.exptime, where, request.meta.binary)) {
      note(happening::flushed);
    }
  } else if (protocol::is_range(request.op)) {
    if (kind == operation_kind::range) {
      begin_page(host_->request);
    }
    host_->store.range(host_->worker, request, where);
  } else if (request.op == protocol::verb::meta_noop) {
    host_->directory.reply(where, Seen::nothing(), protocol::kMetaNoop);
    host_->directory.finished(where);
  } else {
    administer(request, where);
  }
  return true;
}

void Session::administer(const protocol::Request& request, const ReplyAddress& address) {
  MXKV_ASSERT(host_->admin != nullptr, "a session without administration gets no such commands");
  if (protocol::is_one_of(request.op, protocol::verb::config_get, protocol::verb::config_set,
                          protocol::verb::refresh_certs) &&
      host_->admin->configure(request, entry_->owner->client_name(), address)) {
    return;
  }
  AdminCursor cursor{.asker = entry_->descriptor.load(std::memory_order_relaxed)};
  add_page(request, address, cursor);
  if (cursor.more) {
    report_ = std::make_unique<Report>(
        Report{request.op, std::string{request.argument}, request.meta.binary, address, cursor});
    state_.begin_report();
  }
  host_->directory.finished(address);  // no other request starts before the last page
}

// If the share is small, a page is shorter than requested, and ends with a cursor.
void Session::begin_page(protocol::Request& request) noexcept {
  const std::size_t most = host_->page_bytes();
  if (most < host_->limits.scan_bytes && (request.range.byte_limit == 0 || request.range.byte_limit > most)) {
    request.range.byte_limit = most;
  }
  host_->directory.began_range();
}

}  // namespace mxkv::server

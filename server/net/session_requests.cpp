// Session's functions: requests, and which call of the store each of them is.
#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/session.hpp"

namespace mxkv::server {

bool Session::dispatch(const protocol::Request& request) {
  using protocol::verb;
  switch (request.op) {
    case verb::get:
    case verb::gets:
      if (request.key_count == 1) [[likely]] {
        start({.key = request.key, .op = request.op}, operation_kind::read, nullptr, false);
        return true;
      }
      [[fallthrough]];
    case verb::gat:
    case verb::gats:
      if (request.key_count == 1) {
        start(protocol::point_request(request), operation_kind::exclusive, nullptr, false);
      } else {
        keys_.each = protocol::point_request(request);
        keys_.each.end_line = false;
        state_.begin_keys();
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
    case verb::meta_get:
    case verb::meta_debug:
      start_any(protocol::point_request(request), request.noreply);
      return true;
    case verb::meta_noop:
      // A peer's is the end of the reply before it, and of nothing else.
      if ((entry_->commits.in_flight() == 0 && first_waiting_ == nullptr) || entry_->by_peer) [[likely]] {
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
      return dispatch_alone(
          request, protocol::changes_range(request.op) ? operation_kind::barrier : operation_kind::range);
    case verb::meta_batch:
      begin_batch(request.batch_lines);
      return true;
    case verb::stats:
    case verb::verbosity:
    case verb::cache_memlimit:
    case verb::shutdown:
    case verb::debugtime:
    case verb::config_get:
    case verb::config_set:
    case verb::refresh_certs:
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
    case verb::client:
      if (!request.argument.starts_with("name")) {
        return dispatch_alone(request, operation_kind::barrier);
      }
      answer(entry_->owner->take_name(protocol::word_behind(request.argument)) ? protocol::kOk
                                                                               : protocol::kBadName);
      return true;
    case verb::watch:
      watch(request.watched);
      return true;
    case verb::metadump:
    case verb::mgdump:
    case verb::cachedump:
      begin_dump(request);
      return true;
    case verb::quit:
      drain();
      return true;
  }
  return true;
}

// Ranges and barriers are not copied to wait: a session that finds one that must wait takes nothing more.
bool Session::dispatch_alone(const protocol::Request& request, operation_kind kind) {
  const OrderClaim claim{kind, 0};
  if (kind == operation_kind::range && !host_->has_page_room()) {
    // Whoever asks for a peer's page has room for it, and waits: one of each peer always goes on.
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
    host_->directory.reply(where, protocol::kMetaNoop);
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
  host_->directory.finished(address);  // nothing else is started before the last page
}

// Where the share is small a page is shorter than it might be: it ends with a cursor.
void Session::begin_page(protocol::Request& request) noexcept {
  const std::size_t most = host_->page_bytes();
  if (most < host_->limits.scan_bytes && (request.range.byte_limit == 0 || request.range.byte_limit > most)) {
    request.range.byte_limit = most;
  }
  host_->directory.began_range();
}

}  // namespace mxkv::server

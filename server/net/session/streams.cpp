#include "server/net/session/streams.hpp"

#include <string>
#include <utility>
#include <vector>

#include "protocol/command_table.hpp"
#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/session/binary_answers.hpp"

namespace mxkv::server {

bool Streams::begin_alone(SessionCore& core, RequestMeter& meter, const protocol::Request& request,
                          operation_kind kind) {
  const OrderClaim claim{kind, 0};
  if (kind == operation_kind::range && !core.host->has_page_room()) {
    // The asking node has already reserved room for the page. To avoid deadlock, one page per peer may always
    // start.
    if (!core.entry->by_peer) {
      core.wait_for_page();
      return false;
    }
    if (core.entry->order.ranges_in_flight() > 0) {
      core.pauses.add(pause::order);
      return false;
    }
  }
  if ((kind == operation_kind::range && core.entry->order.ranges_in_flight() >= kMostRanges) ||
      !core.entry->order.try_start(claim)) {
    core.pauses.add(pause::order);
    return false;
  }
  const ReplyAddress where = core.address(claim, core.ticket_for(request.noreply));
  if (request.op == protocol::verb::flush_all) {
    if (core.host->store.flush_all(core.host->worker, request.exptime, where, request.meta.binary)) {
      core.note(happening::flushed);
    }
  } else if (protocol::is_range(request.op)) {
    if (kind == operation_kind::range) {
      begin_page(core, core.host->request);
    }
    core.host->store.range(core.host->worker, request, where);
  } else if (request.op == protocol::verb::meta_noop) {
    core.host->directory.reply(where, Seen::nothing(), protocol::kMetaNoop);
    core.host->directory.finished(where);
  } else {
    administer(core, meter, request, where);
  }
  return true;
}

void Streams::administer(SessionCore& core, RequestMeter& meter, const protocol::Request& request,
                         const ReplyAddress& address) {
  MXKV_ASSERT(core.host->admin != nullptr, "a session without administration gets no such commands");
  if (protocol::is_one_of(request.op, protocol::verb::config_get, protocol::verb::config_set,
                          protocol::verb::refresh_certs) &&
      core.host->admin->configure(request, core.entry->owner->client_name(), address)) {
    return;
  }
  AdminCursor cursor{.asker = core.entry->descriptor.load(std::memory_order_relaxed)};
  add_page(core, meter, request, address, cursor);
  if (cursor.more) {
    report_ = std::make_unique<Report>(
        Report{request.op, std::string{request.argument}, request.meta.binary, address, cursor});
    core.state.begin_report();
  }
  core.host->directory.finished(address);  // no other request starts before the last page
}

// If the share is small, a page is shorter than requested, and ends with a cursor.
void Streams::begin_page(SessionCore& core, protocol::Request& request) noexcept {
  const std::size_t most = core.host->page_bytes();
  if (most < core.host->limits.scan_bytes &&
      (request.range.byte_limit == 0 || request.range.byte_limit > most)) {
    request.range.byte_limit = most;
  }
  core.host->directory.began_range();
}

void Streams::begin_dump(SessionCore& core, const protocol::Request& request) {
  MXKV_ASSERT(dump_ == nullptr, "one dump goes at a time");
  if (request.op == protocol::verb::cachedump) {
    dump_ = new DumpProgress{dump_form::cachedump, request.dump_lines};
  } else {
    dump_ = new DumpProgress{request.op == protocol::verb::mgdump ? dump_form::mgdump : dump_form::metadump};
  }
  core.state.begin_dump();
}

// Begins the next page when the page before has ended; each page is a range read of its own. A page is long
// only if the client takes its replies.
bool Streams::dump_ended(SessionCore& core, RequestMeter& meter) {
  MXKV_ASSERT(dump_ != nullptr, "a dump has a place where it is");
  if (dump_->ended()) {
    std::exchange(dump_, nullptr)->leave();
    core.state.end_dump();
    return true;
  }
  const OrderClaim claim{operation_kind::range, 0};
  if (!dump_->running()) {
    if (!meter.may_take(core)) {
      return false;
    }
    if (!core.host->has_page_room()) {
      core.wait_for_page();
      return false;
    }
    if (core.entry->order.try_start(claim)) {
      dump_->begin_page(core.unsent_bytes() < DumpProgress::kPageBytes ? core.host->page_bytes() : 0);
      core.host->directory.began_range();
      core.host->store.dump(core.host->worker, *dump_, core.address(claim, core.entry->replies.open()));
    }
  }
  core.pauses.add(pause::order);
  return false;
}

/// The cost of a page that only walks connections and writes nothing.
constexpr std::size_t kBytesOfPage = AdminCursor::kPage * RequestAllowance::kBytesOfRequest / 4;

// By the rates a page counts as one request. In its turn it counts by its length, because other connections
// wait.
void Streams::add_page(SessionCore& core, RequestMeter& meter, const protocol::Request& request,
                       const ReplyAddress& address, AdminCursor& cursor) {
  cursor.user = core.user();
  std::string text = core.host->admin->run(request, cursor);
  cursor.user = nullptr;  // the session may get another one between two pages
  if (text.empty() && !cursor.more) {
    core.drain();  // shutdown closes the connection without an answer
  } else if (request.is_binary()) {
    text = binary_text(request, text, cursor);
  }
  meter.allowance().spend(text.size() + (cursor.more ? kBytesOfPage : 0));
  if (ReplyQueue* const replies = core.host->directory.find(address, Seen::nothing()); replies != nullptr) {
    replies->append(address.ticket, text);
    if (!cursor.more) {
      replies->close(address.ticket);
    }
    core.host->directory.mark_dirty(*core.entry);
  }
}

// Makes further pages while this connection has a share of the turn and the client takes its replies.
bool Streams::report_ended(SessionCore& core, RequestMeter& meter) {
  MXKV_ASSERT(report_ != nullptr && report_->cursor.more, "a report has a page to come");
  protocol::Request request;
  request.op = report_->op;
  request.argument = report_->argument;
  request.meta.binary = report_->binary;
  while (report_->cursor.more) {
    if (!core.host->has_page_room()) {
      core.wait_for_page();
      return false;
    }
    if (!meter.may_take(core)) {
      return false;
    }
    add_page(core, meter, request, report_->address, report_->cursor);
  }
  report_.reset();
  core.state.end_report();
  return true;
}

void Streams::stop(SessionCore& core) noexcept {
  stop_watching(core);
  if (report_ != nullptr) {
    core.finish(report_->address.ticket);
    report_.reset();
  }
}

void Streams::leave(SessionCore& core) noexcept {
  if (dump_ != nullptr) {
    std::exchange(dump_, nullptr)->leave();
  }
  stop_watching(core);
}

void Streams::watch(SessionCore& core, std::uint32_t kinds) {
  if (core.host->watch_hub == nullptr) {
    core.answer(protocol::kError);
    return;
  }
  MXKV_ASSERT(watcher_ == nullptr, "a connection watches once");
  watcher_ = core.host->watch_hub->add(kinds, core.host->directory.address(*core.entry).worker);
  if (watcher_ == nullptr) {
    core.answer(protocol::kTooManyWatchers);
    return;
  }
  core.answer(protocol::kOk);
  watch_ticket_ = core.entry->replies.open();  // one reply without an end
  core.host->watching.push_back(core.entry);
  core.state.begin_watch();
}

// Takes lines only while the client reads; the others stay in the watcher, which is bounded.
void Streams::pull_watched(SessionCore& core) {
  MXKV_ASSERT(core.state.is(session_state::watch) && watcher_ != nullptr,
              "lines are for a session that watches");
  const std::size_t most = core.host->limits.output_high_water;
  core.pauses.remove(kPassing);
  if (core.unsent_bytes() < most && core.entry->life.answers()) {
    const std::string lines = watcher_->take();
    core.entry->replies.append(watch_ticket_, lines);
    core.host->directory.mark_dirty(*core.entry);
  }
  if (core.unsent_bytes() >= most) {
    core.pauses.add(pause::output);
  }
}

void Streams::stop_watching(SessionCore& core) noexcept {
  if (watcher_ != nullptr) {
    core.host->watch_hub->remove(watcher_);
    std::erase(core.host->watching, core.entry);
    core.finish(watch_ticket_);
    watcher_ = nullptr;
  }
}

}  // namespace mxkv::server

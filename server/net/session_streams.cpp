// Session's functions for replies that come in pieces over time: dumps, reports of administration, and
// watched events.
#include <string>
#include <utility>

#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/client_table.hpp"
#include "server/net/session.hpp"

namespace mxkv::server {

void Session::begin_dump(const protocol::Request& request) {
  MXKV_ASSERT(dump_ == nullptr, "one dump goes at a time");
  if (request.op == protocol::verb::cachedump) {
    dump_ = new DumpProgress{dump_form::cachedump, request.dump_lines};
  } else {
    dump_ = new DumpProgress{request.op == protocol::verb::mgdump ? dump_form::mgdump : dump_form::metadump};
  }
  state_.begin_dump();
}

// Begins the next page when the page before has ended; each page is a range read of its own. A page is long
// only if the client takes its replies.
bool Session::dump_ended() {
  MXKV_ASSERT(dump_ != nullptr, "a dump has a place where it is");
  if (dump_->ended()) {
    std::exchange(dump_, nullptr)->leave();
    state_.end_dump();
    return true;
  }
  const OrderClaim claim{operation_kind::range, 0};
  if (!dump_->running()) {
    if (!may_take()) {
      return false;
    }
    if (!host_->has_page_room()) {
      wait_for_page();
      return false;
    }
    if (entry_->order.try_start(claim)) {
      dump_->begin_page(unsent_bytes() < DumpProgress::kPageBytes ? host_->page_bytes() : 0);
      host_->directory.began_range();
      host_->store.dump(host_->worker, *dump_, address(claim, entry_->replies.open()));
    }
  }
  pauses_.add(pause::order);
  return false;
}

/// The cost of a page that only walks connections and writes nothing.
constexpr std::size_t kBytesOfPage = ClientTable::kPage * RequestAllowance::kBytesOfRequest / 4;

// By the rates a page counts as one request. In its turn it counts by its length, because other connections
// wait.
void Session::add_page(const protocol::Request& request, const ReplyAddress& address, AdminCursor& cursor) {
  std::string text = host_->admin->run(request, cursor);
  if (text.empty() && !cursor.more) {
    drain();  // shutdown closes the connection without an answer
  } else if (request.is_binary()) {
    text = binary_text(request, text, cursor);
  }
  allowance_.spend(text.size() + (cursor.more ? kBytesOfPage : 0));
  if (ReplyQueue* const replies = host_->directory.find(address); replies != nullptr) {
    replies->append(address.ticket, text);
    if (!cursor.more) {
      replies->close(address.ticket);
    }
    host_->directory.mark_dirty(*entry_);
  }
}

// Makes further pages while this connection has a share of the turn and the client takes its replies.
bool Session::report_ended() {
  MXKV_ASSERT(report_ != nullptr && report_->cursor.more, "a report has a page to come");
  protocol::Request request;
  request.op = report_->op;
  request.argument = report_->argument;
  request.meta.binary = report_->binary;
  while (report_->cursor.more) {
    if (!host_->has_page_room()) {
      wait_for_page();
      return false;
    }
    if (!may_take()) {
      return false;
    }
    add_page(request, report_->address, report_->cursor);
  }
  report_.reset();
  state_.end_report();
  return true;
}

void Session::drop_report() noexcept {
  if (report_ != nullptr) {
    entry_->replies.close(report_->address.ticket);
    report_.reset();
  }
}

void Session::watch(std::uint32_t kinds) {
  if (host_->watch_hub == nullptr) {
    answer(protocol::kError);
    return;
  }
  MXKV_ASSERT(watcher_ == nullptr, "a connection watches once");
  watcher_ = host_->watch_hub->add(kinds, host_->directory.address(*entry_).worker);
  if (watcher_ == nullptr) {
    answer(protocol::kTooManyWatchers);
    return;
  }
  answer(protocol::kOk);
  watch_ticket_ = entry_->replies.open();  // one reply without an end
  host_->watching.push_back(entry_);
  state_.begin_watch();
}

// Takes lines only while the client reads; the others stay in the watcher, which is bounded.
void Session::pull_watched() {
  MXKV_ASSERT(watches() && watcher_ != nullptr, "lines are for a session that watches");
  const std::size_t most = host_->limits.output_high_water;
  pauses_.remove(kPassing);
  if (unsent_bytes() < most) {
    const std::string lines = watcher_->take();
    entry_->replies.append(watch_ticket_, lines);
    host_->directory.mark_dirty(*entry_);
  }
  if (unsent_bytes() >= most) {
    pauses_.add(pause::output);
  }
}

void Session::stop_watching() noexcept {
  if (watcher_ != nullptr) {
    host_->watch_hub->remove(watcher_);
    std::erase(host_->watching, entry_);
    entry_->replies.close(watch_ticket_);
    watcher_ = nullptr;
  }
}

}  // namespace mxkv::server

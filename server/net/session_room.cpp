// Session's functions for the memory that it takes of the worker's shares.
#include <utility>

#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/session.hpp"

namespace mxkv::server {

// 0: pauses_ says why no request may be taken.
std::uint32_t Session::renew_allowance() noexcept {
  std::uint32_t most = ~std::uint32_t{0};
  if (metered_) [[unlikely]] {
    allowance_.begin_charging();
    charge();
    most = rate_room();
    if (most == 0) {
      if (!pauses_.has(pause::rate)) {
        wait_for_rate();
      }
      return 0;
    }
  }
  const Pauses found =
      allowance_.renew(host_->limits, entry_->replies, load(), host_->directory.share(), pauses_, most);
  if (pauses_.has(pause::output) && !found.has(pause::output)) [[unlikely]] {
    entry_->asked_ns = host_->worker.now_ns();  // until now the requests waited for their client to read
  }
  pauses_.remove(kOfAllowance);
  pauses_.add(found);
  return found.empty() ? allowance_.left(host_->turn) : 0;
}

void Session::wait_for_page() {
  MXKV_ASSERT(!pauses_.has(kOfRoom), "a session waits in one list once");
  pauses_.add(pause::page_room);
  host_->starved.push_back(entry_);
}

// The large value must not begin yet.
void Session::wait_with_value(std::uint64_t bytes) {
  MXKV_ASSERT(!pauses_.has(kOfRoom), "a session waits in one list once");
  pauses_.add(pause::value_room);
  host_->values.wait(*entry_->owner, bytes, host_->worker.now_ns());
}

// The caller has taken this session out of the list in which it waited.
void Session::give_room() {
  MXKV_ASSERT(pauses_.has(kOfRoom), "room is given to a session that waits for it");
  pauses_.remove(kOfRoom);
  resume();
}

// Counts memory of a batch that is not complete.
void Session::keep(std::size_t bytes) noexcept {
  MXKV_ASSERT(batch_ != nullptr, "bytes are kept of a batch");
  kept_ += bytes;
  host_->input.share().take(bytes);
}

void Session::keep_no_more() noexcept {
  MXKV_ASSERT(kept_ <= host_->input.share().held(), "the share counts what its sessions keep");
  host_->input.share().give(kept_);
  kept_ = 0;
  if (admitted_ != 0) {
    admitted_ = 0;
    host_->values.give(*entry_->owner);
  }
}

// Adds bytes to the held ones. If there is no room, the client gets an error and must leave.
void Session::hold(const char* data, std::size_t bytes) {
  MXKV_ASSERT(state_.takes_input(), "a session that drains holds nothing");
  if (host_->has_input_room(held_.needs(bytes), unfinished_bytes(), *entry_)) {
    held_.append(data, bytes);
  } else {
    refuse_input();
  }
}

// A session that drains has no more turns, but events that it waits for in a list of the host still come.
void Session::stop_taking() {
  MXKV_ASSERT(!state_.takes_input(), "a session drops its input when it drains");
  drop_value();
  drop_batch();
  stop_watching();
  drop_report();
  keep_no_more();
  pauses_.remove(kRetried | kOfAllowance);
}

void Session::drain() {
  state_.drain();
  stop_taking();
}

void Session::refuse_input() {
  in_error_ = true;
  state_.refuse();
  stop_taking();
  held_.clear();
  answer_code(protocol::reply_code::no_request_memory);
}

}  // namespace mxkv::server

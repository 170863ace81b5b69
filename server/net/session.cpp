#include "server/net/session.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

Session::Session(SessionHost& host, ConnectionOwner& owner, bool asks_login)
    : host_(&host), entry_(&host.directory.open(owner)), held_(host.input) {
  if (asks_login && host.credentials != nullptr && host.credentials->required()) {
    state_.require_login();
  }
}

// The client was let in on the worker where it came from.
Session::Session(SessionHost& host, ConnectionOwner& owner, std::string_view held, bool binary, UserSeat seat)
    : host_(&host), entry_(&host.directory.open(owner)), held_(host.input) {
  binary ? state_.begin_binary() : state_.begin_text();
  take_seat(std::move(seat));
  held_.append(held.data(), held.size());
  pauses_.add(pause::turn);
}

Session::~Session() {
  MXKV_ASSERT(!running_, "a session does not end while it takes input");
  drop_value();
  drop_batch();
  while (first_waiting_ != nullptr) {
    Waiting* const waiting = std::exchange(first_waiting_, first_waiting_->next);
    if (ItemBuilder* const value = waiting->value()) {
      value->abandon(host_->worker);
    }
    host_->waiting.give(waiting);
  }
  if (dump_ != nullptr) {
    dump_->leave();
  }
  stop_watching();
  keep_no_more();
  allowance_.end(host_->directory.share());
  if (pauses_.has(pause::page_room)) {
    std::erase(host_->starved, entry_);
  }
  if (pauses_.has(pause::value_room)) {
    host_->values.forget(*entry_->owner);
    host_->small_values.forget(*entry_->owner);
  }
  if (pauses_.has(pause::login)) {
    std::erase(host_->logging_in, entry_);
  }
  if (pauses_.has(pause::rate)) {
    std::erase(host_->rate_waiters, entry_);
  }
  host_->sampler.end_connection(*entry_);
  host_->directory.close(*entry_);
}

void Session::receive(char* data, std::size_t bytes, std::size_t headroom) {
  MXKV_ASSERT(wants_input(), "a paused session is not read");
  if (held_.empty()) [[likely]] {
    run({data, bytes}, false);
    return;
  }
  const std::string_view held = held_.view();
  if (held.size() <= headroom) {
    // Copy the beginning of a request in front of its rest: cheaper than the rest behind the beginning.
    const std::size_t front = held.size();
    std::copy(held.begin(), held.end(), data - front);
    held_.clear();
    run({data - front, front + bytes}, false);
  } else {
    hold(data, bytes);
    run(held_.view(), true);
  }
}

void Session::end_of_input() {
  MXKV_ASSERT(!pauses_.has(pause::input_end), "input ends once");
  pauses_.add(pause::input_end);
  if (watches()) {
    drain();
  }
  resume();
}

void Session::resume() {
  if (!running_) {
    run(held_.view(), true);
  }
}

void Session::run(std::string_view data, bool held) {
  MXKV_ASSERT(!running_, "a session takes input in one place");
  running_ = true;
  entry_->wants_resume = false;
  std::size_t used = 0;
  for (;;) {
    const std::uint32_t ended = entry_->ended;
    const bool started = start_waiting();
    used += state_.takes_input() ? process(data.substr(used)) : data.size() - used;
    const bool blocked = first_waiting_ != nullptr || pauses_.has(kOfOperations);
    // A store may end operations at once. Then no later event would resume the requests that wait for them.
    if (!blocked || (ended == entry_->ended && !started)) {
      break;
    }
  }
  keep_rest(data.substr(used), used, held);
  end_round();  // unused allowance is given back at the end of the turn
  note_what_resumes();
  running_ = false;
}

// Unused bytes are the beginning of a request, or wait for a pause to end.
void Session::keep_rest(std::string_view rest, std::size_t used, bool held) {
  if (pauses_ == pause::input_end && state_.takes_input()) {
    drain();  // all that could be taken was: the rest is a request that will never be complete
  }
  if (!state_.takes_input()) {
    held_.clear();
    return;
  }
  if (state_.before_login() && pauses_.empty() && rest.size() > kMostOfStranger) [[unlikely]] {
    refuse_input();
  } else if (held) {
    held_.consume(used);
  } else {
    hold(rest.data(), rest.size());
  }
}

void Session::note_what_resumes() noexcept {
  const bool too_many = pauses_.has(pause::in_flight);
  entry_->wants_resume = first_waiting_ != nullptr || pauses_.has(kOfOperations);
  entry_->resume_at = too_many ? allowance_.resume_at() : 0;
  if (pauses_.has(pause::order) && entry_->order.ranges_in_flight() > 0) {
    entry_->resume_at = std::numeric_limits<std::uint32_t>::max();  // whenever a range has ended
  }
}

std::size_t Session::process(std::string_view data) {
  if (pauses_.has(kUntilTold)) {
    return 0;
  }
  pauses_.remove(kRetried);
  std::size_t used = 0;
  while (state_.takes_input()) {
    if (watches()) {
      pull_watched();
      return data.size();  // a watcher's requests are ignored
    }
    if (!ready_for_input()) {
      break;
    }
    const std::size_t taken = take(data.substr(used));
    if (taken == 0) {
      break;
    }
    used += taken;
  }
  if (used == data.size() && !pauses_.has(kOfRoom | pause::order | pause::memory) && !takes_without_input()) {
    pauses_.remove(kPassing);  // nothing is left to take
  }
  return used;
}

// Pages of a dump or a report, and a complete batch, need no input to continue.
bool Session::ready_for_input() {
  if (state_.is(session_state::dump)) {
    return dump_ended();
  }
  if (state_.is(session_state::report)) {
    return report_ended();
  }
  return !state_.is(session_state::batch) || batch_->missing() > 0 || batch_started();
}

std::size_t Session::take(std::string_view rest) {
  switch (state_.current()) {
    case session_state::line:
      return !rest.empty() && allowed() != 0 ? take_line(rest) : 0;
    case session_state::keys:
      return allowed() != 0 ? take_keys(rest) : 0;
    case session_state::value:
      return take_value(rest);
    case session_state::value_end:
      return take_value_end(rest);
    case session_state::swallowing:
      return take_swallowed(rest);
    case session_state::batch:
      return !rest.empty() && may_take() ? take_batch_line(rest) : 0;
    case session_state::login:
      return !rest.empty() && may_take() ? take_login(rest) : 0;
    case session_state::credentials:
      return pauses_.has(pause::login) ? 0 : take_credentials(rest);
    case session_state::binary_login:
      return !rest.empty() && !pauses_.has(pause::login) && allowed() != 0 ? take_binary(rest) : 0;
    case session_state::binary:
      return !rest.empty() && allowed() != 0 ? take_binary(rest) : 0;
    case session_state::opening:
      return !rest.empty() ? take_opening(rest) : 0;
    case session_state::dump:
    case session_state::report:
    case session_state::watch:
    case session_state::draining:
    case session_state::refused:
      break;  // process() does not get here in these states
  }
  MXKV_ASSERT(false, "only states that read take input");
  return 0;
}

// Only the first byte of a connection decides. At the start of a later line it means nothing.
std::size_t Session::take_opening(std::string_view data) {
  switch (protocol::protocol_of(data)) {
    case protocol::wire_protocol::undecided:
      return 0;
    case protocol::wire_protocol::tls:
      leave(data);
      return data.size();
    case protocol::wire_protocol::binary:
      state_.begin_binary();
      break;
    case protocol::wire_protocol::text:
      state_.begin_text();
      break;
  }
  return take(data);
}

}  // namespace mxkv::server

#include "server/net/session/session.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "protocol/binary.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/session/binary_intake.hpp"

namespace mxkv::server {

Session::Session(SessionHost& host, ConnectionOwner& owner, bool asks_login) : parts_(host, owner) {
  if (asks_login && host.credentials != nullptr && host.credentials->required()) {
    parts_.core.state.require_login();
  }
}

void Session::let_in_as(std::shared_ptr<const User> visitor) noexcept {
  static_cast<void>(visitor->usage->begin_connection(0));  // any number of them
  parts_.core.take_seat(UserSeat{std::move(visitor)});
}

// The client was let in on the worker where it came from.
Session::Session(SessionHost& host, ConnectionOwner& owner, std::string_view held, bool binary, UserSeat seat)
    : parts_(host, owner) {
  binary ? parts_.core.state.begin_binary() : parts_.core.state.begin_text();
  parts_.core.take_seat(std::move(seat));
  parts_.core.held.append(held.data(), held.size());
  parts_.core.pauses.add(pause::turn);
}

Session::~Session() {
  MXKV_ASSERT(!parts_.core.running, "a session does not end while it takes input");
  SessionHost& host = *parts_.core.host;
  parts_.values.drop(parts_.core);
  parts_.batch.drop(parts_.core);
  parts_.launcher.drop(parts_.core);
  parts_.streams.leave(parts_.core);
  parts_.watches.abandon(parts_.core);
  parts_.meter.allowance().end(host.directory.share());
  if (parts_.core.pauses.has(pause::page_room)) {
    std::erase(host.starved, parts_.core.entry);
  }
  if (parts_.core.pauses.has(pause::value_room)) {
    host.values.forget(*parts_.core.entry->owner);
    host.small_values.forget(*parts_.core.entry->owner);
  }
  if (parts_.core.pauses.has(pause::login)) {
    std::erase(host.logging_in, parts_.core.entry);
  }
  if (parts_.core.pauses.has(pause::rate)) {
    std::erase(host.rate_waiters, parts_.core.entry);
  }
  host.sampler.end_connection(*parts_.core.entry);
  host.directory.close(*parts_.core.entry);
}

void Session::receive(char* data, std::size_t bytes, std::size_t headroom) {
  MXKV_ASSERT(wants_input(), "a paused session is not read");
  if (parts_.core.held.empty()) [[likely]] {
    run({data, bytes}, false);
    return;
  }
  const std::string_view held = parts_.core.held.view();
  if (held.size() <= headroom) {
    // Copy the beginning of a request in front of its rest: cheaper than the rest behind the beginning.
    const std::size_t front = held.size();
    std::copy(held.begin(), held.end(), data - front);
    parts_.core.held.clear();
    run({data - front, front + bytes}, false);
  } else {
    hold(data, bytes);
    run(parts_.core.held.view(), true);
  }
}

void Session::end_of_input() {
  MXKV_ASSERT(!parts_.core.pauses.has(pause::input_end), "input ends once");
  parts_.core.pauses.add(pause::input_end);
  if (entry().life.is(life_stage::draining)) {
    parts_.watches.say_end(parts_.core);
  }
  if (parts_.core.state.is(session_state::watch)) {
    parts_.core.drain();
  }
  resume();
}

void Session::resume() {
  if (!parts_.core.running) {
    run(parts_.core.held.view(), true);
  }
}

void Session::run(std::string_view data, bool held) {
  MXKV_ASSERT(!parts_.core.running, "a session takes input in one place");
  parts_.core.running = true;
  parts_.core.entry->wants_resume = false;
  std::size_t used = 0;
  for (;;) {
    const std::uint32_t ended = parts_.core.entry->ended;
    const bool started = parts_.launcher.start_waiting(parts_.core);
    used += parts_.core.state.takes_input() ? process(data.substr(used)) : data.size() - used;
    const bool blocked = parts_.core.waiting != 0 || parts_.core.pauses.has(kOfOperations);
    // A store may end operations at once. Then no later event would resume the requests that wait for them.
    if (!blocked || (ended == parts_.core.entry->ended && !started)) {
      break;
    }
  }
  keep_rest(data.substr(used), used, held);
  end_round();  // unused allowance is given back at the end of the turn
  note_what_resumes();
  parts_.core.running = false;
}

// Unused bytes are the beginning of a request, or wait for a pause to end.
void Session::keep_rest(std::string_view rest, std::size_t used, bool held) {
  if (parts_.core.pauses == pause::input_end && parts_.core.state.takes_input()) {
    parts_.core.drain();  // all that could be taken was: the rest is a request that will never be complete
  }
  if (!parts_.core.state.takes_input()) {
    stop_taking();
    return;
  }
  if (parts_.core.state.before_login() && parts_.core.pauses.empty() &&
      rest.size() > SessionCore::kMostOfStranger) [[unlikely]] {
    refuse_input();
  } else if (held) {
    parts_.core.held.consume(used);
  } else {
    hold(rest.data(), rest.size());
  }
}

void Session::note_what_resumes() noexcept {
  const bool too_many = parts_.core.pauses.has(pause::in_flight);
  parts_.core.entry->wants_resume = parts_.core.waiting != 0 || parts_.core.pauses.has(kOfOperations);
  parts_.core.entry->resume_at = too_many ? parts_.meter.allowance().resume_at() : 0;
  if (parts_.core.pauses.has(pause::order) && parts_.core.entry->order.ranges_in_flight() > 0) {
    parts_.core.entry->resume_at = std::numeric_limits<std::uint32_t>::max();  // whenever a range has ended
  }
}

std::size_t Session::process(std::string_view data) {
  if (parts_.core.pauses.has(kUntilTold)) {
    return 0;
  }
  parts_.core.pauses.remove(kRetried);
  std::size_t used = 0;
  while (parts_.core.state.takes_input()) {
    if (parts_.core.state.is(session_state::watch)) {
      parts_.streams.pull_watched(parts_.core);
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
  if (used == data.size() && !parts_.core.pauses.has(kOfRoom | pause::order | pause::memory) &&
      !parts_.core.state.takes_without_input()) {
    parts_.core.pauses.remove(kPassing);  // nothing is left to take
  }
  return used;
}

// Pages of a dump or a report, and a complete batch, need no input to continue.
bool Session::ready_for_input() {
  if (parts_.core.state.is(session_state::dump)) {
    return parts_.streams.dump_ended(parts_.core, parts_.meter);
  }
  if (parts_.core.state.is(session_state::report)) {
    return parts_.streams.report_ended(parts_.core, parts_.meter);
  }
  return !parts_.core.state.is(session_state::batch) || parts_.batch.missing() > 0 ||
         parts_.batch.started(parts_.core);
}

std::size_t Session::take(std::string_view rest) {
  switch (parts_.core.state.current()) {
    case session_state::line:
      return !rest.empty() && parts_.meter.allowed(parts_.core) != 0 ? text_.take_line(parts_, rest) : 0;
    case session_state::keys:
      return parts_.meter.allowed(parts_.core) != 0 ? text_.take_keys(parts_, rest) : 0;
    case session_state::value:
      return parts_.values.take(parts_.core, parts_.launcher, parts_.batch, rest);
    case session_state::value_end:
      return parts_.values.take_end(parts_.core, parts_.launcher, parts_.batch, rest);
    case session_state::swallowing:
      return parts_.values.take_swallowed(parts_.core, parts_.batch, rest);
    case session_state::batch:
      return !rest.empty() && parts_.meter.may_take(parts_.core) ? TextIntake::take_batch_line(parts_, rest)
                                                                 : 0;
    case session_state::login:
      return !rest.empty() && parts_.meter.may_take(parts_.core) ? TextIntake::take_login(parts_, rest) : 0;
    case session_state::credentials:
      return parts_.core.pauses.has(pause::login)
                 ? 0
                 : parts_.login.take_credentials(parts_.core, parts_.meter, rest);
    case session_state::binary_login:
      return !rest.empty() && !parts_.core.pauses.has(pause::login) && parts_.meter.allowed(parts_.core) != 0
                 ? take_binary(parts_, rest)
                 : 0;
    case session_state::binary:
      return !rest.empty() && parts_.meter.allowed(parts_.core) != 0 ? take_binary(parts_, rest) : 0;
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
      TextIntake::leave(parts_.core, data);
      return data.size();
    case protocol::wire_protocol::binary:
      parts_.core.state.begin_binary();
      break;
    case protocol::wire_protocol::text:
      parts_.core.state.begin_text();
      break;
  }
  return take(data);
}

// Adds bytes to the held ones. If there is no room, the client gets an error and must leave.
void Session::hold(const char* data, std::size_t bytes) {
  MXKV_ASSERT(parts_.core.state.takes_input(), "a session that drains holds nothing");
  if (parts_.core.host->has_input_room(parts_.core.held.needs(bytes), unfinished_bytes(),
                                       *parts_.core.entry)) {
    parts_.core.held.append(data, bytes);
  } else {
    refuse_input();
  }
}

// The caller has taken this session out of the list in which it waited.
void Session::give_room() {
  MXKV_ASSERT(parts_.core.pauses.has(kOfRoom), "room is given to a session that waits for it");
  end_pause(kOfRoom);
}

// The caller has taken this session out of the list.
bool Session::judged() {
  if (!parts_.login.judged(parts_.core, parts_.meter)) {
    return false;
  }
  resume();
  return true;
}

// The caller has taken this session out of the list. If there is no room, the session is in it again.
bool Session::rate_has_room() {
  if (!parts_.meter.rate_has_room(parts_.core)) {
    return false;
  }
  resume();
  tell();
  return true;
}

// A session that drains has no more turns, but events that it waits for in a list of the host still come.
void Session::stop_taking() noexcept {
  MXKV_ASSERT(!parts_.core.state.takes_input(), "a session drops its input when it drains");
  parts_.values.drop(parts_.core);
  parts_.batch.drop(parts_.core);
  parts_.streams.stop(parts_.core);
  parts_.watches.leave(parts_.core);
  parts_.core.pauses.remove(kRetried | kOfAllowance);
  parts_.core.held.clear();
}

void Session::refuse_input() {
  parts_.core.refuse_input();
  stop_taking();
}

}  // namespace mxkv::server

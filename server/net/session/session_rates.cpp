// Session's functions for the rate limits of its user and its address.
//
// The session checks its rates when it asks how many requests it may take, once a turn. It draws the requests
// and bytes of the turn then, and when the turn ends. A session without room pauses; it gets no error.
#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/net/session/session.hpp"

namespace mxkv::server {

void Session::meter(Usage* client) noexcept {
  client_ = client;
  const bool before = std::exchange(metered_, (client_ != nullptr && client_->has_rates()) ||
                                                  (user() != nullptr && user()->usage->has_rates()));
  if (metered_ && !before) {
    charged_read_ = entry_->read_bytes;
    charged_written_ = entry_->replies.written_bytes();
    static_cast<void>(allowance_.take_uncharged());
  }
}

std::uint32_t Session::rate_room() const noexcept {
  const std::uint64_t now_ns = host_->worker.now_ns();
  std::uint64_t room = ~std::uint32_t{0};
  for (const Usage* const usage : {client_, user() == nullptr ? nullptr : user()->usage.get()}) {
    if (usage != nullptr) {
      room = std::min(room, usage->bytes.room(now_ns) == 0 ? 0 : usage->requests.room(now_ns));
    }
  }
  return static_cast<std::uint32_t>(room);
}

void Session::charge() noexcept {
  const std::uint64_t now_ns = host_->worker.now_ns();
  const std::uint64_t written = entry_->replies.written_bytes();
  const std::uint64_t bytes = (entry_->read_bytes - std::exchange(charged_read_, entry_->read_bytes)) +
                              (written - std::exchange(charged_written_, written));
  const std::uint32_t requests = allowance_.take_uncharged();
  for (Usage* const usage : {client_, user() == nullptr ? nullptr : user()->usage.get()}) {
    if (usage != nullptr) {
      usage->requests.draw(requests, now_ns);
      usage->bytes.draw(bytes, now_ns);
    }
  }
}

void Session::wait_for_rate() {
  MXKV_ASSERT(!pauses_.has(pause::rate), "a session waits in one list once");
  pauses_.add(pause::rate);
  host_->rate_waiters.push_back(entry_);
  ++host_->rate_pauses;
  const std::uint64_t now_ns = host_->worker.now_ns();
  std::uint64_t at_ns = now_ns;
  for (const Usage* const usage : {client_, user() == nullptr ? nullptr : user()->usage.get()}) {
    if (usage != nullptr) {
      for (const Rate* const rate : {&usage->requests, &usage->bytes}) {
        at_ns = rate->room(now_ns) == 0 ? std::max(at_ns, rate->next_ns()) : at_ns;
      }
    }
  }
  host_->rate_at_ns = std::min(host_->rate_at_ns, at_ns);
}

// The caller has taken this session out of the list. If there is no room, the session is in it again.
bool Session::rate_has_room() {
  MXKV_ASSERT(pauses_.has(pause::rate), "room is given to a session that waits for it");
  pauses_.remove(pause::rate);
  if (metered_ && state_.takes_input() && rate_room() == 0) {
    wait_for_rate();
    --host_->rate_pauses;
    return false;
  }
  entry_->asked_ns = host_->worker.now_ns();  // waiting for the rate does not count as a request's time
  resume();
  return true;
}

}  // namespace mxkv::server

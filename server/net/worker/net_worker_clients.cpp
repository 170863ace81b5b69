// NetWorker's functions for logins judged on another thread, and for rate limits.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "runtime/base/assert.hpp"
#include "server/net/worker/net_worker.hpp"

namespace mxkv::server {

void NetWorker::login_judged() noexcept {
  logins_judged_.store(true, std::memory_order_release);
  events_.wake();
}

void NetWorker::tell_judged() {
  for (ConnectionState* const entry : std::exchange(host_.logging_in, {})) {
    auto& connection = *static_cast<Connection*>(entry->owner);
    if (!connection.go_on().judged()) {
      host_.logging_in.push_back(entry);
    }
  }
}

// Looks at waiting sessions in order of arrival, one page a call, so that other connections have their turns
// between pages. If some of a page had room, the next page follows at once. Otherwise the next look is when a
// session of the page may have room, or after a millisecond if other sessions were not looked at. Sessions
// that have to wait on go to the end.
void NetWorker::give_rate_room() {
  constexpr std::uint64_t kNextPageNs = 1'000'000;
  std::vector<ConnectionState*>& waiters = host_.rate_waiters;
  const auto last =
      waiters.begin() + static_cast<std::ptrdiff_t>(std::min(waiters.size(), ClientTable::kPage));
  const std::vector<ConnectionState*> page(waiters.begin(), last);
  waiters.erase(waiters.begin(), last);
  const bool others = !waiters.empty();
  host_.rate_at_ns = others ? now_ns() + kNextPageNs : SessionHost::kNever;
  bool had_room = false;
  for (ConnectionState* const entry : page) {
    had_room = static_cast<Connection*>(entry->owner)->go_on().rate_has_room() || had_room;
  }
  if (others && had_room) {
    host_.rate_at_ns = 0;
  }
  counters_.rate_pauses.store(host_.rate_pauses, std::memory_order_relaxed);
}

std::size_t NetWorker::review() {
  std::size_t closed = 0;
  for (Connection* connection = connections_; connection != nullptr;) {
    Connection& each = *std::exchange(connection, connection->links.next);
    closed += each.review() ? 1U : 0U;
  }
  host_.rate_at_ns = 0;  // waiting sessions look again, because there may be more room now
  return closed;
}

}  // namespace mxkv::server

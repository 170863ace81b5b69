// NetWorker's functions: logins that were judged elsewhere, and how much clients may have a second.
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/net/net_worker.hpp"

namespace mxkv::server {

void NetWorker::login_judged() noexcept {
  logins_judged_.store(true, std::memory_order_release);
  events_.wake();
}

void NetWorker::tell_judged() {
  for (ConnectionState* const entry : std::exchange(host_.logging_in, {})) {
    auto& connection = *static_cast<Connection*>(entry->owner);
    if (!connection.judged()) {
      host_.logging_in.push_back(entry);
    }
  }
}

// In the order in which they came; those that have still to wait do so behind those that come.
void NetWorker::give_rate_room() {
  host_.rate_at_ns = SessionHost::kNever;
  for (ConnectionState* const entry : std::exchange(host_.rate_waiters, {})) {
    static_cast<void>(static_cast<Connection*>(entry->owner)->rate_has_room());
  }
  counters_.rate_pauses.store(host_.rate_pauses, std::memory_order_relaxed);
}

std::size_t NetWorker::review() {
  std::size_t closed = 0;
  for (Connection* connection = connections_; connection != nullptr;) {
    Connection& each = *std::exchange(connection, connection->next_);
    closed += each.review() ? 1U : 0U;
  }
  host_.rate_at_ns = 0;  // who waits looks again: there may be more room than there was
  return closed;
}

}  // namespace mxkv::server

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

ConnectionFacts::doing NetWorker::doing_of(const Connection& connection) const noexcept {
  using enum ConnectionFacts::doing;
  if (connection.socket_ == host_.asks.load(std::memory_order_relaxed)) {
    return asks;
  }
  if (connection.output_waits_) {
    return sends;
  }
  switch (connection.client_.state.load(std::memory_order_relaxed)) {
    case session_state::value:
    case session_state::value_end:
    case session_state::credentials:
      return takes_value;
    case session_state::swallowing:
      return swallows;
    case session_state::watch:
      return watches;
    default:
      return reads;
  }
}

std::vector<ConnectionFacts> NetWorker::connection_facts(std::uint64_t now_ns) const {
  constexpr std::uint64_t kSecondNs = 1'000'000'000;
  std::vector<ConnectionFacts> found;
  const auto add = [&](int socket, std::uint64_t read_ns, ConnectionFacts::doing state, const auto& tls) {
    ConnectionFacts& facts = found.emplace_back(facts_of_socket(socket));
    facts.tls = tls;
    facts.state = state;
    facts.idle_seconds = now_ns > read_ns ? (now_ns - read_ns) / kSecondNs : 0;
    facts.worker = host_.worker.id().value();
  };
  const std::scoped_lock lock{connections_mutex_};
  for (Connection* connection = connections_; connection != nullptr; connection = connection->next_) {
    add(connection->socket_, connection->client_.read_ns.load(std::memory_order_relaxed),
        doing_of(*connection), connection->tls_facts_);
  }
  for (const Departed& departed : departed_) {
    add(departed.socket, departed.read_ns, ConnectionFacts::doing::reads, departed.tls);
  }
  return found;
}

}  // namespace mxkv::server

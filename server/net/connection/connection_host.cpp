#include "server/net/connection/connection_host.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/net/connection/connection.hpp"
#include "server/net/observe/version.hpp"
#include "server/net/tls/tls_stream.hpp"

namespace mxkv::server {

ConnectionHost::ConnectionHost(NetShared& shared, runtime::Worker& worker, SessionStore& store,
                               ConnectionTable& directory, BlockPool& input,
                               const config::LimitOptions& limits, AdminSource& admin,
                               Credentials& credentials)
    : shared_(shared),
      limits_(limits),
      host_{worker, store, directory, input, limits_, kVersionLine, &admin, &credentials} {}

void ConnectionHost::refused_input() {
  NetCounters::add(counters_.input_full);
}

void ConnectionHost::make_ready(Connection& connection) noexcept {
  ready_act_ = true;
  wait_for_memory(connection);
}

// If all ready connections wait for memory, the worker may sleep between two rounds.
void ConnectionHost::wait_for_memory(Connection& connection) noexcept {
  MXKV_ASSERT(!connection.closed(), "a closed connection has no turn");
  if (connection.links.ready) {
    return;
  }
  connection.links.ready = true;
  connection.links.next_ready = nullptr;
  (first_ready_ == nullptr ? first_ready_ : last_ready_->links.next_ready) = &connection;
  last_ready_ = &connection;
}

void ConnectionHost::sending_waits(bool begins) noexcept {
  MXKV_ASSERT(begins || sending_waits_ > 0, "a wait ends once");
  begins ? ++sending_waits_ : --sending_waits_;
}

void ConnectionHost::wait_to_send(Connection& connection) {
  if (!std::exchange(connection.links.waits_to_send, true)) {
    send_turns_.wait(connection);
  }
}

void ConnectionHost::shook_hands(Client& client, const std::shared_ptr<const TlsFacts>& facts) {
  NetCounters::add(counters_.handshakes);
  NetCounters::add(counters_.tls_by_kernel, facts->by_kernel ? 1 : 0);
  shared_.connections.by_tls.fetch_add(1, std::memory_order_relaxed);
  shakes_hands_no_more();
  shared_.clients.set_tls(client, facts);
}

std::size_t ConnectionHost::keep_tls_buffers(ClientSocket& socket) {
  std::size_t given = 0;
  keep_tls_buffers_.add(socket, host_.input.share().bytes() / TlsStream::kBuffersBytes,
                        [&given](ClientSocket& other) { given += other.give_buffers(); });
  return given;
}

void ConnectionHost::keeps_no_tls_buffers(ClientSocket& socket) noexcept {
  keep_tls_buffers_.remove(socket);
}

void ConnectionHost::ended_tls() noexcept {
  shared_.connections.by_tls.fetch_sub(1, std::memory_order_relaxed);
}

void ConnectionHost::shakes_hands_no_more() noexcept {
  MXKV_ASSERT(handshakes_ > 0, "a handshake ends once");
  --handshakes_;
}

// Among idle clients, those that never sent a request go first. A client that sent something within the last
// second is not idle. One walk over all connections serves many newcomers.
Connection* ConnectionHost::idlest_with_tls() {
  using Idle = std::pair<bool, std::uint64_t>;
  const auto idle = [](const Connection& one) {
    return Idle{one.client().requests.load(std::memory_order_relaxed) == 0,
                ~one.client().read_ns.load(std::memory_order_relaxed)};
  };
  const auto next = [&]() -> Connection* {
    while (const auto first = idle_with_tls_.take()) {
      if (first->second->idles_with_tls(now_ns()) && idle(*first->second) == first->first) {
        return first->second;
      }
    }
    return nullptr;
  };
  if (Connection* const known = next(); known != nullptr) {
    return known;
  }
  ++walks_;
  std::vector<std::pair<Idle, Connection*>> found;
  for (Connection* connection = connections_; connection != nullptr; connection = connection->links.next) {
    if (connection->idles_with_tls(now_ns())) {
      found.emplace_back(idle(*connection), connection);
    }
  }
  idle_with_tls_.fill(std::move(found));
  return next();
}

// If no client is idle, the newcomer waits.
bool ConnectionHost::has_tls_room() {
  constexpr std::size_t kTlsParts = 8;
  constexpr std::size_t kLeastConnections = 128;
  const std::size_t share = host_.worker.runtime().budget().limit_bytes() / kTlsParts;
  if (shared_.connections.by_tls.load(std::memory_order_relaxed) <
      std::max(kLeastConnections, share / TlsStream::kIdleBytes)) {
    return true;
  }
  if (now_ns() < next_tls_look_ns_) {
    return false;
  }
  Connection* const idlest = idlest_with_tls();
  if (idlest == nullptr) {
    next_tls_look_ns_ = now_ns() + Admission::kLookEveryNs;
    return false;
  }
  NetCounters::add(counters_.idle_closed);
  host_.happenings->note(happening::closed_idle,
                         {.client = idlest->client_name(),
                          .text = ": idle for longest, and new TLS connections need its memory"});
  idlest->close();
  return true;
}

void ConnectionHost::holds_output(Connection& connection) {
  held_.push_back(&connection);
  note_waits();
}

void ConnectionHost::wait_for_journal(Connection& connection) {
  NetCounters::add(counters_.journal_pauses);
  journal_waiters_.push_back(&connection);
  connection.pauses_reading();
  note_waits();
}

void ConnectionHost::leave_gate(Connection& connection, bool holds, bool waits) {
  if (holds) [[unlikely]] {
    std::erase(held_, &connection);
  }
  if (waits) [[unlikely]] {
    std::erase(journal_waiters_, &connection);
  }
  if (holds || waits) [[unlikely]] {
    note_waits();
  }
}

void ConnectionHost::note_waits() {
  counters_.held.store(held_.size(), std::memory_order_relaxed);
  const bool waits = !held_.empty() || !journal_waiters_.empty();
  if (std::exchange(told_waits_, waits) != waits) {
    disk()->waits(host_.worker.id(), waits);
  }
}

void ConnectionHost::link(Connection& connection) noexcept {
  connection.links.next = connections_;
  if (connections_ != nullptr) {
    connections_->links.previous = &connection;
  }
  connections_ = &connection;
}

void ConnectionHost::unlist(Connection& connection) noexcept {
  const ConnectionLinks& links = connection.links;
  MXKV_ASSERT(links.previous != nullptr || connections_ == &connection, "a connection is listed");
  idle_with_tls_.forget(connection);
  most_input_.forget(connection);
  (links.previous == nullptr ? connections_ : links.previous->links.next) = links.next;
  if (links.next != nullptr) {
    links.next->links.previous = links.previous;
  }
}

void ConnectionHost::delete_later(Connection& connection) {
  MXKV_ASSERT(connection.closed(), "only a closed connection is deleted");
  MXKV_ASSERT(load_.load(std::memory_order_relaxed) > 0, "a connection was counted when it came");
  load_.fetch_sub(1, std::memory_order_relaxed);
  shared_.connections.open.fetch_sub(1, std::memory_order_relaxed);
  closed_.push_back(&connection);
}

void ConnectionHost::delete_closed() {
  std::erase_if(closed_, [](Connection* connection) {
    if (!connection->deletable()) {
      return false;
    }
    delete connection;
    return true;
  });
}

void ConnectionHost::leaves_no_more(Connection& connection) {
  std::erase(leaving_, &connection);
}

}  // namespace mxkv::server

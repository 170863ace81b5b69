#include "server/net/connection/client_table.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "server/net/observe/connection_facts.hpp"

namespace mxkv::server {

namespace {
void set_rates(Usage& usage, const config::LimitOptions& limits) noexcept {
  usage.requests.set(limits.requests_per_client);
  usage.bytes.set(limits.bytes_per_client);
}
}  // namespace

namespace {
ConnectionFacts::doing doing_of(const Client& client, int asker) noexcept {
  using enum ConnectionFacts::doing;
  if (client.socket == asker) {
    return asks;
  }
  if (client.sends.load(std::memory_order_relaxed)) {
    return sends;
  }
  switch (client.state.load(std::memory_order_relaxed)) {
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
}  // namespace

ConnectionFacts facts_of(const Client& client, std::uint64_t now_ns, int asker) {
  constexpr std::uint64_t kSecondNs = 1'000'000'000;
  const std::uint64_t read_ns = client.read_ns.load(std::memory_order_relaxed);
  return {.descriptor = client.socket,
          .peer = client.peer,
          .own = client.own,
          .state = doing_of(client, asker),
          .idle_seconds = now_ns > read_ns ? (now_ns - read_ns) / kSecondNs : 0,
          .worker = client.worker.load(std::memory_order_relaxed),
          .tls = client.tls};
}

Client* ClientTable::open(int socket, std::uint64_t now_ns, const config::LimitOptions& limits) {
  const std::scoped_lock lock{mutex_};
  return add(socket, now_ns, limits, false);
}

Client& ClientTable::of(int socket, std::uint64_t now_ns, const config::LimitOptions& limits) {
  const std::scoped_lock lock{mutex_};
  const auto at = by_socket_.find(socket);
  return at != by_socket_.end() ? *at->second : *add(socket, now_ns, limits, true);
}

// Forgets addresses that have no connections and whose rate buckets are full.
void ClientTable::sweep(std::uint64_t now_ns) {
  std::erase_if(by_address_, [now_ns](const auto& each) {
    const Usage& usage = *each.second;
    return usage.connections.load(std::memory_order_relaxed) == 0 && usage.requests.rests(now_ns) &&
           usage.bytes.rests(now_ns);
  });
  sweep_at_ = std::max(kLeastSweep, 2 * by_address_.size());
}

// Under the lock. `any`: adds the connection even over the limit.
Client* ClientTable::add(int socket, std::uint64_t now_ns, const config::LimitOptions& limits, bool any) {
  ConnectionFacts facts = facts_of_socket(socket);
  auto client = std::make_unique<Client>();
  if (std::string address = client_of(facts.peer); !address.empty()) {
    if (by_address_.size() >= sweep_at_) {
      sweep(now_ns);
    }
    std::shared_ptr<Usage>& usage = by_address_[std::move(address)];
    if (usage == nullptr) {
      usage = std::make_shared<Usage>();
      set_rates(*usage, limits);
    }
    if (!usage->begin_connection(any ? 0 : limits.connections_per_client)) {
      return nullptr;
    }
    client->usage = usage;
  }
  client->id = ++last_id_;
  client->socket = socket;
  client->peer = std::move(facts.peer);
  client->own = std::move(facts.own);
  client->opened_ns = now_ns;
  client->read_ns.store(now_ns, std::memory_order_relaxed);
  by_id_.emplace(client->id, client.get());
  return (by_socket_[socket] = std::move(client)).get();
}

void ClientTable::close(int socket) noexcept {
  const std::scoped_lock lock{mutex_};
  const auto at = by_socket_.find(socket);
  if (at == by_socket_.end()) {
    return;
  }
  if (Usage* const usage = at->second->usage.get(); usage != nullptr) {
    usage->end_connection();
    if (usage->connections.load(std::memory_order_relaxed) == 0 && !usage->has_rates()) {
      by_address_.erase(client_of(at->second->peer));
    }
  }
  by_id_.erase(at->second->id);
  by_socket_.erase(at);
}

// Addresses without connections keep their buckets until sweep(): otherwise a client that connects anew would
// get a second's worth each time.
void ClientTable::set_limits(const config::LimitOptions& limits) {
  const std::scoped_lock lock{mutex_};
  for (auto& [address, usage] : by_address_) {
    set_rates(*usage, limits);
  }
}

void ClientTable::set_user(Client& client, std::string_view user) {
  const std::scoped_lock lock{mutex_};
  client.user = user;
}

void ClientTable::set_tls(Client& client, std::shared_ptr<const TlsFacts> facts) {
  const std::scoped_lock lock{mutex_};
  client.tls = std::move(facts);
}

bool ClientTable::set_name(Client& client, std::string_view name) {
  const bool good =
      name.size() <= kMostNameBytes && std::ranges::all_of(name, [](char c) { return c > ' ' && c < 0x7f; });
  if (good) {
    const std::scoped_lock lock{mutex_};
    client.name = name;
  }
  return good;
}

std::uint64_t ClientTable::walk(std::uint64_t after, const std::function<void(const Client&)>& f) const {
  const std::scoped_lock lock{mutex_};
  auto at = by_id_.upper_bound(after);
  for (std::size_t met = 0; at != by_id_.end(); ++at, ++met) {
    if (met == kPage) {
      return after;
    }
    f(*at->second);
    after = at->first;
  }
  return 0;
}

// Under the lock. The socket is still open, because close() is called before the socket is closed.
void ClientTable::end(Client& client) noexcept {
  client.killed.store(true, std::memory_order_release);
  ::shutdown(client.socket, SHUT_RDWR);
}

std::uint64_t ClientTable::kill(std::uint64_t after, const std::function<bool(const Client&)>& f) {
  return walk(after, [this, &f](const Client& client) {
    if (!client.killed.load(std::memory_order_relaxed) && f(client)) {
      end(*by_socket_.at(client.socket));
    }
  });
}

bool ClientTable::kill_one(std::uint64_t id) {
  const std::scoped_lock lock{mutex_};
  const auto at = by_id_.find(id);
  if (at == by_id_.end() || at->second->killed.load(std::memory_order_relaxed)) {
    return false;
  }
  end(*at->second);
  return true;
}

}  // namespace mxkv::server

#include "server/net/worker/net_worker.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/feed/feed.hpp"
#include "server/net/sockets/keepalive.hpp"

namespace mxkv::server {

namespace {

/// How often a sleeping worker retries connections that wait for memory.
constexpr std::uint64_t kMemoryAgainNs = 200'000;

/// How often a sleeping worker checks whether leaving connections rest.
constexpr std::uint64_t kLeavesAgainNs = 1'000'000;

/// How often unused task memory is given back at most: one burst is often followed by another.
constexpr std::uint64_t kTrimEveryNs = 100'000'000;

/// The store as sessions see it.
SessionStore& store_of(const NetShared& shared, Store& store) noexcept {
  return shared.cluster != nullptr ? static_cast<SessionStore&>(*shared.cluster) : store;
}

/// How long a worker sleeps at most until items expire. At least once a second it looks at the clock, because
/// debugtime may move that.
std::uint64_t sweep_wait_ns(std::uint64_t at_us, std::uint64_t now_us) noexcept {
  constexpr std::uint64_t kLeastUs = 1000;
  constexpr std::uint64_t kMostUs = 1'000'000;
  return std::clamp(at_us - std::min(at_us, now_us), kLeastUs, kMostUs) * 1000;
}

}  // namespace

NetWorker::NetWorker(NetShared& shared, runtime::Worker& worker, Store& store, ConnectionTable& directory,
                     BlockPool& input, const config::LimitOptions& limits, AdminSource& admin,
                     Credentials& credentials, const config::StatsOptions& stats)
    : ConnectionHost(shared, worker, store_of(shared, store), directory, input, limits, admin, credentials),
      store_(store),
      shortage_(worker.runtime().clock(), shared.connections, shared.log),
      balancer_(balance_peers(worker.runtime(), shared), worker.id().index(), shared.balance) {
  if (shared.disk != nullptr) {
    store.context(worker.id()).writes_wait = true;
    disk_.broken = shared.disk->broken();
    disk_.drops = shared.disk->drops();
  }
  if (shared.cluster != nullptr) {
    forwarder_ = std::make_unique<Forwarder>(*shared.cluster, worker, directory, store.happenings());
    if (!events_.add(forwarder_->events(), forwarder_->bell(), 0)) {
      throw std::system_error(errno, std::generic_category(), "other nodes among a worker's sockets");
    }
  }
  host_.watch_hub = &store.watch_hub();
  host_.herald = shared.feed == nullptr ? nullptr : &shared.feed->herald();
  host_.happenings = &store.happenings();
  host_.relief = this;
  host_.login_bell = this;
  host_.sampler.configure(stats, worker.runtime().clock(), shared.slow, worker.id().value(),
                          &store.happenings());
}

NetWorker::~NetWorker() {
  if (disk() != nullptr) {
    park();
  }
  while (connections_ != nullptr) {
    connections_->close();
  }
  for (Listener& listener : listeners_) {
    listener.close();
  }
  // Closed connections get no more turns.
  for (Connection* connection = first_ready_; connection != nullptr;
       connection = connection->links.next_ready) {
    connection->links.ready = false;
  }
  send_turns_.clear([](Connection& connection) { connection.links.waits_to_send = false; });
  delete_closed();
  MXKV_ASSERT(closed_.empty(), "closed connections are in no list");
}

void NetWorker::wake() noexcept {
  events_.wake();
}

void NetWorker::take_events() {
  const auto tell = [](Connection& connection, Readiness now) { connection.became_ready(now); };
  for (std::size_t taken = 0; taken < kMostTaken && events_.take(tell); ++taken) {
  }
}

bool NetWorker::poll(runtime::Worker& /*worker*/) {
  take_events();  // first, because from then on sockets may be closed
  if (disk() != nullptr) [[unlikely]] {
    begin_disk_round();
  }
  if (shared_.feed != nullptr) {
    begin_feed_round();
  }
  ++host_.turn;
  host_.directory.share().update_limit();
  host_.input.share().update_limit();
  if (balancer_.due(now_ns())) [[unlikely]] {
    balance();
  }
  if (forwarder_ != nullptr) [[unlikely]] {
    ready_act_ = forwarder_->poll() || ready_act_;
  }
  for (Listener& listener : listeners_) {
    listener.accept_waiting(now_ns());
  }
  if (now_ns() >= times_ns_) [[unlikely]] {
    check_times();
  }
  if (!host_.logging_in.empty() && logins_judged_.exchange(false, std::memory_order_acquire)) [[unlikely]] {
    tell_judged();
  }
  if (!host_.rate_waiters.empty() && now_ns() >= host_.rate_at_ns) [[unlikely]] {
    give_rate_room();
  }
  // Only connections that are ready now; if they become ready again, their turn comes in the next round.
  Connection* next = std::exchange(first_ready_, nullptr);
  Connection* const last = std::exchange(last_ready_, nullptr);
  const bool any = std::exchange(ready_act_, false);
  const std::uint64_t read_before = counters_.read_bytes.load(std::memory_order_relaxed);
  const auto reads_enough = [this, read_before] {
    return counters_.read_bytes.load(std::memory_order_relaxed) - read_before >= kReadARound;
  };
  for (std::size_t requests = 0; next != nullptr && requests < kRequestsARound && !reads_enough();) {
    Connection& connection = *std::exchange(next, next->links.next_ready);
    MXKV_ASSERT(connection.links.ready, "the list holds marked connections");
    connection.links.ready = false;
    if (!connection.closed()) {
      requests += connection.take_turn();
    }
  }
  if (next != nullptr) {  // the connections left over come first in the next round
    last->links.next_ready = first_ready_;
    last_ready_ = first_ready_ == nullptr ? last : last_ready_;
    first_ready_ = next;
    ready_act_ = true;
  }
  return any;
}

bool NetWorker::end_turn(runtime::Worker& worker) {
  bool any = false;
  store_.maintain(worker);
  if (forwarder_ != nullptr) [[unlikely]] {
    any = forwarder_->end_turn();
  }
  if (disk() != nullptr) [[unlikely]] {
    disk()->end_round(worker.id());
  }
  if (shared_.feed != nullptr) {
    shared_.feed->end_round(worker.id());
  }
  send_turns_.begin_round();
  while (ConnectionState* const entry = host_.directory.next_dirty()) {
    any = static_cast<Connection*>(entry->owner)->settle() || any;
  }
  if (send_turns_.any_waits()) [[unlikely]] {
    any = send_in_turn() || any;
  }
  host_.sampler.end_round();
  if (!host_.starved.empty() && host_.has_page_room()) [[unlikely]] {
    give_page_room();
    any = true;
  }
  if (host_.values.waiting() > 0) [[unlikely]] {
    any = admit(host_.values, host_.value_room()) || any;
  }
  if (host_.small_values.waiting() > 0) [[unlikely]] {
    any = admit(host_.small_values, host_.small_value_room()) || any;
  }
  if (host_.handshakes.waiting() > 0 && has_tls_room()) [[unlikely]] {
    any = admit(host_.handshakes, host_.handshake_room()) || any;
  }
  if (host_.input.share().is_short() || sending_waits_ > 0) [[unlikely]] {
    set_times();
  }
  tell_of_closed();
  if (worker.task_heap().wants_trim() && now_ns() >= next_trim_ns_) [[unlikely]] {
    next_trim_ns_ = now_ns() + kTrimEveryNs;
    worker.task_heap().trim();
  }
  if (!leaving_.empty()) [[unlikely]] {
    any = let_leave() || any;
  }
  if (!closed_.empty()) [[unlikely]] {
    delete_closed();
    any = any || !closed_.empty();
  }
  return any;
}

void NetWorker::block(runtime::Worker& worker, std::uint64_t timeout_ns) {
  if (ready_act_ || !closed_.empty() || host_.directory.any_dirty() || send_turns_.any_waits()) {
    return;
  }
  if (first_ready_ != nullptr) {
    timeout_ns = std::min(timeout_ns, kMemoryAgainNs);
  }
  if (!leaving_.empty()) {
    timeout_ns = std::min(timeout_ns, kLeavesAgainNs);
  }
  if (host_.values.waiting() + host_.small_values.waiting() + host_.handshakes.waiting() > 0) {
    timeout_ns = std::min(timeout_ns, Admission::kLookEveryNs);
  }
  if (!host_.rate_waiters.empty()) {
    timeout_ns = std::min(timeout_ns, host_.rate_at_ns - std::min(host_.rate_at_ns, now_ns()));
  }
  if (forwarder_ != nullptr) [[unlikely]] {
    timeout_ns = std::min(timeout_ns, forwarder_->most_sleep_ns());
  }
  if (told_waits_ && disk()->most_wait_ns() != 0) [[unlikely]] {
    timeout_ns = std::min(timeout_ns, kLateLookNs);
  }
  for (const Listener& listener : listeners_) {
    timeout_ns = std::min(timeout_ns, listener.most_wait_ns(now_ns()));
  }
  if (times_ns_ != kForever) {
    timeout_ns = std::min(timeout_ns, times_ns_ - std::min(times_ns_, now_ns()));
  }
  if (const std::uint64_t at_us = store_.sweep().wake_at_us(); at_us != ExpirySweep::kNever) [[unlikely]] {
    timeout_ns = std::min(timeout_ns, sweep_wait_ns(at_us, worker.now_us()));
  }
  if (worker.task_heap().wants_trim()) {
    timeout_ns = std::min(timeout_ns, kTrimEveryNs);
  }
  if (disk() != nullptr && !may_park()) [[unlikely]] {
    return;
  }
  if (shared_.feed != nullptr) {
    shared_.feed->park(worker.id());
  }
  if (tls_left_ > 0) [[unlikely]] {
    timeout_ns = std::min(timeout_ns, trim_system_memory());
  }
  events_.wait(timeout_ns);
}

// Returns true: as long as a connection is in the queue, the next round must come.
bool NetWorker::send_in_turn() {
  send_turns_.serve([](Connection& connection) {
    connection.links.waits_to_send = false;
    if (!connection.closed()) {
      static_cast<void>(connection.settle());
    }
  });
  return true;
}

void NetWorker::listen(int socket, SocketReceiver& receiver) {
  shortage_.keep_reserve();
  Listener& listener = listeners_.emplace_back(socket, shared_.connections, shortage_, limits_, receiver);
  if (!events_.add(socket, listener.bell(), EPOLLET)) {
    throw std::system_error(errno, std::generic_category(), "a listening socket among a worker's sockets");
  }
}

void NetWorker::set_limits(const config::LimitOptions& limits) {
  if (std::exchange(limits_, limits).keepalive_ms != limits.keepalive_ms) {
    for (Connection* connection = connections_; connection != nullptr; connection = connection->links.next) {
      set_keepalive(connection->descriptor(), limits.keepalive_ms);
    }
  }
  host_.take_limits();
  static_cast<void>(review());
  set_times();
}

void NetWorker::adopt(int socket, const Door& door) {
  MXKV_ASSERT(socket >= 0, "a socket that was accepted is open");
  auto* const connection = new Connection(*this, socket, door);
  link(*connection);
  if (door.tls != nullptr) {
    ++handshakes_;
  }
  adopted(*connection);
}

// The connection is already linked; adds it to the events.
void NetWorker::adopted(Connection& connection) {
  if (!events_.add(connection.descriptor(), connection)) {
    shared_.connections.starved.fetch_add(1, std::memory_order_relaxed);
    connection.close();
    return;
  }
  set_times();
  if (draining_) {
    connection.drain();
  }
}

void NetWorker::begin_feed_round() {
  const runtime::WorkerId id = host_.worker.id();
  shared_.feed->begin_round(id);
  if (shared_.feed->herald().has_news(id.index())) [[unlikely]] {
    pull_watches();
  }
}

void NetWorker::pull_watches() {
  for (const WatchRef& watch : shared_.feed->herald().take_news(host_.worker.id().index())) {
    if (watch->connection != nullptr) {
      auto& entry = *static_cast<ConnectionState*>(watch->connection);
      static_cast<Connection*>(entry.owner)->go_on().tell(*watch);
    }
  }
}

void NetWorker::pull_watched() {
  for (ConnectionState* const entry : host_.watching) {
    entry->owner->resume();
  }
}

void NetWorker::drain() {
  draining_ = true;
  for (Listener& listener : listeners_) {
    listener.close();
  }
  for (Connection* connection = connections_; connection != nullptr; connection = connection->links.next) {
    connection->drain();
  }
}

// A coarse clock. It runs only while a connection could time out, so an idle daemon does not wake up.
void NetWorker::set_times() {
  const config::LimitOptions& limits = limits_;
  const bool idle_matters = limits.idle_timeout_ms != 0 && connections_ != nullptr;
  if (times_ns_ != kForever ||
      (!idle_matters && sending_waits_ == 0 && handshakes_ == 0 && !host_.input.share().is_short())) {
    return;
  }
  std::uint32_t shortest_ms = limits.output_stall_ms;
  if (idle_matters) {
    shortest_ms = std::min(shortest_ms, limits.idle_timeout_ms);
  }
  if (handshakes_ > 0) {
    shortest_ms = std::min(shortest_ms, limits.handshake_ms);
  }
  times_ns_ = now_ns() + std::uint64_t{std::clamp(shortest_ms / 8, 10U, 1000U)} * 1'000'000;
}

void NetWorker::check_times() {
  times_ns_ = kForever;
  for (Connection* connection = connections_; connection != nullptr;) {
    std::exchange(connection, connection->links.next)->check_times(now_ns());
  }
  make_room();
  set_times();
}

}  // namespace mxkv::server

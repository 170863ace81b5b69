#include "server/net/worker/net_worker.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "runtime/base/assert.hpp"
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

/// How often a busy worker looks at listeners and timers.
constexpr std::uint64_t kContextEveryNs = 250'000;

}  // namespace

NetWorker::NetWorker(NetShared& shared, runtime::Worker& worker, Store& store, ConnectionTable& directory,
                     BlockPool& input, const config::LimitOptions& limits, AdminSource& admin,
                     Credentials& credentials, const config::StatsOptions& stats)
    : ConnectionHost(shared, worker, store_of(shared, store), directory, input, limits, admin, credentials),
      store_(store),
      context_(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE),
      context_stays_(context_.get_executor()),
      events_wait_(context_, events_.descriptor()),
      times_(context_),
      sweep_(context_),
      shortage_(worker.runtime().clock(), shared.connections, shared.log),
      balancer_(balance_peers(worker.runtime(), shared), worker.id().index(), shared.balance) {
  if (shared.disk != nullptr) {
    store.context(worker.id()).writes_wait = true;
    disk_.broken = shared.disk->broken();
  }
  if (shared.cluster != nullptr) {
    forwarder_ =
        std::make_unique<Forwarder>(*shared.cluster, worker, directory, context_, store.happenings());
  }
  host_.watch_hub = &store.watch_hub();
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
  events_wait_.release();
  if (forwarder_ != nullptr) {
    forwarder_->close();
  }
  times_.timer.cancel();
  sweep_.timer.cancel();
  // The contexts' waits refer to these objects until their handlers have run. Closed connections get no more
  // turns.
  for (Connection* connection = first_ready_; connection != nullptr;
       connection = connection->links.next_ready) {
    connection->links.ready = false;
  }
  send_turns_.clear([](Connection& connection) { connection.links.waits_to_send = false; });
  context_.poll();
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
  if (now_ns() >= next_context_ns_) {
    next_context_ns_ = now_ns() + kContextEveryNs;
    context_.poll();
    if (balancer_.due(now_ns())) [[unlikely]] {
      balance();
    }
  }
}

// The wait only wakes the worker. The next round takes the events.
void NetWorker::wait_for_events() {
  if (!std::exchange(events_awaited_, true)) {
    events_wait_.async_wait(
        Descriptor::wait_read,
        InPlaceHandler{&events_memory_,
                       [this](const boost::system::error_code& /*error*/) { events_awaited_ = false; }});
  }
}

bool NetWorker::poll(runtime::Worker& /*worker*/) {
  if (disk() != nullptr) [[unlikely]] {
    begin_disk_round();
  }
  ++host_.turn;
  host_.directory.share().update_limit();
  host_.input.share().update_limit();
  take_events();
  if (forwarder_ != nullptr) [[unlikely]] {
    ready_act_ = forwarder_->poll() || ready_act_;
  }
  for (Listener& listener : listeners_) {
    listener.accept_waiting();
  }
  if (times_due_) [[unlikely]] {
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
  for (std::size_t in_flight = 0; next != nullptr && in_flight < kRequestsARound && !reads_enough();) {
    Connection& connection = *std::exchange(next, next->links.next_ready);
    MXKV_ASSERT(connection.links.ready, "the list holds marked connections");
    connection.links.ready = false;
    if (!connection.closed()) {
      connection.take_turn();
      in_flight += connection.in_flight();
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
    arm_timer();
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
  arm_sweep_timer();
  if (worker.task_heap().wants_trim()) {
    timeout_ns = std::min(timeout_ns, kTrimEveryNs);
  }
  if (disk() != nullptr && !may_park()) [[unlikely]] {
    return;
  }
  if (tls_left_ > 0) [[unlikely]] {
    timeout_ns = std::min(timeout_ns, trim_system_memory());
  }
  wait_for_events();
  if (forwarder_ != nullptr) [[unlikely]] {
    forwarder_->wait();
  }
  if (timeout_ns == kForever) {
    context_.run_one();
  } else {
    context_.run_one_for(std::chrono::nanoseconds{timeout_ns});
  }
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
  listeners_.emplace_back(context_.get_executor(), socket, shared_.connections, shortage_, limits_, receiver)
      .wait();
}

void NetWorker::set_limits(const config::LimitOptions& limits) {
  if (std::exchange(limits_, limits).keepalive_ms != limits.keepalive_ms) {
    for (Connection* connection = connections_; connection != nullptr; connection = connection->links.next) {
      set_keepalive(connection->descriptor(), limits.keepalive_ms);
    }
  }
  host_.take_limits();
  static_cast<void>(review());
  arm_timer();
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
  arm_timer();
  if (draining_) {
    connection.drain();
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

// A coarse clock. It runs only while a connection could time out, so an idle daemon has no timer.
void NetWorker::arm_timer() {
  const config::LimitOptions& limits = limits_;
  const bool idle_matters = limits.idle_timeout_ms != 0 && connections_ != nullptr;
  if (times_.armed ||
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
  times_.armed = true;
  times_.timer.expires_after(std::chrono::milliseconds{std::clamp(shortest_ms / 8, 10U, 1000U)});
  times_.timer.async_wait(InPlaceHandler{&times_.memory, [this](const boost::system::error_code& error) {
                                           times_.armed = false;
                                           times_due_ = !error;
                                         }});
}

// Called before the worker sleeps, because items may expire meanwhile. Then it wakes the worker at least once
// a second, because debugtime may move the clock.
void NetWorker::arm_sweep_timer() {
  const std::uint64_t at_us = store_.sweep().wake_at_us();
  if (at_us == ExpirySweep::kNever || sweep_.armed) [[likely]] {
    return;
  }
  constexpr std::uint64_t kLeastUs = 1000;
  constexpr std::uint64_t kMostUs = 1'000'000;
  const std::uint64_t now_us = host_.worker.now_us();
  sweep_.armed = true;
  sweep_.timer.expires_after(
      std::chrono::microseconds{std::clamp(at_us - std::min(at_us, now_us), kLeastUs, kMostUs)});
  sweep_.timer.async_wait(InPlaceHandler{
      &sweep_.memory, [this](const boost::system::error_code& /*error*/) { sweep_.armed = false; }});
}

void NetWorker::check_times() {
  times_due_ = false;
  for (Connection* connection = connections_; connection != nullptr;) {
    std::exchange(connection, connection->links.next)->check_times(now_ns());
  }
  make_room();
  arm_timer();
}

}  // namespace mxkv::server

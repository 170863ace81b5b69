#include "server/net/worker/network.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "config/parse.hpp"
#include "server/net/sockets/arrival.hpp"
#include "server/net/worker/net_worker.hpp"

namespace mxkv::server {

namespace {

/// How long change() waits for new settings. A worker's round is short.
constexpr std::chrono::milliseconds kLookEvery{1};
constexpr int kLooksAtMost = 1000;

/// Carries an accepted socket to the worker that will own it.
class AdoptTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "adopt connection";
  AdoptTask(const runtime::TaskClass* task_class, NetWorker& net, int socket, const Door& door) noexcept
      : MxTask(task_class), net_(net), socket_(socket), door_(door) {}
  runtime::step execute(runtime::Worker& /*worker*/) {
    net_.adopt(socket_, door_);
    return runtime::step::done;
  }
  void discard(runtime::Worker& /*worker*/) { ::close(socket_); }

 private:
  NetWorker& net_;
  int socket_;
  const Door& door_;
};

class DrainTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "drain connections";
  DrainTask(const runtime::TaskClass* task_class, NetWorker& net) noexcept : MxTask(task_class), net_(net) {}
  runtime::step execute(runtime::Worker& /*worker*/) {
    net_.drain();
    return runtime::step::done;
  }

 private:
  NetWorker& net_;
};

/// Wakes a worker whose watchers have lines to send.
class WatchTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "send what is watched";
  WatchTask(const runtime::TaskClass* task_class, NetWorker& net) noexcept : MxTask(task_class), net_(net) {}
  runtime::step execute(runtime::Worker& /*worker*/) {
    net_.pull_watched();
    return runtime::step::done;
  }

 private:
  NetWorker& net_;
};

class SettingsTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "change settings";
  SettingsTask(const runtime::TaskClass* task_class, NetWorker& net, const Network::Settings& settings,
               std::atomic<std::uint64_t>& done) noexcept
      : MxTask(task_class), net_(net), settings_(settings), done_(done) {}
  runtime::step execute(runtime::Worker& /*worker*/) {
    net_.set_limits(settings_.limits);
    net_.host().sampler.change(settings_.stats);
    net_.set_balance(settings_.balance.mode);
    done_.fetch_add(1, std::memory_order_release);  // pairs with the acquire in change()
    return runtime::step::done;
  }

 private:
  NetWorker& net_;
  Network::Settings settings_;
  std::atomic<std::uint64_t>& done_;
};

/// The result of a review on all workers.
struct Review {
  std::atomic<std::uint64_t> closed{0};  // relaxed: read after the acquire of `done`
  std::atomic<std::uint64_t> done{0};    // the release in ReviewTask pairs with the acquire in review_users()
};

class ReviewTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "review users";
  ReviewTask(const runtime::TaskClass* task_class, NetWorker& net, const std::shared_ptr<Review>& review)
      : MxTask(task_class), net_(net), review_(new std::shared_ptr<Review>{review}) {}
  runtime::step execute(runtime::Worker& /*worker*/) {
    const std::unique_ptr<std::shared_ptr<Review>> review{review_};
    (*review)->closed.fetch_add(net_.review(), std::memory_order_relaxed);
    (*review)->done.fetch_add(1, std::memory_order_release);
    return runtime::step::done;
  }
  void discard(runtime::Worker& /*worker*/) { delete review_; }

 private:
  NetWorker& net_;
  std::shared_ptr<Review>* review_;  ///< a pointer, since tasks are not destroyed
};

/// For workers whose sockets are gone: they run no more, but are still told to stop. Has no state.
class NoPoller final : public runtime::Poller {
 public:
  bool poll(runtime::Worker& /*worker*/) override { return false; }
  bool end_turn(runtime::Worker& /*worker*/) override { return false; }
  void block(runtime::Worker& /*worker*/, std::uint64_t /*timeout_ns*/) override {}
  void wake() noexcept override {}
};

}  // namespace

struct Network::Parts {
  Parts(runtime::Runtime& runtime_, const Settings& settings_, const config::BalanceOptions& balance,
        WarningSink& log, CommitGate* disk, ClusterStore* cluster, Feed* feed, Credentials& credentials_)
      : runtime(runtime_),
        credentials(credentials_),
        shared{.log = log, .disk = disk, .cluster = cluster, .feed = feed, .balance = balance},
        accept(balance.accept),
        arrivals(runtime_.options()),
        settings(settings_) {}

  /// Gives a listener's sockets to the workers of its node. If it has none, to the workers of the node on which
  /// a socket's packets arrive, or else to all.
  class Servers final : public SocketReceiver {
   public:
    Servers(Parts& parts, const config::ListenAddress& address, std::shared_ptr<const TlsContext> tls,
            bool for_peers)
        : parts_(parts),
          visitor_(visitor_of(address.role)),
          tls_(tls == nullptr
                   ? nullptr
                   : std::make_unique<TlsDoor>(*address.tls, std::move(tls), config::format_listen(address))),
          door_{.asks_login = address.auth != config::listener_auth::none,
                .node = address.node,
                .peer = for_peers,
                .takes_stale = address.reads == config::listener_reads::replica,
                .visitor = visitor_ == nullptr ? nullptr : &visitor_,
                .tls = tls_.get()},
          workers_(parts.workers_of(address.node)) {}
    /// Null: the listener speaks no TLS.
    [[nodiscard]] TlsDoor* tls() const noexcept { return tls_.get(); }
    void accepted(int socket) override {
      const std::vector<NetWorker*>* const near = door_.node ? nullptr : parts_.workers_near(socket);
      parts_.hand_over(near == nullptr ? workers_ : *near, socket, door_);
    }
    /// The limit is for clients. They must not keep other nodes out, which are few.
    [[nodiscard]] bool is_limited() const noexcept override { return !door_.peer; }
    [[nodiscard]] bool admits(int socket) override {
      NetWorker& acceptor = parts_.workers.front();
      config::LimitOptions limits = acceptor.limits();
      limits.connections_per_client = door_.peer ? 0 : limits.connections_per_client;
      return acceptor.clients().open(socket, acceptor.now_ns(), limits) != nullptr;
    }
    void refused(int socket, bool by_address) override {
      Happenings& happenings = *parts_.workers.front().host().happenings;
      if (by_address) {
        happenings.note(happening::too_many_of_client, {.client = client_of(facts_of_socket(socket).peer)});
      } else {
        happenings.note(happening::too_many_connections);
      }
    }

   private:
    Parts& parts_;
    const std::shared_ptr<const User> visitor_;  ///< null: clients that do not log in may do all
    const std::unique_ptr<TlsDoor> tls_;
    const Door door_;  ///< connections point to this
    std::vector<NetWorker*> workers_;
  };

  /// Workers that may serve the clients of a listener of `node` (the system's number; none: all workers).
  [[nodiscard]] std::vector<NetWorker*> workers_of(std::optional<std::uint32_t> node) {
    const std::vector<std::uint32_t>& os_nodes = runtime.options().os_nodes;
    std::vector<NetWorker*> found;
    for (NetWorker& net : workers) {
      if (!node || os_nodes.empty() || os_nodes[net.host().worker.node().index()] == *node) {
        found.push_back(&net);
      }
    }
    MXKV_ASSERT(!found.empty(), "a listener's node has workers");
    return found;
  }

  /// Workers of the node on which the socket's packets arrive; null: unknown, or the mode does not ask for
  /// it.
  [[nodiscard]] const std::vector<NetWorker*>* workers_near(int socket) {
    const std::optional<runtime::NumaNodeId> node =
        accept.load(std::memory_order_relaxed) == config::accept_mode::node ? arrivals.of(socket)
                                                                            : std::nullopt;
    if (!node || node->index() >= by_node.size() || by_node[node->index()].empty()) {
      return nullptr;
    }
    shared.connections.near.fetch_add(1, std::memory_order_relaxed);
    return &by_node[node->index()];
  }

  /// Gives an accepted socket to the worker with the fewest connections.
  void hand_over(const std::vector<NetWorker*>& to, int socket, const Door& door) {
    NetWorker& least = **std::ranges::min_element(
        to, {}, [](NetWorker* net) { return net->load().load(std::memory_order_relaxed); });
    least.load().fetch_add(1, std::memory_order_relaxed);
    runtime::Worker& acceptor = runtime.worker(runtime::WorkerId{0});
    auto* const task = acceptor.create<AdoptTask>(least, socket, door);
    task->annotate(least.host().worker.id());
    acceptor.spawn(task);
  }

  void listen(std::vector<ListenSocket> more, bool for_peers) {
    for (ListenSocket& socket : more) {
      Servers& server = servers.emplace_back(*this, socket.address(), socket.tls(), for_peers);
      ConnectionFacts& facts = listening.emplace_back();
      facts.descriptor = socket.descriptor();
      facts.own = facts_of_socket(socket.descriptor()).own;
      workers.front().listen(socket.release(), server);
      sockets.push_back(std::move(socket));
    }
  }

  runtime::Runtime& runtime;
  Credentials& credentials;
  NetShared shared;
  std::deque<BlockPool> input_pools;
  std::deque<Servers> servers;  ///< one for each socket; listeners and connections point to them
  std::deque<NetWorker> workers;
  std::vector<std::vector<NetWorker*>> by_node;  ///< the same workers
  std::atomic<config::accept_mode> accept;       ///< relaxed: applies to sockets that come later
  ArrivalNodes arrivals;
  std::vector<const RequestSampler*> samplers;  ///< of the workers
  std::vector<ListenSocket> sockets;            ///< the acceptor owns their descriptors
  std::vector<ConnectionFacts> listening;       ///< facts of those
  mutable std::mutex mutex;                     ///< guards settings, which are rarely read here
  Settings settings;
  std::atomic<std::uint64_t> settings_set{0};  ///< how often a worker applied settings
  std::uint64_t settings_sent = 0;             ///< how often settings were sent to a worker
};

Network::Network(runtime::Runtime& runtime, std::span<const std::unique_ptr<WorkerReplies>> replies,
                 Store& store, const config::LimitOptions& limits, AdminSource& admin,
                 Credentials& credentials, const config::StatsOptions& stats,
                 const config::BalanceOptions& balance, WarningSink& log, CommitGate* disk,
                 ClusterStore* cluster, Feed* feed)
    : parts_(std::make_unique<Parts>(runtime, Settings{limits, stats, balance}, balance, log, disk, cluster,
                                     feed, credentials)) {
  for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
    parts_->shared.delays.emplace_back();
  }
  for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
    runtime::Worker& worker = runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)});
    ConnectionTable& directory = replies[i]->directory;
    BlockPool& input = parts_->input_pools.emplace_back(runtime.budget(), worker.account(),
                                                        runtime::memory_category::buffers,
                                                        kInputParts * runtime.worker_count());
    NetWorker& net = parts_->workers.emplace_back(parts_->shared, worker, store, directory, input, limits,
                                                  admin, credentials, stats);
    parts_->shared.workers.push_back(&net);
    parts_->by_node.resize(std::max(parts_->by_node.size(), worker.node().index() + 1));
    parts_->by_node[worker.node().index()].push_back(&net);
    parts_->samplers.push_back(&net.host().sampler);
    store.watch_hub().add_waker({&net, [](void* context, runtime::Worker& from) {
                                   auto& to = *static_cast<NetWorker*>(context);
                                   auto* const task = from.create<WatchTask>(to);
                                   task->annotate(to.host().worker.id());
                                   from.spawn(task);
                                 }});
    store.context(worker.id()).replies = &directory;
    worker.set_poller(net);
  }
}

Network::~Network() {
  parts_->credentials.stop();
  static NoPoller none;
  for (NetWorker& net : parts_->workers) {
    net.host().worker.set_poller(none);
  }
}

void Network::listen(std::vector<ListenSocket> sockets) {
  parts_->listen(std::move(sockets), false);
}

void Network::listen_for_peers(ListenSocket socket) {
  std::vector<ListenSocket> sockets;
  sockets.push_back(std::move(socket));
  parts_->listen(std::move(sockets), true);
  for (NetWorker& net : parts_->workers) {
    net.set_peer_tls(parts_->servers.back().tls());
  }
}

bool Network::change(const Settings& settings) {
  parts_->shared.clients.set_limits(settings.limits);
  {
    const std::scoped_lock lock{parts_->mutex};
    parts_->settings = settings;
  }
  parts_->accept.store(settings.balance.accept, std::memory_order_relaxed);
  for (NetWorker& net : parts_->workers) {
    ++parts_->settings_sent;
    parts_->runtime.submit(parts_->runtime.create_outside<SettingsTask>(net, settings, parts_->settings_set),
                           net.host().worker.id());
  }
  const auto holds = [this] {
    return parts_->settings_set.load(std::memory_order_acquire) == parts_->settings_sent;
  };
  for (int look = 0; look < kLooksAtMost && !holds(); ++look) {
    std::this_thread::sleep_for(kLookEvery);
  }
  return holds();
}

std::size_t Network::review_users() {
  const auto review = std::make_shared<Review>();
  for (NetWorker& net : parts_->workers) {
    parts_->runtime.submit(parts_->runtime.create_outside<ReviewTask>(net, review), net.host().worker.id());
  }
  for (int look = 0;
       look < kLooksAtMost && review->done.load(std::memory_order_acquire) < parts_->workers.size(); ++look) {
    std::this_thread::sleep_for(kLookEvery);
  }
  return review->closed.load(std::memory_order_relaxed);
}

ClientTable& Network::clients() noexcept {
  return parts_->shared.clients;
}

Network::Settings Network::settings() const {
  const std::scoped_lock lock{parts_->mutex};
  return parts_->settings;
}

std::vector<TlsDoor*> Network::tls_doors() const {
  std::vector<TlsDoor*> doors;
  for (const Parts::Servers& servers : parts_->servers) {
    if (servers.tls() != nullptr) {
      doors.push_back(servers.tls());
    }
  }
  return doors;
}

void Network::wake(std::size_t worker) noexcept {
  parts_->workers[worker].wake();
}

void Network::drain() {
  parts_->credentials.hurry();
  for (ListenSocket& socket : parts_->sockets) {
    socket.remove_file();
  }
  for (NetWorker& net : parts_->workers) {
    parts_->runtime.submit(parts_->runtime.create_outside<DrainTask>(net), net.host().worker.id());
  }
}

bool Network::drained() const noexcept {
  return parts_->shared.connections.open.load(std::memory_order_relaxed) == 0;
}

NetStats Network::stats() const noexcept {
  const auto get = [](const std::atomic<std::uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  NetStats sum;
  for (const NetWorker& net : parts_->workers) {
    const NetCounters& counters = net.counters();
    sum.read_bytes += get(counters.read_bytes);
    sum.written_bytes += get(counters.written_bytes);
    sum.yields += get(counters.yields);
    sum.moved_connections += get(counters.taken_in);
    sum.stalled += get(counters.stalled);
    sum.idle_closed += get(counters.idle_closed);
    sum.output_full += get(counters.output_full);
    sum.input_full += get(counters.input_full);
    sum.journal_pauses += get(counters.journal_pauses);
    sum.journal_closed += get(counters.journal_closed);
    sum.rate_pauses += get(counters.rate_pauses);
    sum.held += get(counters.held);
    sum.handshakes += get(counters.handshakes);
    sum.handshake_errors += get(counters.handshake_errors);
    sum.tls_by_kernel += get(counters.tls_by_kernel);
  }
  const ConnectionCounters& connections = parts_->shared.connections;
  sum.open_connections = get(connections.open);
  sum.tls_connections = get(connections.by_tls);
  sum.total_connections = get(connections.total);
  sum.near_connections = get(connections.near);
  sum.rejected_connections = get(connections.rejected);
  sum.crowded_connections = get(connections.crowded);
  sum.starved_connections = get(connections.starved);
  sum.accepting = connections.accepting.load(std::memory_order_relaxed);
  sum.shortages = get(connections.shortages);
  sum.shortage_us = get(connections.shortage_us);
  return sum;
}

const std::vector<const RequestSampler*>& Network::samplers() const noexcept {
  return parts_->samplers;
}

const SlowLog& Network::slow_log() const noexcept {
  return parts_->shared.slow;
}

std::vector<ConnectionFacts> Network::connections(AdminCursor& cursor) const {
  const std::uint64_t now_ns = parts_->runtime.clock().monotonic_ns();
  std::vector<ConnectionFacts> page;
  if (cursor.after == 0) {
    page = parts_->listening;
  }
  cursor.after = parts_->shared.clients.walk(
      cursor.after, [&](const Client& client) { page.push_back(facts_of(client, now_ns, cursor.asker)); });
  cursor.more = cursor.after != 0;
  return page;
}

std::vector<std::uint64_t> Network::connections_by_worker() const {
  std::vector<std::uint64_t> counts;
  for (NetWorker& net : parts_->workers) {
    counts.push_back(net.load().load(std::memory_order_relaxed));
  }
  return counts;
}

void Network::forget_samples() {
  parts_->shared.slow.clear();
  for (NetWorker& net : parts_->workers) {
    net.host().sampler.hot_keys().clear();
  }
}

}  // namespace mxkv::server

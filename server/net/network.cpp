#include "server/net/network.hpp"

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "server/net/net_worker.hpp"

namespace mxkv::server {

namespace {

/// Carries an accepted socket to the worker that will own it.
class AdoptTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "adopt connection";
  AdoptTask(const runtime::TaskClass* task_class, NetWorker& net, int socket) noexcept
      : MxTask(task_class), net_(net), socket_(socket) {}
  runtime::step execute(runtime::Worker& /*worker*/) {
    net_.adopt(socket_);
    return runtime::step::done;
  }
  void discard(runtime::Worker& /*worker*/) { ::close(socket_); }

 private:
  NetWorker& net_;
  int socket_;
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
  Parts(runtime::Runtime& runtime_, const config::LimitOptions& limits) : runtime(runtime_) {
    shared.limits = limits;
  }

  void accepted(int socket) {
    NetWorker& least = *std::min_element(workers.begin(), workers.end(), [](NetWorker& a, NetWorker& b) {
      return a.load().load(std::memory_order_relaxed) < b.load().load(std::memory_order_relaxed);
    });
    least.load().fetch_add(1, std::memory_order_relaxed);
    runtime::Worker& acceptor = runtime.worker(runtime::WorkerId{0});
    auto* const task = acceptor.create<AdoptTask>(least, socket);
    task->annotate(least.host().worker.id());
    acceptor.spawn(task);
  }

  runtime::Runtime& runtime;
  NetShared shared;
  std::deque<BlockPool> input_pools;
  std::deque<NetWorker> workers;
};

Network::Network(runtime::Runtime& runtime, std::span<const std::unique_ptr<WorkerReplies>> replies,
                 Store& store, const config::LimitOptions& limits, StatsSource stats)
    : parts_(std::make_unique<Parts>(runtime, limits)) {
  for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
    runtime::Worker& worker = runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)});
    ReplyDirectory& directory = replies[i]->directory;
    BlockPool& input = parts_->input_pools.emplace_back(runtime.budget(), worker.account(),
                                                        runtime::memory_category::buffers);
    NetWorker& net = parts_->workers.emplace_back(parts_->shared, worker, store, directory, input, stats);
    store.context(worker.id()).replies = &directory;
    directory.set_hooks(
        {&worker,
         [](void* context, runtime::MxTask* task) { static_cast<runtime::Worker*>(context)->spawn(task); },
         [](void* session) { static_cast<Connection*>(session)->resume(); }});
    worker.set_poller(net);
  }
}

Network::~Network() {
  static NoPoller none;
  for (NetWorker& net : parts_->workers) {
    net.host().worker.set_poller(none);
  }
}

runtime::Result<std::vector<config::ListenAddress>> Network::listen(
    std::span<const config::ListenAddress> addresses) {
  std::vector<config::ListenAddress> bound(addresses.begin(), addresses.end());
  NetWorker& acceptor = parts_->workers.front();
  for (config::ListenAddress& address : bound) {
    const runtime::Result<std::uint16_t> port = acceptor.listen(
        address,
        {parts_.get(), [](void* parts, int socket) { static_cast<Parts*>(parts)->accepted(socket); }});
    if (!port) {
      return port.error();
    }
    address.port = port.value();
  }
  return bound;
}

void Network::drain() {
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
    sum.stalled += get(counters.stalled);
    sum.idle_closed += get(counters.idle_closed);
  }
  const ConnectionCounters& connections = parts_->shared.connections;
  sum.open_connections = get(connections.open);
  sum.total_connections = get(connections.total);
  sum.rejected_connections = get(connections.rejected);
  return sum;
}

}  // namespace mxkv::server

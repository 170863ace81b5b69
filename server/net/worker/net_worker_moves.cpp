// NetWorker's functions for connections that move to a less busy worker.
//
// The giver decides alone, from the figures that all workers publish (balancer.hpp), and without asking the
// taker: the socket arrives in a task on the taker. Until that task runs neither worker lists the connection,
// but the client table (client_table.hpp) has it all the time.
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/net/sockets/keepalive.hpp"
#include "server/net/worker/net_worker.hpp"

namespace mxkv::server {

namespace {

/// Most connections that leave at the end of one round: each costs a few system calls.
constexpr std::size_t kMostAtOnce = 16;

/// Carries a connection to the worker that takes it.
class MoveTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "move connection";
  MoveTask(const runtime::TaskClass* task_class, NetWorker& taker, MovedConnection* moved) noexcept
      : MxTask(task_class), taker_(taker), moved_(moved) {}
  runtime::step execute(runtime::Worker& /*worker*/) {
    taker_.take_in(std::unique_ptr<MovedConnection>{moved_});
    return runtime::step::done;
  }
  void discard(runtime::Worker& /*worker*/) {
    ::close(moved_->socket.descriptor);
    delete moved_;
  }

 private:
  NetWorker& taker_;
  MovedConnection* moved_;
};

}  // namespace

std::vector<BalancePeer> NetWorker::balance_peers(runtime::Runtime& runtime, const NetShared& shared) {
  std::vector<BalancePeer> peers;
  for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
    const runtime::Worker& worker = runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)});
    const RunDelay* const delay = i < shared.delays.size() ? &shared.delays[i] : nullptr;
    peers.push_back({worker.node(), &worker.idle_clock(), delay});
  }
  return peers;
}

void NetWorker::balance() {
  if (const std::size_t own = host_.worker.id().index(); own < shared_.delays.size()) {
    shared_.delays[own].note_thread();
  }
  const Balancer::Advice advice = balancer_.look(now_ns());
  if (advice.action == Balancer::Advice::what::give && !draining_) {
    choose_leaving(advice);
  } else if (advice.action == Balancer::Advice::what::note) {
    for (Connection* connection = connections_; connection != nullptr; connection = connection->links.next) {
      connection->note_work();
    }
  }
}

void NetWorker::choose_leaving(const Balancer::Advice& advice) {
  MXKV_ASSERT(advice.taker < shared_.workers.size(), "connections move among workers that have sockets");
  NetWorker& taker = *shared_.workers[advice.taker];
  // Connections that came to the taker in its last two windows do not show in its figures yet.
  std::uint64_t takes_ns = taker.takes_ns_.load(std::memory_order_relaxed);
  if (takes_ns > now_ns()) {
    balancer_.gave(0);
    return;
  }
  const bool near = taker.host_.worker.node() == host_.worker.node();
  std::vector<Connection*> all;
  std::vector<ConnectionWork> work;
  for (Connection* connection = connections_; connection != nullptr; connection = connection->links.next) {
    all.push_back(connection);
    work.push_back({connection->work(), connection->movable(now_ns()) && (near || !connection->confined())});
  }
  const std::vector<std::size_t> chosen =
      choose_connections(balancer_.rules(), advice.busy, advice.gap, work);
  const bool gives =
      !chosen.empty() &&
      taker.takes_ns_.compare_exchange_strong(
          takes_ns, now_ns() + Balancer::kSettleWindows * balancer_.window_ns(), std::memory_order_relaxed);
  balancer_.gave(gives ? chosen.size() : 0);
  if (gives) {
    for (const std::size_t i : chosen) {
      all[i]->begin_leaving(taker);
      leaving_.push_back(all[i]);
    }
  }
}

void NetWorker::give_all(NetWorker& taker) {
  for (Connection* connection = connections_; connection != nullptr; connection = connection->links.next) {
    if (connection->movable(~std::uint64_t{0})) {
      connection->begin_leaving(taker);
      leaving_.push_back(connection);
    }
  }
}

// Returns whether any connection left, or gave up leaving.
bool NetWorker::let_leave() {
  const std::size_t before = leaving_.size();
  std::size_t left = 0;
  for (Connection* const connection : std::exchange(leaving_, {})) {
    if (left == kMostAtOnce) {
      leaving_.push_back(connection);
      continue;
    }
    if (connection->go_on_leaving()) {
      hand_over(*connection, *connection->taker());
      ++left;
    } else if (connection->taker() == nullptr) {
      connection->stay_until(now_ns() + Balancer::kRestWindows * balancer_.window_ns());
    } else {
      leaving_.push_back(connection);
    }
  }
  return leaving_.size() != before;
}

void NetWorker::hand_over(Connection& connection, NetWorker& taker) {
  std::unique_ptr<MovedConnection> moved = connection.leave();
  moved->settled_ns = now_ns() + Balancer::kRestWindows * balancer_.window_ns();
  unlist(connection);
  closed_.push_back(&connection);
  load_.fetch_sub(1, std::memory_order_relaxed);
  taker.load_.fetch_add(1, std::memory_order_relaxed);
  auto* const task = host_.worker.create<MoveTask>(taker, moved.release());
  task->annotate(taker.host_.worker.id());
  host_.worker.spawn(task);
}

void NetWorker::take_in(std::unique_ptr<MovedConnection> moved) {
  auto* const connection = new Connection(*this, *moved);
  link(*connection);
  NetCounters::add(counters_.taken_in);
  if (moved->keepalive_ms != limits_.keepalive_ms) {
    set_keepalive(connection->descriptor(), limits_.keepalive_ms);
  }
  adopted(*connection);
  // If the users were replaced while the connection was on its way, no worker reviewed it.
  if (!connection->closed() && !connection->review()) {
    make_ready(*connection);
  }
}

}  // namespace mxkv::server

// Two workers with real sockets and one store, stepped by hand, between which connections move.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "server/net/worker/net_worker.hpp"
#include "server/reply/worker_replies.hpp"
#include "server/store/store.hpp"
#include "tests/unit/scheduler/machine.hpp"
#include "tests/unit/server/net/sockets/socket_client.hpp"
#include "tests/unit/server/net/users/known_users.hpp"

namespace mxkv::server::test {

class TwoWorkers : private WarningSink, private AdminSource {
 public:
  /// `users`: lines of a file of users; empty: no login is needed.
  explicit TwoWorkers(const std::string& users = {},
                      const config::BalanceOptions& balance = {.mode = config::balance_mode::off},
                      const runtime::RuntimeOptions& options = runtime::testing::unpinned(2),
                      const StoreOptions& of_store = {})
      : machine{options}, store{machine.runtime, of_store}, shared{.log = *this, .balance = balance} {
    if (!users.empty()) {
      credentials.replace(users_of(users));
    }
    for (std::size_t i = 0; i < 2; ++i) {
      replies.push_back(std::make_unique<WorkerReplies>(machine[i], machine.runtime.budget()));
      BlockPool& input = inputs.emplace_back(machine.runtime.budget(), machine[i].account(),
                                             runtime::memory_category::buffers);
      NetWorker& net =
          nets.emplace_back(shared, machine[i], store, replies[i]->directory, input, limits,
                            static_cast<AdminSource&>(*this), credentials, config::StatsOptions{});
      shared.workers.push_back(&net);
      store.watch_hub().add_waker({&net, [](void* context, runtime::Worker& from) {
                                     auto& to = *static_cast<NetWorker*>(context);
                                     auto* const task = runtime::testing::lambda_task(
                                         from, [&to](runtime::MxTask&, runtime::Worker&) {
                                           to.pull_watched();
                                           return runtime::step::done;
                                         });
                                     task->annotate(to.host().worker.id());
                                     from.spawn(task);
                                   }});
      store.context(machine[i].id()).replies = &replies[i]->directory;
      machine[i].set_poller(net);
    }
    run();
  }
  TwoWorkers(const TwoWorkers&) = delete;
  TwoWorkers& operator=(const TwoWorkers&) = delete;
  ~TwoWorkers() {
    machine[0].set_poller(nobody_);
    machine[1].set_poller(nobody_);
    machine.runtime.drain_stopped();
  }

  /// One round of a worker.
  bool step(std::size_t worker) { return machine[worker].step(); }
  /// Runs rounds of both until none does any work.
  void run() {
    for (int idle = 0; idle < 3;) {
      const bool first = step(0);
      const bool second = step(1);
      idle = first || second ? 0 : idle + 1;
    }
  }
  /// Moves all connections of one worker to the other, as far as they may move.
  void move(std::size_t from, std::size_t to) {
    nets[from].give_all(nets[to]);
    run();
  }
  void pass_ms(std::uint64_t milliseconds) {
    machine.clock.advance_us(milliseconds * 1000);
    run();
  }
  [[nodiscard]] std::uint32_t connections(std::size_t worker) { return nets[worker].load().load(); }
  /// The number of connections that `stats conns` would list.
  [[nodiscard]] std::size_t listed() {
    std::size_t count = 0;
    for (std::uint64_t after = 0;;) {
      after = shared.clients.walk(after, [&count](const auto& /*one*/) { ++count; });
      if (after == 0) {
        return count;
      }
    }
  }

 private:
  void warn(const std::string& /*text*/) override {}
  std::string run(const protocol::Request& /*request*/, AdminCursor& /*cursor*/) override { return "OK\r\n"; }

  runtime::testing::Bell nobody_;  // before the machine: its end wakes the workers

 public:
  config::LimitOptions limits;
  runtime::testing::Machine machine;
  Store store;
  Credentials credentials;
  std::vector<std::unique_ptr<WorkerReplies>> replies;
  std::deque<BlockPool> inputs;
  NetShared shared;
  std::deque<NetWorker> nets;
};

/// A client of one of them.
class WorkerClient final : public SocketClient {
 public:
  WorkerClient(TwoWorkers& server, std::size_t worker, const Door& door = kUsualDoor)
      : SocketClient(server.nets[worker], server.shared, [&server] { server.run(); }, door) {}
};

}  // namespace mxkv::server::test

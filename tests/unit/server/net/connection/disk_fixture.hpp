// A worker with real sockets and a real store, stepped by hand, and a disk that is as fast as the test says.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "server/net/worker/net_worker.hpp"
#include "server/reply/worker_replies.hpp"
#include "server/store/store.hpp"
#include "tests/unit/scheduler/machine.hpp"
#include "tests/unit/server/net/sockets/socket_client.hpp"

namespace mxkv::server::test {

/// Follows a store's changes. Each change belongs to the open epoch; sync() puts all of them on disk.
class FakeDisk final : public CommitGate, public index::CommitListener<std::string_view> {
 public:
  explicit FakeDisk(Store& store) : CommitGate(1, {.most_waiting = 0}), store_(store) {
    store.tree().commits().listen(this);
  }

  void passed(const index::Commit<std::string_view>& commit, runtime::Worker& /*worker*/) noexcept override {
    using index::change;
    if (commit.change.what != change::part && commit.change.what != change::unseen) {
      recorded = current;
    }
  }
  Round begin_round(runtime::WorkerId /*worker*/, std::uint64_t now_us) noexcept override {
    unparks += std::exchange(parked_, false) ? 1 : 0;
    mint_us = std::max(mint_us, now_us);
    return {mint_us, reads_wait ? horizon_us : WorkerContext::kNoHorizon};
  }
  void end_round(runtime::WorkerId /*worker*/) noexcept override { ++ended_rounds; }
  void park(runtime::WorkerId /*worker*/) noexcept override {
    parked_ = true;
    ++parks;
  }
  [[nodiscard]] bool waiting() const noexcept { return worker_waits(runtime::WorkerId{0}); }
  [[nodiscard]] std::uint64_t must_wait_for() const noexcept override { return recorded; }
  [[nodiscard]] std::uint64_t durable() const noexcept override { return on_disk; }
  [[nodiscard]] std::uint64_t broken() const noexcept override { return broken_; }
  [[nodiscard]] Drops drops() const noexcept override { return drops_now; }
  [[nodiscard]] std::uint64_t waiting_bytes() const noexcept override { return full ? 1 : 0; }
  [[nodiscard]] const char* refusal() const noexcept override { return reason; }
  [[nodiscard]] std::uint64_t most_wait_ns() const noexcept override { return most_ns; }
  [[nodiscard]] std::string_view given_up_line() const noexcept override { return line; }

  /// Closes the epoch and puts it on disk.
  void sync() {
    close();
    on_disk = current - 1;
    horizon_us = mint_us = std::max(mint_us, store_.greatest_order(0));
  }
  /// Later changes belong to the next epoch.
  void close() { ++current; }
  void break_down() { ++broken_; }

  std::uint64_t current = 1;
  std::uint64_t recorded = 0;
  std::uint64_t on_disk = 0;
  std::uint64_t horizon_us = 0;
  std::uint64_t mint_us = 0;
  bool reads_wait = true;
  bool full = false;
  Drops drops_now;
  const char* reason = nullptr;
  std::uint64_t most_ns = 0;
  std::string_view line;
  int ended_rounds = 0;
  int parks = 0;
  int unparks = 0;

 private:
  void wanted() noexcept override {}

  Store& store_;
  std::uint64_t broken_ = 0;
  bool parked_ = true;
};

/// One worker, which serves the clients that connect to it.
class DiskServer : private WarningSink, private AdminSource {
 public:
  /// `batch_tasks`: most tasks of a round.
  explicit DiskServer(std::uint32_t batch_tasks = runtime::RuntimeOptions{}.batch_tasks)
      : machine{with_batches(batch_tasks)} {
    store.context(machine[0].id()).replies = &replies.directory;
    machine[0].set_poller(net);
    run();
    disk.sync();  // an empty store is on disk
    run();
  }
  DiskServer(const DiskServer&) = delete;
  DiskServer& operator=(const DiskServer&) = delete;
  ~DiskServer() {
    store.tree().commits().listen(nullptr);
    machine[0].set_poller(nobody_);
    machine.runtime.drain_stopped();
  }

  /// Runs rounds until none does any work.
  void run() {
    for (int idle = 0; idle < 3;) {
      idle = machine[0].step() ? 0 : idle + 1;
    }
  }
  /// Puts all changes on disk, and notifies the worker.
  void sync() {
    disk.sync();
    run();
  }
  void pass_s(std::uint64_t seconds) {
    machine.clock.advance_us(seconds * 1'000'000);
    run();
  }

 private:
  static runtime::RuntimeOptions with_batches(std::uint32_t tasks) {
    runtime::RuntimeOptions options = runtime::testing::unpinned(1);
    options.batch_tasks = tasks;
    return options;
  }
  void warn(const std::string& /*text*/) override {}
  std::string run(const protocol::Request& /*request*/, AdminCursor& /*cursor*/) override { return "OK\r\n"; }

  runtime::testing::Bell nobody_;  // before the machine: its end wakes the worker

 public:
  config::LimitOptions limits;
  runtime::testing::Machine machine;
  Store store{machine.runtime, {}};
  FakeDisk disk{store};
  Credentials credentials;
  WorkerReplies replies{machine[0], machine.runtime.budget()};
  BlockPool input{machine.runtime.budget(), machine[0].account(), runtime::memory_category::buffers};
  NetShared shared{.log = *this, .disk = &disk};
  NetWorker net{shared, machine[0], store, replies.directory, input, limits, *this, credentials, {}};
};

/// A client's end of a connection.
class Wire final : public SocketClient {
 public:
  explicit Wire(DiskServer& server, const Door& door = kUsualDoor)
      : SocketClient(server.net, server.shared, [&server] { server.run(); }, door) {}
};

}  // namespace mxkv::server::test

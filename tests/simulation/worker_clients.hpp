// The clients of one worker of a simulated store, and the poller by which they take part.
#pragma once

#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <utility>

#include "tests/simulation/store_client.hpp"
#include "tests/simulation/store_whims.hpp"
#include "tests/simulation/worker_disk.hpp"

namespace mxkv::simulation {

/// What else happens in a worker's rounds. Thread-safety: owner worker only.
class WorkerRounds {
 public:
  WorkerRounds() = default;
  WorkerRounds(const WorkerRounds&) = delete;
  WorkerRounds& operator=(const WorkerRounds&) = delete;

  virtual void begin_round() = 0;
  virtual void end_round() = 0;

 protected:
  ~WorkerRounds() = default;
};

/// Thread-safety: owner worker only.
class WorkerClients final : public runtime::Poller {
 public:
  WorkerClients(Bells& bells, runtime::Worker& worker, server::Store& store, StoreReplies& replies,
                StoreRecord& record, StoreWhims& whims, runtime::Random& random,
                const StoreWorldOptions& options)
      : bells_(bells),
        worker_(worker),
        store_(store),
        whims_(whims),
        random_(random),
        options_(options),
        own_(worker, worker.runtime().budget()) {
    store.context(worker.id()).replies = &own_.directory;
    for (std::size_t i = 0; i < options.clients; ++i) {
      clients_.emplace_back(worker, store, own_.directory, replies, record);
    }
  }
  WorkerClients(const WorkerClients&) = delete;
  WorkerClients& operator=(const WorkerClients&) = delete;
  ~WorkerClients() { forget_dirty(); }

  /// From now on replies wait for the disk. Outlives this.
  void set_disk(WorkerDisk& disk) {
    disk_ = &disk;
    for (StoreClient& client : clients_) {
      client.set_disk(disk.gate());
    }
  }
  /// Outlives this.
  void set_rounds(WorkerRounds& rounds) noexcept { rounds_ = &rounds; }
  /// The greatest epoch that a reply waited for and that was read since.
  [[nodiscard]] std::uint64_t released() const {
    std::uint64_t epoch = 0;
    for (const StoreClient& client : clients_) {
      epoch = std::max(epoch, client.released());
    }
    return epoch;
  }
  /// How many requests its clients have to send.
  void set_left(std::size_t requests) noexcept { left_ = requests; }
  /// A request that the first client sends next.
  void ask(StoreRequest request) { asked_.push_back(std::move(request)); }
  [[nodiscard]] bool idle() const noexcept {
    return left_ == 0 && asked_.empty() &&
           std::all_of(clients_.begin(), clients_.end(), [](const StoreClient& client) {
             return client.in_flight() == 0 && !client.has_plans();
           });
  }
  /// Drops the writes that wait for their turn to commit. When no worker runs any more.
  void discard_parked() {
    std::set<server::ConnectionState*> entries;
    for (const StoreClient& client : clients_) {
      entries.insert(client.entries().begin(), client.entries().end());
    }
    for (server::ConnectionState* const entry : entries) {
      entry->commits.for_each_parked(
          [this](runtime::MxTask* task) { task->task_class().discard(*task, worker_); });
    }
  }
  /// All clients go away. True: none of their operations outlives them.
  bool leave() {
    for (StoreClient& client : clients_) {
      client.leave();
    }
    clients_.clear();
    forget_dirty();
    return own_.directory.entries() == 0;
  }

  bool poll(runtime::Worker& worker) override {
    bool any = false;
    if (rounds_ != nullptr) {
      rounds_->begin_round();
    }
    if (disk_ != nullptr && disk_->begin_round()) {
      for (StoreClient& client : clients_) {
        if (client.held()) {
          client.reconnect();  // whether these are on disk will never be known
        }
      }
    }
    for (StoreClient& client : clients_) {
      client.go_on();
      if (options_.requests.probes && &client == &clients_.back()) {
        probe(client);
        continue;
      }
      any = client.send_planned(options_.burst_in_flight) || any;
      if (client.has_plans() || client.waits() || client.in_flight() >= options_.in_flight) {
        continue;
      }
      if (!asked_.empty()) {
        any = true;
        client.send(std::exchange(asked_.front(), {}));
        asked_.pop_front();
      } else if (left_ > 0 && random_.below(3) == 0) {
        any = true;
        --left_;
        ask_something(client, worker.runtime().clock().unix_us());
      }
      if (options_.clients_leave && left_ > 0 && client.in_flight() > 0 && random_.below(32) == 0) {
        client.reconnect();
      }
    }
    if (left_ > 0) {
      whims_.have_whim(worker);
    }
    return any || left_ > 0 || !asked_.empty();
  }
  bool end_turn(runtime::Worker& worker) override {
    store_.maintain(worker);
    if (disk_ != nullptr) {
      disk_->end_round();
    }
    if (rounds_ != nullptr) {
      rounds_->end_round();
    }
    const bool any = forget_dirty();
    bool waits = false;
    for (StoreClient& client : clients_) {
      client.receive();
      client.go_on();
      waits = waits || client.held() || client.in_flight() > 0;
    }
    if (disk_ != nullptr) {
      disk_->note_waits(waits);
    }
    return any;
  }
  void block(runtime::Worker& /*worker*/, std::uint64_t /*timeout_ns*/) override {}
  void wake() noexcept override { bells_.ring(worker_.id().index()); }

  /// The requests that its clients wait for, for a failure's message; empty: none.
  [[nodiscard]] std::string describe_waiting() const {
    std::string text;
    for (const StoreClient& client : clients_) {
      if (client.in_flight() > 0) {
        text += "; a client of worker " + std::to_string(worker_.id().value()) + " has " +
                std::to_string(client.in_flight()) + " requests in flight, the first is " +
                client.first_in_flight();
      }
    }
    return text;
  }

 private:
  void ask_something(StoreClient& client, std::uint64_t now_us) {
    if (options_.requests.bursts && random_.below(3) == 0) {
      client.plan(whims_.requests().draw_burst(now_us / 1'000'000));
      static_cast<void>(client.send_planned(options_.burst_in_flight));
    } else {
      client.send(whims_.next_request(now_us));
    }
  }
  /// Sends a probe for a client that does nothing else.
  void probe(StoreClient& client) {
    if (left_ > 0 && probes_left_ > 0 && client.in_flight() == 0 && random_.below(2) == 0) {
      --probes_left_;
      client.send(whims_.requests().draw_probe());
    }
  }
  /// All clients read their replies, whatever the list says.
  bool forget_dirty() {
    bool any = false;
    while (own_.directory.next_dirty() != nullptr) {
      any = true;
    }
    return any;
  }

  Bells& bells_;
  runtime::Worker& worker_;
  server::Store& store_;
  StoreWhims& whims_;
  runtime::Random& random_;
  const StoreWorldOptions& options_;
  WorkerDisk* disk_ = nullptr;      ///< null: replies wait for nothing
  WorkerRounds* rounds_ = nullptr;  ///< null: nothing else
  server::WorkerReplies own_;
  std::deque<StoreClient> clients_;
  std::deque<StoreRequest> asked_;
  std::size_t left_ = 0;
  std::size_t probes_left_ = 40;
};

}  // namespace mxkv::simulation

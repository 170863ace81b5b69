// A worker's rounds as a journal sees them, and its replies that wait for the disk: NetWorker's part for the
// clients of a simulated store (server/net/worker/net_worker_disk.cpp).
#pragma once

#include <cstdint>
#include <utility>

#include "server/commit/commit_gate.hpp"
#include "server/store/store.hpp"

namespace mxkv::simulation {

/// Thread-safety: owner worker only.
class WorkerDisk {
 public:
  /// The arguments outlive it.
  WorkerDisk(server::CommitGate& gate, server::Store& store, runtime::Worker& worker)
      : gate_(gate), store_(store), worker_(worker), broken_(gate.broken()) {
    store.context(worker.id()).writes_wait = true;
  }

  [[nodiscard]] server::CommitGate& gate() noexcept { return gate_; }
  /// True: replies that wait now must never be sent.
  [[nodiscard]] bool begin_round() {
    parked_ = false;
    const server::CommitGate::Round round = gate_.begin_round(worker_.id(), worker_.now_us());
    server::WorkerContext& context = store_.context(worker_.id());
    context.mint_us = round.mint_us;
    const bool flushed_since = store_.flush_points().order.load(std::memory_order_relaxed) > round.horizon_us;
    context.horizon_us = flushed_since ? 0 : round.horizon_us;
    context.refuse_changes(gate_.refusal());
    durable_ = gate_.durable();
    const std::uint64_t before = std::exchange(broken_, gate_.broken());
    return before != broken_;
  }
  void end_round() { gate_.end_round(worker_.id()); }
  /// False: the epoch that a reply waits for has come meanwhile.
  [[nodiscard]] bool park() {
    if (waits_ && (gate_.durable() != durable_ || gate_.broken() != broken_)) {
      return false;
    }
    if (!std::exchange(parked_, true)) {
      gate_.end_round(worker_.id());
      gate_.park(worker_.id());
    }
    return true;
  }
  void note_waits(bool waits) {
    if (std::exchange(waits_, waits) != waits) {
      gate_.waits(worker_.id(), waits);
    }
  }

 private:
  server::CommitGate& gate_;
  server::Store& store_;
  runtime::Worker& worker_;
  std::uint64_t broken_;
  std::uint64_t durable_ = 0;
  bool parked_ = true;
  bool waits_ = false;
};

}  // namespace mxkv::simulation

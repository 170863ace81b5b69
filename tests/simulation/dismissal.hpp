// The end of the clients of a simulated store: drops what waits, and takes their pollers from the workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "server/store/store.hpp"
#include "tests/simulation/worker_clients.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::simulation {

/// In place of pollers that have gone.
class Nobody final : public runtime::Poller {
 public:
  bool poll(runtime::Worker& /*worker*/) override { return false; }
  bool end_turn(runtime::Worker& /*worker*/) override { return false; }
  void block(runtime::Worker& /*worker*/, std::uint64_t /*timeout_ns*/) override {}
  void wake() noexcept override {}
};

/// Does nothing the second time.
inline void dismiss(runtime::testing::Machine& machine, server::Store& store, Nobody& nobody,
                    std::deque<WorkerClients>& clients) {
  if (clients.empty()) {
    return;
  }
  store.discard_waiting(machine.runtime);
  machine.runtime.drain_stopped();
  for (std::size_t i = 0; i < clients.size(); ++i) {
    machine[i].set_poller(nobody);
  }
  clients.clear();
}

}  // namespace mxkv::simulation

// The settings that a seed draws for a simulated store before it begins.
#pragma once

#include <string>
#include <vector>

#include "server/store/store.hpp"
#include "tests/simulation/store_requests.hpp"
#include "tests/simulation/world_options.hpp"

namespace mxkv::simulation {

struct StoreWorldOptions {
  WorldOptions world;  ///< machine, switches of the runtime, how rough it gets
  server::StoreOptions store;
  std::vector<server::QuotaOptions> quota_limits;  ///< of store.quotas, once the store is filled
  RequestOptions requests;
  std::size_t clients = 1;          ///< of each worker
  std::size_t in_flight = 1;        ///< requests of a client
  std::size_t burst_in_flight = 1;  ///< the same while it sends a burst
  std::size_t operations = 0;       ///< of all clients
  bool evicts = false;              ///< items are removed while operations run
  bool moves = false;               ///< or get another address
  bool redraws = false;             ///< the map of keys to slots changes
  bool preempts = false;            ///< some writes are interrupted under their leaf's latch
  bool tides = false;               ///< time leaps, and all items with a time to live are swept at once
  bool stalls = false;              ///< some workers are left alone for long
  bool clients_leave = false;
};

[[nodiscard]] StoreWorldOptions draw_store_world(runtime::Random& random);
/// For a failure's message.
[[nodiscard]] std::string describe(const StoreWorldOptions& world);

}  // namespace mxkv::simulation

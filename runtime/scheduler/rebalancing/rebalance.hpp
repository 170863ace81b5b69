// Decides what to move where, by the loads of the last period: pure functions, the rebalancer's head.
//
// A load is a number of tasks a second. Some of a worker's load stays where it is (free tasks, its pinned
// pool). The rest is the load of the pools it owns, wherever they were executed. So thieves do not hide that
// a worker has too much. [MK 3]: resources are redistributed so that the load of each domain, and thus CPU,
// is balanced; few others belong to the domain of a hot one.
//
// Three rules keep it from flapping. Pools leave only a worker that is well above the average. The greater
// load of giver and taker falls by a good part, or a small pool fits the gap between them. So moving back
// gains nothing. Another NUMA node must gain more. Moves a period are few, and each is counted in before the
// next is chosen. Where none helps, two workers may swap pools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/ids.hpp"

namespace mxkv::runtime {

class DataObject;

/// Load of one worker; its position is its WorkerId.
struct WorkerLoad {
  NumaNodeId node{};
  std::uint64_t fixed = 0;  ///< tasks a second that stay with it
  std::uint32_t room = 0;   ///< pools that it could take over
};

/// Load of one pool; its position is its PoolId.
struct PoolLoad {
  WorkerId owner{};
  std::uint64_t tasks = 0;  ///< a second
  bool movable = false;     ///< not pinned, and not moved just now
  bool for_objects = true;  ///< objects may be put into it: not pinned
};

/// Load of one object. The pointer is a name; it may be freed already.
struct ObjectLoad {
  const DataObject* object = nullptr;
  PoolId pool{};
  std::uint64_t tasks = 0;  ///< a second, estimated
};

/// Thresholds.
struct RebalanceRules {
  std::uint64_t least_tasks =
      10'000;                    ///< a second, of a worker or pool that is to give; below, all have time
  unsigned excess_percent = 15;  ///< that a giving worker has over the average
  unsigned remote_excess_percent = 40;  ///< the same, for small pools that go to another NUMA node
  unsigned gain_percent = 5;          ///< of the giver's load, that the greater load of the two must fall by
  unsigned remote_gain_percent = 20;  ///< the same, to another NUMA node
  unsigned small_percent = 1;         ///< of the giver's load, that a pool must have to be worth a move
  unsigned crowded_percent = 30;      ///< of the average worker's load, that makes a pool worth dividing
  std::size_t most_moves = 4;         ///< a period, of pools and of objects each
};

struct PoolMove {
  PoolId pool{};
  WorkerId from{};
  WorkerId to{};
  friend bool operator==(const PoolMove&, const PoolMove&) = default;
};

struct ObjectMove {
  const DataObject* object = nullptr;
  PoolId from{};
  PoolId to{};
  friend bool operator==(const ObjectMove&, const ObjectMove&) = default;
};

/// Pools that are to get another owner, best move first. Thread-safety: any thread.
[[nodiscard]] std::vector<PoolMove> choose_pool_moves(const RebalanceRules& rules,
                                                      std::span<const WorkerLoad> workers,
                                                      std::span<const PoolLoad> pools);

/// Which pools thieves are to leave to their owners, by PoolId: pools with work to speak of, without which
/// the owner would have no more than the average. Stealing from these brings no balance, and would undo the
/// moves' effect. Thread-safety: any thread.
[[nodiscard]] std::vector<bool> choose_kept_pools(const RebalanceRules& rules,
                                                  std::span<const WorkerLoad> workers,
                                                  std::span<const PoolLoad> pools);

/// Objects that are to get another pool, best move first: out of crowded pools into pools with less load
/// beside them. Objects of load zero stay. Thread-safety: any thread.
[[nodiscard]] std::vector<ObjectMove> choose_object_moves(const RebalanceRules& rules,
                                                          std::span<const WorkerLoad> workers,
                                                          std::span<const PoolLoad> pools,
                                                          std::span<const ObjectLoad> objects);

}  // namespace mxkv::runtime

#include "runtime/scheduler/rebalancing/rebalance.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

#include "runtime/base/assert.hpp"

namespace mxkv::runtime {

namespace {

std::uint64_t percent(std::uint64_t of, unsigned percent) noexcept {
  return of * percent / 100;
}

/// How far the greater of two loads falls when `tasks` go from one to the other; 0 if it does not.
std::uint64_t gain(std::uint64_t from, std::uint64_t to, std::uint64_t tasks) noexcept {
  const std::uint64_t after = std::max(from - tasks, to + tasks);
  return from > after ? from - after : 0;
}

std::vector<std::uint64_t> loads_of(std::span<const WorkerLoad> workers, std::span<const PoolLoad> pools) {
  std::vector<std::uint64_t> loads;
  for (const WorkerLoad& worker : workers) {
    loads.push_back(worker.fixed);
  }
  for (const PoolLoad& pool : pools) {
    MXKV_ASSERT(pool.owner.index() < loads.size(), "a pool is owned by a worker");
    loads[pool.owner.index()] += pool.tasks;
  }
  return loads;
}

std::uint64_t average(std::span<const std::uint64_t> loads) noexcept {
  return std::accumulate(loads.begin(), loads.end(), std::uint64_t{0}) / loads.size();
}

/// The state that moves are tried on.
struct Trial {
  const RebalanceRules& rules;
  std::span<const WorkerLoad> workers;
  std::vector<PoolLoad> pools;
  std::vector<std::uint64_t> loads;  ///< by WorkerId
  std::vector<std::uint32_t> room;   ///< by WorkerId
  std::uint64_t mean;                ///< load of a worker

  [[nodiscard]] bool remote(WorkerId one, WorkerId other) const noexcept {
    return workers[one.index()].node != workers[other.index()].node;
  }
  /// The least gain of a move between these workers.
  [[nodiscard]] std::uint64_t least_gain(WorkerId from, WorkerId to, std::uint64_t load) const noexcept {
    return percent(load, remote(from, to) ? rules.remote_gain_percent : rules.gain_percent);
  }

  /// Whether a pool of so many tasks fits between what `from` has above the average and `to` below.
  [[nodiscard]] bool fits(WorkerId from, WorkerId to, std::uint64_t tasks) const noexcept {
    const std::uint64_t load = loads[from.index()];
    const unsigned excess = remote(from, to) ? rules.remote_excess_percent : rules.excess_percent;
    return load - tasks >= mean && loads[to.index()] + tasks <= mean &&
           load >= mean + percent(mean, excess) && tasks >= percent(load, rules.small_percent);
  }

  /// The best move off `from`: first a move after which the taker has not much more than the giver, else a hot
  /// pool would go where others should; then the move with the greatest gain above the least gain; then the
  /// move to the least loaded worker.
  [[nodiscard]] std::optional<PoolMove> best_from(WorkerId from) const noexcept {
    std::optional<PoolMove> best;
    std::tuple<bool, std::int64_t, std::int64_t> best_score;
    const std::uint64_t load = loads[from.index()];
    for (std::size_t p = 0; p < pools.size(); ++p) {
      if (pools[p].owner != from || !pools[p].movable || pools[p].tasks == 0) {
        continue;
      }
      for (std::size_t w = 0; w < workers.size(); ++w) {
        const WorkerId to{static_cast<WorkerId::rep>(w)};
        if (to == from || room[w] == 0) {
          continue;
        }
        const std::uint64_t tasks = pools[p].tasks;
        const std::uint64_t gained = gain(load, loads[w], tasks);
        const std::uint64_t least = least_gain(from, to, load);
        if (gained < least && !fits(from, to, tasks)) {
          continue;
        }
        const std::tuple score{loads[w] + tasks <= load - tasks + percent(load, rules.excess_percent),
                               static_cast<std::int64_t>(gained) - static_cast<std::int64_t>(least),
                               -static_cast<std::int64_t>(loads[w])};
        if (!best || score > best_score) {
          best_score = score;
          best = PoolMove{.pool = PoolId{static_cast<PoolId::rep>(p)}, .from = from, .to = to};
        }
      }
    }
    return best;
  }

  /// The best swap of a pool of `from` for a smaller one of another worker; empty if none is worth it.
  [[nodiscard]] std::vector<PoolMove> best_swap(WorkerId from) const {
    std::vector<PoolMove> best;
    std::uint64_t best_score = 0;
    const std::uint64_t load = loads[from.index()];
    for (std::size_t p = 0; p < pools.size(); ++p) {
      for (std::size_t q = 0; q < pools.size(); ++q) {
        const WorkerId to = pools[q].owner;
        if (pools[p].owner != from || to == from || !pools[p].movable || !pools[q].movable ||
            pools[p].tasks <= pools[q].tasks || room[to.index()] == 0) {
          continue;
        }
        const std::uint64_t gained = gain(load, loads[to.index()], pools[p].tasks - pools[q].tasks);
        const std::uint64_t least = least_gain(from, to, load);
        if (gained >= least && gained - least + 1 > best_score) {
          best_score = gained - least + 1;
          best = {{.pool = PoolId{static_cast<PoolId::rep>(p)}, .from = from, .to = to},
                  {.pool = PoolId{static_cast<PoolId::rep>(q)}, .from = to, .to = from}};
        }
      }
    }
    return best;
  }

  void apply(const PoolMove& move) noexcept {
    PoolLoad& pool = pools[move.pool.index()];
    MXKV_ASSERT(pool.owner == move.from && pool.movable, "a pool moves once, off its owner");
    loads[move.from.index()] -= pool.tasks;
    loads[move.to.index()] += pool.tasks;
    --room[move.to.index()];
    ++room[move.from.index()];
    pool.owner = move.to;
    pool.movable = false;  // once a period
  }

  /// The gain from moving an object; 0: not worth it.
  [[nodiscard]] std::uint64_t score(const ObjectLoad& object, PoolId to) const noexcept {
    const PoolLoad& source = pools[object.pool.index()];
    const PoolLoad& target = pools[to.index()];
    const std::uint64_t tasks = std::min(object.tasks, source.tasks);
    const std::uint64_t pool_gain = gain(source.tasks, target.tasks, tasks);
    const std::uint64_t least = least_gain(source.owner, target.owner, source.tasks);
    if (pool_gain < least) {
      return 0;
    }
    std::uint64_t worker_gain = 0;
    if (source.owner != target.owner) {
      const std::uint64_t from = loads[source.owner.index()];
      const std::uint64_t load_to = loads[target.owner.index()];
      if (load_to + tasks > from) {
        return 0;  // the other worker would have more than this one has now
      }
      worker_gain = gain(from, load_to, tasks);
    }
    return pool_gain - least + worker_gain + 1;
  }
};

Trial start_trial(const RebalanceRules& rules, std::span<const WorkerLoad> workers,
                  std::span<const PoolLoad> pools) {
  Trial trial{.rules = rules,
              .workers = workers,
              .pools = {pools.begin(), pools.end()},
              .loads = loads_of(workers, pools),
              .room = {},
              .mean = 0};
  trial.mean = average(trial.loads);
  for (const WorkerLoad& worker : workers) {
    trial.room.push_back(worker.room);
  }
  return trial;
}

}  // namespace

std::vector<PoolMove> choose_pool_moves(const RebalanceRules& rules, std::span<const WorkerLoad> workers,
                                        std::span<const PoolLoad> pools) {
  std::vector<PoolMove> moves;
  if (workers.size() < 2) {
    return moves;
  }
  Trial trial = start_trial(rules, workers, pools);
  const std::uint64_t least =
      std::max(rules.least_tasks, trial.mean + percent(trial.mean, rules.excess_percent));
  std::vector<std::size_t> givers(workers.size());
  std::iota(givers.begin(), givers.end(), std::size_t{0});
  while (moves.size() < rules.most_moves) {
    // The most loaded first; a giver without a good move, such as with a single hot pool, does not stop others.
    std::sort(givers.begin(), givers.end(), [&trial](std::size_t a, std::size_t b) {
      return trial.loads[a] != trial.loads[b] ? trial.loads[a] > trial.loads[b] : a < b;
    });
    std::vector<PoolMove> chosen;
    for (const std::size_t giver : givers) {
      if (trial.loads[giver] < least) {
        break;
      }
      const WorkerId from{static_cast<WorkerId::rep>(giver)};
      if (const std::optional<PoolMove> move = trial.best_from(from)) {
        chosen = {*move};
      } else if (moves.size() + 2 <= rules.most_moves) {
        chosen = trial.best_swap(from);
      }
      if (!chosen.empty()) {
        break;
      }
    }
    if (chosen.empty()) {
      break;
    }
    for (const PoolMove& move : chosen) {
      trial.apply(move);
      moves.push_back(move);
    }
  }
  return moves;
}

std::vector<bool> choose_kept_pools(const RebalanceRules& rules, std::span<const WorkerLoad> workers,
                                    std::span<const PoolLoad> pools) {
  const std::vector<std::uint64_t> loads = loads_of(workers, pools);
  const std::uint64_t mean = average(loads);
  std::vector<bool> kept;
  for (const PoolLoad& pool : pools) {
    kept.push_back(pool.for_objects && pool.tasks >= rules.least_tasks &&
                   loads[pool.owner.index()] - pool.tasks <= mean);
  }
  return kept;
}

std::vector<ObjectMove> choose_object_moves(const RebalanceRules& rules, std::span<const WorkerLoad> workers,
                                            std::span<const PoolLoad> pools,
                                            std::span<const ObjectLoad> objects) {
  std::vector<ObjectMove> moves;
  if (workers.empty()) {
    return moves;
  }
  Trial trial = start_trial(rules, workers, pools);
  const std::uint64_t crowded = std::max(rules.least_tasks, percent(trial.mean, rules.crowded_percent));
  std::vector<ObjectLoad> left{objects.begin(), objects.end()};
  while (moves.size() < rules.most_moves) {
    std::uint64_t best_score = 0;
    std::size_t best_object = 0;
    PoolId best_pool{};
    for (std::size_t o = 0; o < left.size(); ++o) {
      const PoolLoad& source = trial.pools[left[o].pool.index()];
      if (left[o].tasks == 0 || !source.for_objects || source.tasks < crowded) {
        continue;
      }
      for (std::size_t p = 0; p < trial.pools.size(); ++p) {
        const PoolId to{static_cast<PoolId::rep>(p)};
        if (to == left[o].pool || !trial.pools[p].for_objects) {
          continue;
        }
        const std::uint64_t score = trial.score(left[o], to);
        const bool emptier =
            score == best_score && trial.pools[p].tasks < trial.pools[best_pool.index()].tasks;
        if (score > best_score || (score != 0 && emptier)) {
          best_score = score;
          best_object = o;
          best_pool = to;
        }
      }
    }
    if (best_score == 0) {
      break;
    }
    ObjectLoad& object = left[best_object];
    PoolLoad& source = trial.pools[object.pool.index()];
    PoolLoad& target = trial.pools[best_pool.index()];
    const std::uint64_t tasks = std::min(object.tasks, source.tasks);
    MXKV_ASSERT(object.tasks > 0 && best_pool != object.pool, "a hot object moves to another pool");
    source.tasks -= tasks;
    target.tasks += tasks;
    trial.loads[source.owner.index()] -= tasks;
    trial.loads[target.owner.index()] += tasks;
    moves.push_back({.object = object.object, .from = object.pool, .to = best_pool});
    object.tasks = 0;  // once a period
  }
  return moves;
}

}  // namespace mxkv::runtime

#include "runtime/scheduler/rebalancing/rebalancer.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/scheduler/rebalancing/moves.hpp"
#include "runtime/scheduler/runtime.hpp"

namespace mxkv::runtime {

namespace {

/// Periods without moves after some, until the averages show their effect.
constexpr std::uint32_t kQuiet = 8;
/// Periods that a pool stays where it came to.
constexpr std::uint32_t kRest = 16;
/// Periods over which objects are sampled for one decision: a fill tells of one object only.
constexpr std::uint32_t kSampled = 8;

/// Per cent of a pool's work that one object has, so that the others do not count.
constexpr std::uint64_t kUndivided = 80;

constexpr std::uint64_t kSecondNs = 1'000'000'000;

/// The number of the first pool that a worker began with; its last one is before the next worker's first.
std::size_t first_pool_of(Runtime& runtime, std::size_t worker) noexcept {
  return runtime.worker(WorkerId{static_cast<WorkerId::rep>(worker)}).pinned_pool().index();
}

std::uint64_t a_second(std::uint64_t count, std::uint64_t elapsed_ns) noexcept {
  return elapsed_ns == 0
             ? 0
             : static_cast<std::uint64_t>(static_cast<double>(count) * static_cast<double>(kSecondNs) /
                                          static_cast<double>(elapsed_ns));
}

/// The last four periods or so: one in which the system ran something else must not count for much.
std::uint64_t averaged(std::uint64_t before, std::uint64_t now) noexcept {
  return (3 * before + now) / 4;
}

/// A counter's growth since the last look; two that are read one after the other may disagree a little.
std::uint64_t grown(std::uint64_t& before, std::uint64_t now) noexcept {
  const std::uint64_t growth = now > before ? now - before : 0;
  before = std::max(before, now);
  return growth;
}

}  // namespace

Rebalancer::Rebalancer(Runtime& runtime) : runtime_(runtime), options_(runtime.options().rebalance) {
  MXKV_ASSERT(options_.strategy != rebalance_strategy::off, "a rebalancer has a strategy");
  const std::size_t workers = runtime.options().workers.size();
  if (options_.strategy == rebalance_strategy::objects) {
    heats_.resize(workers);
  }
  for (const WorkerPlacement& placement : runtime.options().workers) {
    workers_.push_back({.node = placement.node});
  }
  workers_fixed_.resize(workers);
  pools_.resize(runtime.pool_count());
  pools_taken_.resize(pools_.size());
  pools_rest_.resize(pools_.size());
}

std::optional<PoolId> Rebalancer::claim(const DataObject* object, PoolId from) noexcept {
  for (Wanted& wanted : wanted_) {
    const DataObject* expected = object;
    const std::uint32_t move = wanted.move.load(std::memory_order_acquire);  // pairs with move_objects()
    if (wanted.object.load(std::memory_order_relaxed) == object && move >> 16U == from.value() &&
        wanted.object.compare_exchange_strong(expected, nullptr, std::memory_order_relaxed)) {
      return PoolId{static_cast<PoolId::rep>(move)};
    }
  }
  return {};
}

void Rebalancer::rebalance(Worker& worker, std::uint64_t now_ns) {
  if (busy_.exchange(true, std::memory_order_acquire)) {  // pairs with the release below
    return;
  }
  if (now_ns >= due_ns_.load(std::memory_order_relaxed)) {
    const std::uint64_t elapsed_ns = now_ns - last_ns_;
    last_ns_ = now_ns;
    due_ns_.store(now_ns + std::uint64_t{options_.period_ms} * 1'000'000, std::memory_order_relaxed);
    measure(elapsed_ns);
    const bool counted = std::exchange(counting_, true);
    if (counted) {
      sampled_ns_ += elapsed_ns;
      ++sampled_periods_;
    }
    keep_pools();
    if (counted && quiet_periods_ == 0) {
      const std::vector<PoolMove> pool_moves = choose_pool_moves({}, workers_, pools_);
      move_pools(worker, pool_moves);
      // Objects are looked at when no pool helps: the effect of a pool's move must be seen first.
      if (!heats_.empty() && pool_moves.empty() && sampled_periods_ >= kSampled) {
        move_objects(choose_object_moves({}, workers_, pools_, hot_objects(sampled_ns_)));
        forget_objects();
      }
    } else {
      quiet_periods_ -= std::min(quiet_periods_, 1U);
    }
    if (sampled_periods_ > 2 * kSampled) {
      forget_objects();  // pools moved all the while
    }
  }
  busy_.store(false, std::memory_order_release);
}

void Rebalancer::measure(std::uint64_t elapsed_ns) {
  if (!counting_) {
    elapsed_ns = 0;  // since when is not known yet
  }
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    Worker& worker = runtime_.worker(WorkerId{static_cast<WorkerId::rep>(i)});
    const std::uint64_t tasks = worker.counters().tasks.load(std::memory_order_relaxed);
    const std::uint64_t of_pools = worker.counters().pool_tasks.load(std::memory_order_relaxed);
    const std::uint64_t fixed = grown(workers_fixed_[i], tasks > of_pools ? tasks - of_pools : 0);
    workers_[i].fixed = averaged(workers_[i].fixed, a_second(fixed, elapsed_ns));
    workers_[i].room = worker.pool_leases().owned().room();
  }
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    const TaskPool& pool = runtime_.pool(PoolId{static_cast<PoolId::rep>(i)});
    pools_[i].owner = pool.owner();
    pools_[i].tasks = averaged(pools_[i].tasks, a_second(grown(pools_taken_[i], pool.taken()), elapsed_ns));
    pools_[i].for_objects = pool.id() != runtime_.worker(pool.owner()).pinned_pool();
    pools_rest_[i] -= std::min(pools_rest_[i], 1U);
    pools_[i].movable = pools_[i].for_objects && pools_rest_[i] == 0;
  }
}

// Keeps pools that were moved, and pools whose work is one object's: it cannot be shared. From other pools
// thieves may take the tasks they find, though the loads are even: often they have sent these there
// themselves.
void Rebalancer::keep_pools() {
  const std::vector<bool> might = choose_kept_pools({}, workers_, pools_);
  const bool sampled = sampled_periods_ >= kSampled;
  std::vector<bool> undivided(pools_.size());
  if (sampled) {
    for (const ObjectLoad& object : hot_objects(sampled_ns_)) {
      const PoolLoad& pool = pools_[object.pool.index()];
      undivided[object.pool.index()] =
          undivided[object.pool.index()] || 100 * object.tasks >= kUndivided * pool.tasks;
    }
  }
  std::size_t maker = 0;
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    TaskPool& pool = runtime_.pool(PoolId{static_cast<PoolId::rep>(i)});
    while (maker + 1 < workers_.size() && first_pool_of(runtime_, maker + 1) <= i) {
      ++maker;
    }
    const bool moved = pools_rest_[i] != 0 || pools_[i].owner.index() != maker;
    const bool known = moved || undivided[i] || (!sampled && pool.kept());
    if (pool.kept() != (might[i] && known)) {
      pool.keep(might[i] && known);
    }
  }
}

void Rebalancer::move_pools(Worker& worker, const std::vector<PoolMove>& moves) {
  for (const PoolMove& move : moves) {
    MXKV_ASSERT(pools_rest_[move.pool.index()] == 0 && move.from != move.to, "a pool that moved rests");
    quiet_periods_ = kQuiet;
    pools_rest_[move.pool.index()] = kRest;
    send_pool(worker, runtime_.pool(move.pool), move.from, move.to);
  }
}

void Rebalancer::move_objects(const std::vector<ObjectMove>& moves) noexcept {
  MXKV_ASSERT(moves.size() <= wanted_.size(), "each move finds a place");
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    Wanted& wanted = wanted_[i];
    wanted.object.store(nullptr, std::memory_order_relaxed);
    if (i < moves.size()) {
      wanted.move.store((std::uint32_t{moves[i].from.value()} << 16U) | moves[i].to.value(),
                        std::memory_order_release);  // pairs with claim()
      wanted.object.store(moves[i].object, std::memory_order_release);
      if (runtime_.pool(moves[i].from).kept()) {
        runtime_.pool(moves[i].to)
            .keep(true);  // the work comes with it, and is counted there in the next period
      }
      quiet_periods_ = kQuiet;
    }
  }
}

void Rebalancer::forget_objects() noexcept {
  sampled_periods_ = 0;
  sampled_ns_ = 0;
  for (ObjectHeat& heat : heats_) {
    heat.forget();
  }
}

std::vector<ObjectLoad> Rebalancer::hot_objects(std::uint64_t elapsed_ns) const {
  std::vector<ObjectLoad> objects;
  for (const ObjectHeat& heat : heats_) {
    for (const ObjectHeat::Slot& slot : heat.slots()) {
      const std::uint64_t tasks = a_second(slot.tasks.load(std::memory_order_relaxed), elapsed_ns);
      if (tasks == 0) {
        continue;
      }
      const ObjectLoad load{.object = slot.object.load(std::memory_order_relaxed),
                            .pool = PoolId{slot.pool.load(std::memory_order_relaxed)},
                            .tasks = tasks};
      // Thieves meet it, too.
      const auto known = std::find_if(objects.begin(), objects.end(), [&load](const ObjectLoad& other) {
        return other.object == load.object;
      });
      if (known == objects.end()) {
        objects.push_back(load);
      } else {
        known->tasks += tasks;
      }
    }
  }
  return objects;
}

}  // namespace mxkv::runtime

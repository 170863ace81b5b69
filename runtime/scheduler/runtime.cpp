#include "runtime/scheduler/runtime.hpp"

#include <algorithm>
#include <functional>
#include <latch>
#include <string>
#include <system_error>

#include "runtime/base/assert.hpp"
#include "runtime/scheduler/rebalancing/rebalancer.hpp"
#include "runtime/topology/binding.hpp"
#include "runtime/topology/order.hpp"

namespace mxkv::runtime {

namespace {

/// The epoch advances at the latest when workers have retired this part of the limit: retired memory must not be
/// most of what a full cache keeps free.
constexpr std::size_t kRetiredPart = 256;
constexpr std::size_t kLeastAdvanceBytes = std::size_t{64} << 10U;

/// Heaps and pools of spans are by node: a worker on a node without them would take memory that is not there.
RuntimeOptions checked(RuntimeOptions options) {
  MXKV_ASSERT(!options.workers.empty(), "a runtime has at least one worker");
  const std::size_t nodes = std::max<std::size_t>(options.os_nodes.size(), 1);
  for (const WorkerPlacement& worker : options.workers) {
    MXKV_ASSERT(worker.node.index() < nodes, "a worker's node is one of os_nodes (none given: node 0)");
  }
  if (options.memory.limit_bytes != 0) {
    const std::size_t part = options.memory.limit_bytes / kRetiredPart / options.workers.size();
    options.epoch.advance_bytes = std::min(options.epoch.advance_bytes, std::max(part, kLeastAdvanceBytes));
  }
  return options;
}

PageOptions page_options(const RuntimeOptions& options) {
  PageOptions pages;
  pages.huge_pages = options.memory.huge_pages;
  pages.numa_placement = options.memory.numa_placement;
  pages.in_core = options.memory.in_core;
  pages.os_nodes = options.os_nodes;
  if (!options.os_nodes.empty() && !options.node_bytes.empty()) {
    MXKV_ASSERT(options.node_bytes.size() == options.os_nodes.size(),
                "each node has a share, if only of nothing");
    pages.shares = std::make_shared<NodeShares>(options.node_bytes);
  }
  return pages;
}

/// The part of the budget that items leave: a growing tree, buffers and replies need memory when items have
/// the rest.
constexpr std::size_t kOthersPart = 32;
constexpr std::size_t kMostLeftToOthers = std::size_t{64} << 20U;

ValueSpaceOptions space_options(const RuntimeOptions& options, const PageOptions& pages,
                                memory_category category) {
  ValueSpaceOptions space;
  space.pages = pages;
  space.category = category;
  space.workers = options.workers.size();
  if (category == memory_category::items) {
    space.left_to_others = std::min(options.memory.limit_bytes / kOthersPart, kMostLeftToOthers);
  }
  return space;
}

/// Where each worker's pools begin: one pinned pool and those for data objects.
std::vector<std::size_t> first_pools(const RuntimeOptions& options) {
  std::vector<std::size_t> first{0};
  for (const WorkerPlacement& worker : options.workers) {
    const std::size_t pools = worker.pools != 0 ? worker.pools : options.pools_per_worker;
    MXKV_ASSERT(pools >= 1, "data objects need at least one pool a worker");
    first.push_back(first.back() + 1 + pools);
  }
  return first;
}

/// The machine; where its topology is not known, one made from the placement of the workers.
const Topology& known_topology(RuntimeOptions& options) {
  if (options.topology == nullptr) {
    options.topology = std::make_shared<const Topology>(plain_topology(options.workers));
  }
  return *options.topology;
}

/// The state that start() and the new threads agree over; outlives whichever of them looks last.
struct StartUp {
  explicit StartUp(std::ptrdiff_t workers) : ready(workers) {}
  std::latch ready;
  std::latch decided{1};
  std::mutex mutex;
  std::string failure;  ///< guarded by mutex until `ready`, constant after
};

}  // namespace

Runtime::Runtime(RuntimeOptions options, const Clock& clock)
    : options_(checked(std::move(options))),
      clock_(clock),
      first_pools_(first_pools(options_)),
      epochs_(options_.workers.size()),
      budget_(options_.memory.limit_bytes == 0 ? MemoryBudget::kUnlimited : options_.memory.limit_bytes,
              options_.workers.size()),
      pages_(page_options(options_)),
      task_memory_(budget_, pages_),
      item_space_(budget_, space_options(options_, pages_, memory_category::items)),
      node_space_(budget_, space_options(options_, pages_, memory_category::index)),
      outside_heap_(task_memory_.processor_heap(options_.workers.front().node)),
      pools_(std::make_unique<TaskPool[]>(first_pools_.back())),
      places_(known_topology(options_), options_.workers, first_pools_.back()),
      rebalancer_(options_.rebalance.strategy == rebalance_strategy::off
                      ? nullptr
                      : std::make_unique<Rebalancer>(*this)) {
  for (const std::size_t group : worker_groups(*options_.topology, options_.workers, options_.order)) {
    while (deferred_queues_.size() <= group) {
      deferred_queues_.emplace_back();
    }
  }
  for (std::size_t i = 0; i < options_.workers.size(); ++i) {
    const WorkerId id{static_cast<std::uint16_t>(i)};
    const std::size_t first = first_pools_[i];
    const std::size_t end = first_pools_[i + 1];
    const std::size_t node = options_.workers[i].node.index();
    node_pools_.resize(std::max(node_pools_.size(), node + 1));
    for (std::size_t p = first; p < end; ++p) {
      const PoolId pool{static_cast<std::uint16_t>(p)};
      pools_[p].assign(pool, id);
      if (p != first) {
        node_pools_[node].push_back(pool);
      }
    }
    Worker& worker = workers_.emplace_back(*this, id, options_.workers[i].node,
                                           std::span<TaskPool>{&pools_[first], end - first});
    worker.set_poller(event_pollers_.emplace_back());
  }
  for (Worker& worker : workers_) {
    connect(worker);
  }
  // Woken whether parked or not: the owner may be between its last collect() and its parking, and is not
  // woken again. One wake too many for each 256 KiB of foreign frees is cheap.
  item_space_.set_bin_owners(bin_owners_);
  node_space_.set_bin_owners(bin_owners_);
}

void Runtime::connect(Worker& worker) {
  const WorkerId id = worker.id();
  const auto near = [&](auto order) {
    return within(options_.stealing, order(*options_.topology, options_.workers, id), options_.workers, id);
  };
  LocalityOrder order =
      locality_order(*options_.topology, options_.workers, id, options_.order, options_.order_reach);
  LocalityPeers peers;
  peers.own_group = &deferred_queue(order.group);
  for (const WorkerId mate : order.group_mates) {
    peers.group_mates.push_back(&this->worker(mate).locality_queues().immediate());
  }
  for (const std::size_t group : order.far_groups) {
    peers.far_groups.push_back(&deferred_queue(group));
  }
  for (const WorkerId mate : order.node_mates) {
    peers.node_mates.push_back(&this->worker(mate).locality_queues().immediate());
  }
  for (const WorkerId mate : order.far_mates) {
    if (options_.spill_above != 0) {
      peers.far_mates.push_back(&this->worker(mate).locality_queues().immediate());
    }
  }
  worker.connect({.victims = near(steal_order),
                  .thieves = near(wake_order),
                  .wake_immediate = std::move(order.wake_immediate),
                  .wake_deferred = std::move(order.wake_deferred)},
                 std::move(peers));
}

Runtime::~Runtime() {
  stop();
  drain_stopped();
}

ReclaimKind Runtime::add_reclaim_kind(ReclaimFunction function) {
  MXKV_ASSERT(function != nullptr, "a kind is freed by a function");
  MXKV_ASSERT(reclaim_kinds_ < kMaxReclaimKinds, "the table of reclaim functions is full");
  reclaim_functions_[reclaim_kinds_] = function;
  return ReclaimKind{static_cast<std::uint8_t>(reclaim_kinds_++)};
}

ReclaimKind Runtime::reclaim_kind(ReclaimFunction function) const noexcept {
  std::size_t kind = 0;
  while (kind < reclaim_kinds_ && reclaim_functions_[kind] != function) {
    ++kind;
  }
  MXKV_ASSERT(kind < reclaim_kinds_, "a kind is registered before its first object is retired");
  return ReclaimKind{static_cast<std::uint8_t>(kind)};
}

Result<std::size_t> Runtime::start() {
  MXKV_ASSERT(threads_.empty(), "the runtime is started once");
  const auto start_up = std::make_shared<StartUp>(static_cast<std::ptrdiff_t>(workers_.size()));
  threads_.reserve(workers_.size());
  const auto fail = [start_up](const std::string& why) {
    const std::scoped_lock lock{start_up->mutex};
    start_up->failure = why;
  };
  const auto work = [this, start_up, fail](Worker& worker) {
    const WorkerPlacement& placement = options_.workers[worker.id().index()];
    pthread_setname_np(pthread_self(), ("worker-" + std::to_string(worker.id().index())).c_str());
    if (placement.pinned) {
      if (const Result<PuId> pinned = pin_current_thread(placement.pu); !pinned) {
        fail(pinned.error().message);
      }
    }
    start_up->ready.count_down();
    start_up->decided.wait();
    if (start_up->failure.empty()) {
      worker.run();
    }
  };
  try {
    for (Worker& worker : workers_) {
      threads_.emplace_back(work, std::ref(worker));
    }
  } catch (const std::system_error& error) {
    // The threads that exist wait for a decision; the missing ones must not be waited for.
    fail(std::string{"a worker's thread: "} + error.what());
    start_up->ready.count_down(static_cast<std::ptrdiff_t>(workers_.size() - threads_.size()));
  }
  start_up->ready.wait();
  start_up->decided.count_down();
  if (start_up->failure.empty()) {
    return workers_.size();
  }
  threads_.clear();
  return Error{start_up->failure};
}

std::size_t Runtime::retired_bytes() const noexcept {
  std::size_t sum = 0;
  for (const Worker& worker : workers_) {
    sum += worker.counters().retired_bytes.load(std::memory_order_relaxed);
  }
  return sum;
}

void Runtime::stop() {
  stopping_.store(true, std::memory_order_seq_cst);  // pairs with Worker::prepare_to_park()
  for (Worker& worker : workers_) {
    worker.wake();
  }
  threads_.clear();  // joins
}

PoolId Runtime::pool_for_object(WorkerId worker, std::uint64_t random,
                                access_frequency frequency) const noexcept {
  if (frequency == access_frequency::low) {
    return pool_for_object(worker, random);
  }
  const std::vector<PoolId>& pools = node_pools_[options_.workers[worker.index()].node.index()];
  const auto at = [&pools](std::uint64_t i) { return pools[i % pools.size()]; };
  const auto less = [this](PoolId a, PoolId b) {
    return pools_[a.index()].taken() < pools_[b.index()].taken();
  };
  const PoolId first = at(random & 0xFFFFFFFFU);
  if (frequency == access_frequency::moderate) {
    return std::min(first, at((random & 0xFFFFFFFFU) + 1 + (random >> 32U)), less);
  }
  // Begun at random, so that those without a task yet take turns.
  PoolId best = first;
  for (std::size_t i = 1; i < pools.size(); ++i) {
    best = std::min(best, at((random & 0xFFFFFFFFU) + i), less);
  }
  return best;
}

bool Runtime::announce(const TaskPool& pool, const Worker* by) noexcept {
  Worker& owner = worker(pool.owner());
  // The owner itself looks at its pools before it executes on, and wakes thieves if it leaves one.
  return &owner != by &&
         (owner.wake_if_parked() || (pool.id() != owner.pinned_pool() && !pool.kept() && owner.wake_thief()));
}

void Runtime::drain_stopped() noexcept {
  MXKV_ASSERT(threads_.empty(), "no worker runs any more");
  // No worker runs: every epoch is over. Reclaim functions may spawn tasks, such as tasks that take a subtree
  // apart, and dropped tasks may retire objects: until neither is left.
  for (bool any = true; any;) {
    any = false;
    for (Worker& worker : workers_) {
      any = worker.discard_tasks() > 0 || worker.retired_objects() > 0 || any;
      worker.reclaim_all_stopped();
    }
    any = joins_.discard_waiting(workers_.front()) > 0 || any;
  }
}

}  // namespace mxkv::runtime

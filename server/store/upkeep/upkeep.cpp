#include "server/store/upkeep/upkeep.hpp"

#include "runtime/scheduler/runtime.hpp"
#include "server/store/core/store_state.hpp"

namespace mxkv::server {

namespace {

/// Requests wait so long for fragments that are gathered, if there is no break between them.
constexpr std::uint64_t kMostGatherNs = 1'000'000'000;
/// A waiting request asks in every round: a request that asks after this long is another one.
constexpr std::uint64_t kGatherBreakNs = 100'000'000;
/// Requests wait so long for a cleared tree that is being taken apart, which goes on beside other work.
constexpr std::uint64_t kMostTearDownNs = 2'000'000'000;
/// How often requests that wait wake parked workers.
constexpr std::uint64_t kWakeEveryNs = 1'000'000;

/// Changes whenever an item is retired, and seldom else: not if items are only added.
template <class Count>
std::uint64_t sign_of(const Count& count) noexcept {
  const std::uint64_t replaced = count(counter::total_items) - count(counter::items_added);
  return 2 * count(counter::items_removed) + replaced + count(counter::items_moved);
}

}  // namespace

Upkeep::Upkeep(StoreState& store, std::size_t workers, const UpkeepOptions& options)
    : store_(store),
      defragments_(options.defragments),
      evicts_(options.evicts),
      merger_(store, options.merge_after),
      ghosts_(store.tree().runtime().budget()),
      quotas_(store.quotas() == nullptr ? nullptr : std::make_unique<QuotaEviction>(store)),
      passes_(workers) {
  set_options(options);
  for (std::size_t i = 0; i < workers; ++i) {
    workers_.emplace_back(eviction_, passes_);
    WorkerContext& context = store.context(runtime::WorkerId{static_cast<std::uint16_t>(i)});
    context.upkeep = this;
    context.sweep = &sweep_;
    context.ghosts = &ghosts_;
  }
}

std::uint64_t Upkeep::freed_sign() const noexcept {
  return sign_of([this](counter which) { return store_.total(which); });
}

/// A pass that frees all that was freed so far: the last one, or a new one.
std::uint32_t Upkeep::pass_for_all(runtime::Worker& worker) noexcept {
  FreedMemory& own = workers_[worker.id().index()].freed;
  const std::uint64_t freed = freed_sign();
  if (own.pass == 0 || freed != own.freed || passes_.ended(own.pass, worker)) {
    own.freed = freed;
    own.pass = passes_.want();
  }
  return own.pass;
}

/// Whether a defragmenter may help, and requests have not waited for that for too long. Makes the defragmenters hurry.
/// Looks at all workers.
bool Upkeep::gathers(runtime::Worker& worker) noexcept {
  FreedMemory& own = workers_[worker.id().index()].freed;
  bool may_help = false;
  for (std::size_t i = 0; defragments() && i < workers_.size(); ++i) {
    const runtime::WorkerId id{static_cast<runtime::WorkerId::rep>(i)};
    may_help = may_help || workers_[i].defragmenter.may_help(worker.runtime().worker(id).items());
  }
  if (!may_help) {
    own.gathers_last_ns = 0;
    return false;
  }
  const std::uint64_t now_ns = worker.now_ns();
  if (own.gathers_last_ns == 0 || now_ns - own.gathers_last_ns > kGatherBreakNs) {
    own.gathers_since_ns = now_ns;
  }
  own.gathers_last_ns = now_ns;
  for (PerWorker& each : workers_) {
    each.defragmenter.hurry();
  }
  return now_ns - own.gathers_since_ns < kMostGatherNs;
}

/// Whether a cleared tree is being taken apart, and requests have not waited for that for too long.
bool Upkeep::waits_for_teardown(runtime::Worker& worker) noexcept {
  std::uint64_t& since_ns = workers_[worker.id().index()].freed.tears_since_ns;
  if (!store_.tears_down()) {
    since_ns = 0;
    return false;
  }
  since_ns = since_ns == 0 ? worker.now_ns() : since_ns;
  return worker.now_ns() - since_ns < kMostTearDownNs;
}

// Requests that are refused for lack of memory ask here in every round. A request waits for a pass that began after it
// asked first. If that was not enough, it waits for passes while a cleared tree is taken apart or fragments are
// gathered, and for one behind these.
bool Upkeep::waits_for_freed(runtime::Worker& worker, RoomWait& wait) noexcept {
  if (worker.runtime().options().epoch.mode == runtime::epoch_mode::off) {
    return false;
  }
  FreedMemory& own = workers_[worker.id().index()].freed;
  if (!wait.waits()) {
    if (!begins_to_wait(worker, wait)) {
      return false;
    }
  } else if (passes_.ended(wait.pass(), worker)) {
    const bool may_help = waits_for_teardown(worker) || gathers(worker);
    if (!may_help && !wait.gathers()) {
      return false;
    }
    wait.wait_for(pass_for_all(worker), may_help);
  }
  if (worker.now_ns() >= own.next_wake_ns) {
    own.next_wake_ns = worker.now_ns() + kWakeEveryNs;
    passes_.wake(wait.pass(), worker);
  }
  return true;
}

// If nothing was freed since the last pass that this worker asked for, and there are no fragments, no pass can help.
// One look at all workers serves all requests of a round, unless this worker has freed something since.
bool Upkeep::begins_to_wait(runtime::Worker& worker, RoomWait& wait) noexcept {
  FreedMemory& own = workers_[worker.id().index()].freed;
  const std::uint64_t round = worker.counters().rounds.load(std::memory_order_relaxed);
  const StoreCounters& counters = worker.local<WorkerContext>().counters;
  const std::uint64_t own_freed = sign_of([&counters](counter which) { return counters.value(which); });
  if (round == own.refused_round && own_freed == own.refused_freed) {
    return false;
  }
  const bool is_coming = freed_sign() != own.freed || (own.pass != 0 && !passes_.ended(own.pass, worker));
  const bool may_help = waits_for_teardown(worker) || (!is_coming && gathers(worker));
  if (!is_coming && !may_help) {
    own.refused_round = round;
    own.refused_freed = own_freed;
    return false;
  }
  wait.wait_for(pass_for_all(worker), may_help);
  return true;
}

}  // namespace mxkv::server

#include "server/store/upkeep/reclaim_passes.hpp"

#include "runtime/scheduler/runtime.hpp"

namespace mxkv::server {

namespace {

/// How often a worker tries again whose retired items a task may still read.
constexpr std::uint64_t kTryEveryNs = 1'000'000;

/// A pass ends after this long at the latest.
constexpr std::uint64_t kMostPassNs = 500'000'000;

std::uint64_t objects_freed(const runtime::Worker& worker) noexcept {
  return worker.counters().reclaimed.load(std::memory_order_relaxed);
}

}  // namespace

void reclaim_step(runtime::Worker& worker) {
  if (worker.retired_objects() > 0) {
    worker.reclaim_now();
  }
  for (runtime::ValueHeap* const heap : {&worker.items(), &worker.nodes()}) {
    heap->flush_foreign();  // another worker may wait for these blocks, or for their spans
    heap->trim();
  }
}

std::uint32_t ReclaimPasses::want() noexcept {
  std::uint32_t pass = 0;
  while (pass == 0) {
    // Release: a worker that sees the number also sees what happened before it was asked for.
    pass = (wanted_.fetch_add(1, std::memory_order_release) + 1) & ~kSign;
  }
  return pass;
}

bool ReclaimPasses::all_reached(std::atomic<std::uint32_t> Part::* stage, std::uint32_t pass) const noexcept {
  for (std::size_t i = 0; i < workers_; ++i) {
    // Acquire: blocks that the worker sent home are in the bins, and spans that it gave back can be taken.
    if (!reached((parts_[i].*stage).load(std::memory_order_acquire), pass)) {
      return false;
    }
  }
  return true;
}

void ReclaimPasses::wake(std::uint32_t pass, runtime::Worker& worker) const noexcept {
  for (std::size_t i = 0; i < workers_; ++i) {
    if (i != worker.id().index() && !reached(parts_[i].home.load(std::memory_order_relaxed), pass)) {
      const runtime::WorkerId other{static_cast<runtime::WorkerId::rep>(i)};
      static_cast<void>(worker.runtime().worker(other).wake_if_parked());
    }
  }
}

/// Whether all items are free that were retired when the pass began here. If not, frees some.
bool ReclaimPasses::free_all(Part& own, runtime::Worker& worker) {
  if (worker.now_ns() < own.next_ns) {
    return false;
  }
  const std::uint64_t before = objects_freed(worker);
  reclaim_step(worker);
  const std::uint64_t now_freed = objects_freed(worker);
  MXKV_ASSERT(now_freed + worker.retired_objects() >= own.until, "a retired item is freed, or waits to be");
  own.next_ns = now_freed == before ? worker.now_ns() + kTryEveryNs : 0;
  return now_freed >= own.until;
}

void ReclaimPasses::go_on(runtime::Worker& worker) {
  Part& own = parts_[worker.id().index()];
  if (own.pass == own.ended) {
    own.pass = wanted_.load(std::memory_order_acquire);
    own.until = objects_freed(worker) + worker.retired_objects();
    own.begun_ns = worker.now_ns();
    own.next_ns = 0;
  }
  const bool late = worker.now_ns() - own.begun_ns >= kMostPassNs;
  if (own.freed.load(std::memory_order_relaxed) != own.pass) {
    if (!free_all(own, worker) && !late) {
      return;
    }
    own.freed.store(own.pass, std::memory_order_release);
  }
  if (own.home.load(std::memory_order_relaxed) != own.pass) {
    if (!all_reached(&Part::freed, own.pass) && !late) {
      return;
    }
    for (runtime::ValueHeap* const heap : {&worker.items(), &worker.nodes()}) {
      heap->collect();
      heap->trim();
    }
    own.home.store(own.pass, std::memory_order_release);
  }
  if (all_reached(&Part::home, own.pass) || late) {
    own.ended = own.pass;
  }
}

}  // namespace mxkv::server

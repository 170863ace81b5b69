// Runs numbered operations on a hierarchy, by Toggle or by threads under locks, and counts the results.
//
// A Work offers
//   struct Operation { LeafInterval leaves; bool writes; ... }   what it is to lock, and how; if it has `parts`, these
//                                                                name 64ths of all leaves that it touches, for Toggle
//   std::uint32_t leaves() const
//   Operation operation(std::uint64_t number)     any thread, without a lock; the same for all manners
//   void run(const Operation&, Tally&)            when nothing that conflicts is under way
#pragma once

#include <algorithm>
#include <atomic>
#include <barrier>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/figures/figure.hpp"
#include "bench/figures/interval_locks.hpp"
#include "bench/figures/witness.hpp"
#include "runtime/hierarchy/toggle.hpp"
#include "runtime/scheduler/event_poller.hpp"

namespace mxkv::bench {

struct RunOptions {
  std::uint64_t workers = 2;
  std::uint64_t operations = 100'000;
  std::uint64_t in_flight = 16;  ///< operations that a worker has begun at once, by Toggle
  std::uint64_t buckets = runtime::Toggle::kLeastBuckets;
  std::uint64_t slots_per_bucket = 4;
  runtime::interval_order order = runtime::interval_order::toggle;
  bool hosts = true;  ///< a bucket's operations are ordered, and begin, on its host, as in the paper
  bool stealing = true;
};

/// The figures' names for Toggle with hosts, as in the paper, and for Toggle whose workers order their own
/// operations.
inline constexpr const char* kWithHosts = "Toggle";
inline constexpr const char* kWithoutHosts = "Toggle, no hosts";
/// One queue of intervals [To 4], for tasks.
inline constexpr const char* kInQueue = "tasks in one interval queue";
/// Whether a flag's text names one of them.
[[nodiscard]] inline bool is_hosts(const std::string& text) {
  return text == "on" || text == "off" || text == "both";
}

struct RunResult {
  double seconds = 0;
  std::vector<Tally> workers;

  [[nodiscard]] Tally sum() const noexcept {
    Tally all;
    for (const Tally& one : workers) {
      all.executed += one.executed;
      all.failed += one.failed;
      all.written += one.written;
      all.disturbed += one.disturbed;
      all.away += one.away;
      all.sum += one.sum;
    }
    return all;
  }
  /// Thousand operations a second, of those that found their data.
  [[nodiscard]] double rate() const noexcept {
    const Tally all = sum();
    return static_cast<double>(all.executed - all.failed) / seconds / 1e3;
  }
};

/// Runs operation after operation until they are used up. A worker has several such chains in flight.
template <class Work>
class OperationTask final : public runtime::ToggleTask<OperationTask<Work>> {
 public:
  struct Shared {
    Work& work;
    std::uint64_t operations;
    std::vector<Tally>& tallies;
    std::latch chains;
    std::atomic<std::uint64_t> next{0};  // relaxed: only who gets which number
  };

  OperationTask(const runtime::TaskClass* task_class, runtime::Toggle& toggle, Shared& shared,
                std::uint64_t number)
      : runtime::ToggleTask<OperationTask>(task_class, toggle),
        shared_(&shared),
        operation_(shared.work.operation(number)) {}

  [[nodiscard]] runtime::SlotSet place() const noexcept {
    const runtime::SlotInterval span{slot_of(operation_.leaves.first), slot_of(operation_.leaves.last)};
    if constexpr (requires { operation_.parts; }) {
      return {span, named(operation_.parts)};
    }
    return span;
  }
  [[nodiscard]] bool shared() const noexcept { return !operation_.writes; }
  runtime::step run(runtime::Worker& worker) {
    Tally& tally = shared_->tallies[worker.id().index()];
    shared_->work.run(operation_, tally);
    ++tally.executed;
    tally.away += at_home(worker) ? 0 : 1;
    this->toggle().finished(*this, worker);
    const std::uint64_t number = shared_->next.fetch_add(1, std::memory_order_relaxed);
    if (number < shared_->operations) {
      worker.create<OperationTask>(this->toggle(), *shared_, number)->start(worker);
    } else {
      shared_->chains.count_down();
    }
    return runtime::step::done;
  }

 private:
  /// Workers host the buckets in turn; an operation belongs to the worker of its lowest bucket.
  [[nodiscard]] bool at_home(const runtime::Worker& worker) const noexcept {
    const std::uint32_t inner = this->toggle().slots() / this->toggle().buckets();
    return this->slots().first / inner % shared_->tallies.size() == worker.id().index();
  }
  /// The toggle's bits for 64ths of the leaves.
  [[nodiscard]] std::uint64_t named(std::uint64_t parts) const noexcept {
    const std::uint64_t slots = this->toggle().slots();
    std::uint64_t bits = 0;
    for (; parts != 0; parts &= parts - 1) {
      const auto part = static_cast<std::uint64_t>(std::countr_zero(parts));
      bits |= this->toggle().parts().bits_of({static_cast<std::uint32_t>(part * slots / 64),
                                              static_cast<std::uint32_t>(((part + 1) * slots - 1) / 64)});
    }
    return bits;
  }
  [[nodiscard]] std::uint32_t slot_of(std::uint32_t leaf) const noexcept {
    return static_cast<std::uint32_t>(std::uint64_t{leaf} * this->toggle().slots() / shared_->work.leaves());
  }

  Shared* shared_;
  typename Work::Operation operation_;
};

/// Workers without a task yield, as threads that wait for interval locks do.
class YieldingPoller final : public runtime::Poller {
 public:
  bool poll(runtime::Worker& worker) override {
    if (worker.load() == 0) {
      std::this_thread::yield();
    }
    return false;
  }
  bool end_turn(runtime::Worker& /*worker*/) override { return false; }
  void block(runtime::Worker& worker, std::uint64_t timeout_ns) override {
    events_.block(worker, timeout_ns);
  }
  void wake() noexcept override { events_.wake(); }

 private:
  runtime::EventPoller events_;
};

template <class Work>
RunResult run_by_toggle(Work& work, const RunOptions& options) {
  runtime::RuntimeOptions machine;
  machine.stealing = runtime::stealing_scope::machine;  // idle workers steal what ToggleOptions allows
  machine.spin_rounds = 100'000;  // threads that wait for interval locks do not sleep either
  for (std::uint64_t i = 0; i < options.workers; ++i) {
    machine.workers.emplace_back().pinned = false;
  }
  const runtime::SystemClock clock;
  std::vector<YieldingPoller> pollers(options.workers);
  runtime::Runtime runtime{std::move(machine), clock};
  runtime::Toggle toggle{runtime,
                         {.order = options.order,
                          .buckets = static_cast<std::uint32_t>(options.buckets),
                          .slots_per_bucket = static_cast<std::uint32_t>(options.slots_per_bucket),
                          .hosts = options.hosts,
                          .stealing = options.stealing}};
  RunResult result{0, std::vector<Tally>(options.workers)};
  const std::uint64_t chains = std::min(options.operations, options.in_flight * options.workers);
  using Task = OperationTask<Work>;
  typename Task::Shared shared{work, options.operations, result.workers,
                               std::latch{static_cast<std::ptrdiff_t>(chains)}, chains};
  for (std::uint64_t i = 0; i < options.workers; ++i) {
    runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)}).set_poller(pollers[i]);
  }
  if (const auto started = runtime.start(); !started.ok()) {
    throw std::runtime_error{started.error().message};
  }
  const double begin = wall_seconds();
  for (std::uint64_t i = 0; i < chains; ++i) {
    const runtime::WorkerId worker{static_cast<std::uint16_t>(i % options.workers)};
    // The worker exists, so that nothing can be wrong with it.
    static_cast<void>(runtime.submit(runtime.create_outside<Task>(toggle, shared, i), worker));
  }
  shared.chains.wait();
  result.seconds = wall_seconds() - begin;
  runtime.stop();
  return result;
}

/// The thread of the next operation: the first that asks, as in STMBench7, or the threads in turn, fixed
/// beforehand.
enum class thread_order : std::uint8_t { from_pool, round_robin };

/// Runs a thread a worker; guarded(thread, operation, body) takes the locks, calls body(operation), releases
/// them.
template <class Work, class Guarded>
RunResult run_by_threads(Work& work, const RunOptions& options, thread_order order, const Guarded& guarded) {
  RunResult result{0, std::vector<Tally>(options.workers)};
  std::atomic<std::uint64_t> next{0};  // relaxed: only who gets which number
  double begin = 0;
  std::barrier ready{static_cast<std::ptrdiff_t>(options.workers),
                     [&begin]() noexcept { begin = wall_seconds(); }};
  std::vector<std::jthread> threads;
  for (std::uint64_t thread = 0; thread < options.workers; ++thread) {
    threads.emplace_back([&, thread] {
      Tally& tally = result.workers[thread];
      ready.arrive_and_wait();
      for (std::uint64_t own = thread;; own += options.workers) {
        const std::uint64_t number =
            order == thread_order::round_robin ? own : next.fetch_add(1, std::memory_order_relaxed);
        if (number >= options.operations) {
          return;
        }
        guarded(thread, work.operation(number),
                [&](const typename Work::Operation& operation) { work.run(operation, tally); });
        ++tally.executed;
      }
    });
  }
  threads.clear();  // joins
  result.seconds = wall_seconds() - begin;
  return result;
}

template <class Work>
RunResult run_by_intervals(Work& work, const RunOptions& options, thread_order order) {
  IntervalLocks locks{options.workers};
  return run_by_threads(work, options, order,
                        [&locks](std::size_t thread, const auto& operation, const auto& body) {
                          locks.lock(thread, operation.leaves, operation.writes);
                          body(operation);
                          locks.unlock(thread);
                        });
}

}  // namespace mxkv::bench

#include "bench/figures/tree_models.hpp"

#include <algorithm>
#include <barrier>

#include "bench/figures/direct_walk.hpp"
#include "bench/figures/figure.hpp"
#if MXKV_HAVE_TBB
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

namespace mxkv::bench {
namespace {

runtime::RuntimeOptions options_of(std::size_t workers, const ModelOptions& model) {
  runtime::RuntimeOptions options;
  options.prefetch.mode = model.prefetch;
  options.prefetch.window = model.window;
  options.epoch.mode = model.epochs;
  options.stealing = model.stealing;
  for (std::size_t i = 0; i < workers; ++i) {
    options.workers.push_back({.pu = runtime::PuId{0},
                               .node = runtime::NumaNodeId{0},
                               .pinned = false,
                               .prefetch = {},
                               .pools = 0});
  }
  return options;
}

/// Starts a thread for each worker. Returns the seconds from when all have started until all have done
/// `body(worker)`.
template <class Body>
double on_threads(ModelTree& on, const Body& body) {
  const std::size_t workers = on.runtime.worker_count();
  double start = 0;
  std::barrier ready{static_cast<std::ptrdiff_t>(workers), [&start]() noexcept { start = wall_seconds(); }};
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < workers; ++i) {
    threads.emplace_back([&on, &ready, &body, i] {
      runtime::Worker& worker = on.runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)});
      on.runtime.epochs().enter(worker.id());
      ready.arrive_and_wait();
      body(worker);
    });
  }
  threads.clear();  // joins
  return wall_seconds() - start;
}

/// A thread does so many operations before its worker executes the spawned tasks and renews its epoch.
constexpr std::uint32_t kOperationsBetweenSteps = 64;

/// Runs the task of one write to its end, on the calling thread.
void drive_write(IntegerTree& tree, SharedWork& work, std::uint64_t key, runtime::Worker& worker) {
  auto* const task = worker.create<ModelWrite>(tree, work, key);
  task->begin(worker);
  for (;;) {
    runtime::step next = runtime::step::again;
    if (!task->run_fast(worker, next)) {
      next = runtime::guarded_execute(*task, worker, [](runtime::PoolId) { return false; });
    }
    if (next == runtime::step::done) {
      break;
    }
    if (next == runtime::step::retry) {
      runtime::cpu_relax();
    }
  }
  worker.finish(*task);
}

/// Calls body(comparison, walk) with the comparison and walk that suit processor and tree.
template <class Body>
void with_walk(const IntegerTree& tree, const Body& body) {
  index::line_compare::in_best_way([&](auto compare) {
    switch (tree.options().leaves) {
      case runtime::primitive::reader_writer_latch:
        body(compare, DirectWalk<IntegerTraits, LatchGuard<runtime::SharedLatch>>{tree});
        break;
      case runtime::primitive::spin_latch:
        body(compare, DirectWalk<IntegerTraits, LatchGuard<runtime::WriteLatch>>{tree});
        break;
      default:
        body(compare, DirectWalk<IntegerTraits, VersionGuard>{tree});
    }
  });
}

/// One operation of `work`, by hand unless a node has to be split.
template <class Compare, class Walk>
void do_operation(const Walk& walk, IntegerTree& tree, SharedWork& work, SharedWork::Next next,
                  runtime::Worker& worker, std::uint32_t& operations) {
  if (next.writes) {
    const auto written = walk.template put<Compare>(next.key, ~next.key);
    if (written == Walk::written::no_room) {
      drive_write(tree, work, next.key, worker);  // reports the result to `work`
    } else {
      const bool inserts = work.what() == tree_operation::insert;
      work.finished(worker.id(), true, inserts == (written == Walk::written::inserted));
    }
  } else {
    std::uint64_t value = 0;
    const bool found = walk.template look_up<Compare>(next.key, value);
    work.finished(worker.id(), false, found && value == ~next.key);
  }
  if (++operations % kOperationsBetweenSteps == 0) {
    worker.step();
  }
}

/// Begins up to `number` operations as tasks, if so many are left.
void begin_some(ModelTree& on, SharedWork& work, std::uint64_t number, runtime::Worker& worker) {
  SharedWork::Next next{};
  for (std::uint64_t i = 0; i < number && work.next(worker.id(), next); ++i) {
    start_operation(on.tree, work, next, worker);
  }
}

}  // namespace

std::vector<std::uint32_t> popular_records(std::uint64_t keys) {
  constexpr std::size_t kMostDraws = std::size_t{1} << 22U;
  std::vector<std::uint32_t> records(std::min<std::size_t>(kMostDraws, 4 * keys));
  ScrambledZipfian zipfian{0, keys};
  runtime::Random random{1};
  for (std::uint32_t& record : records) {
    record = static_cast<std::uint32_t>(zipfian.next(random));
  }
  return records;
}

void start_operation(IntegerTree& tree, SharedWork& work, SharedWork::Next next, runtime::Worker& worker) {
  if (next.writes) {
    worker.create<ModelWrite>(tree, work, next.key)->start(worker);
  } else {
    worker.create<ModelRead>(tree, work, next.key)->start(worker);
  }
}

ModelTree::ModelTree(std::size_t workers, NodePrimitives how, const ModelOptions& options)
    : runtime(options_of(workers, options), clock),
      tree(runtime, index::TreeOptions{how.leaves, how.inner_nodes}) {}

std::uint64_t ModelTree::tasks() noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
    sum += runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)})
               .counters()
               .tasks.load(std::memory_order_relaxed);
  }
  return sum;
}

void ModelTree::settle() {
  constexpr int kQuietRounds = 3;
  for (int quiet = 0; quiet < kQuietRounds; ++quiet) {
    for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
      if (runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)}).step()) {
        quiet = 0;
      }
    }
  }
}

double run_mxtasks(ModelTree& on, SharedWork& work, std::uint64_t in_flight) {
  const double seconds = on_threads(on, [&](runtime::Worker& worker) {
    begin_some(on, work, in_flight, worker);
    while (!work.all_finished()) {
      if (!worker.step() && work.all_taken()) {
        // Bound tasks continue on the worker of their last node's pool, so all may have ended elsewhere.
        begin_some(on, work, 1, worker);
      }
    }
  });
  on.settle();
  return seconds;
}

double run_alone(ModelTree& on, SharedWork& work, std::uint64_t in_flight) {
  runtime::Worker& worker = on.runtime.worker(runtime::WorkerId{0});
  on.runtime.epochs().enter(worker.id());
  const double start = thread_cpu_seconds();
  begin_some(on, work, in_flight, worker);
  while (!work.all_finished()) {
    worker.step();
  }
  return thread_cpu_seconds() - start;
}

double run_threads(ModelTree& on, SharedWork& work) {
  MXKV_ASSERT(!work.chained(), "the task of a split ends, and the loop goes on");
  const double seconds = on_threads(on, [&](runtime::Worker& worker) {
    std::uint32_t operations = 0;
    with_walk(on.tree, [&](auto compare, const auto& walk) {
      for (SharedWork::Next next{}; work.next(worker.id(), next);) {
        do_operation<decltype(compare)>(walk, on.tree, work, next, worker, operations);
      }
    });
    while (!work.all_finished()) {
      worker.step();  // other workers may need the tasks in this worker's pools
    }
  });
  on.settle();
  return seconds;
}

#if MXKV_HAVE_TBB
double run_tbb(ModelTree& on, SharedWork& work, std::uint64_t operations_a_task) {
  MXKV_ASSERT(!work.chained(), "the task of a split ends, and the loop goes on");
  const std::size_t workers = on.runtime.worker_count();
  tbb::task_arena arena{static_cast<int>(workers)};
  struct alignas(2 * runtime::kCacheLineBytes) Operations {
    std::uint32_t count = 0;
  };
  std::vector<Operations> operations(workers);
  for (std::size_t i = 0; i < workers; ++i) {
    on.runtime.epochs().enter(runtime::WorkerId{static_cast<std::uint16_t>(i)});
  }
  const auto body = [&](const tbb::blocked_range<std::uint64_t>& range) {
    // A slot of the arena is one thread's at a time, and so is the worker of its number.
    const auto slot = static_cast<std::uint16_t>(tbb::this_task_arena::current_thread_index());
    runtime::Worker& worker = on.runtime.worker(runtime::WorkerId{slot});
    with_walk(on.tree, [&](auto compare, const auto& walk) {
      for (std::uint64_t i = range.begin(); i < range.end(); ++i) {
        do_operation<decltype(compare)>(walk, on.tree, work, work.number(i, worker.id()), worker,
                                        operations[slot].count);
      }
    });
  };
  const double start = wall_seconds();
  arena.execute([&] {
    tbb::parallel_for(tbb::blocked_range<std::uint64_t>{0, work.operations(), operations_a_task}, body,
                      tbb::simple_partitioner{});
  });
  const double seconds = wall_seconds() - start;
  on.settle();
  return seconds;
}
#endif

}  // namespace mxkv::bench

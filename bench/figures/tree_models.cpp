#include "bench/figures/tree_models.hpp"

#include <barrier>

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

/// Seconds until a thread for each worker has done `body(worker)`, from when all of them were there.
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

}  // namespace

ModelTree::ModelTree(std::size_t workers, runtime::primitive how, const ModelOptions& options)
    : runtime(options_of(workers, options), clock), tree(runtime, index::TreeOptions{how, how}) {}

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
    const auto spawn_next = [&] {
      std::uint64_t key = 0;
      if (!work.next(worker.id(), key)) {
        return false;
      }
      if (work.what() == tree_operation::look_up) {
        worker.create<ModelRead>(on.tree, work, key)->start(worker);
      } else {
        worker.create<ModelWrite>(on.tree, work, key)->start(worker);
      }
      return true;
    };
    for (std::uint64_t i = 0; i < in_flight && spawn_next(); ++i) {
    }
    while (!work.all_finished()) {
      if (!worker.step() && work.all_taken()) {
        spawn_next();  // bound tasks go on where their last node's pool is: all may have ended elsewhere
      }
    }
  });
  on.settle();
  return seconds;
}

double run_threads(ModelTree& on, SharedWork& work) {
  const double seconds = on_threads(on, [&](runtime::Worker& worker) {
    std::uint32_t hops = 0;
    std::uint64_t key = 0;
    if (work.next(worker.id(), key)) {
      drive_operation(on.tree, work, key, worker, hops);
    }
    while (!work.all_finished()) {
      worker.step();  // others may need what waits in this worker's pools
    }
  });
  on.settle();
  return seconds;
}

#if MXKV_HAVE_TBB
double run_tbb(ModelTree& on, SharedWork& work, std::uint64_t operations_a_task) {
  const std::size_t workers = on.runtime.worker_count();
  tbb::task_arena arena{static_cast<int>(workers)};
  struct alignas(2 * runtime::kCacheLineBytes) Hops {
    std::uint32_t count = 0;
  };
  std::vector<Hops> hops(workers);
  for (std::size_t i = 0; i < workers; ++i) {
    on.runtime.epochs().enter(runtime::WorkerId{static_cast<std::uint16_t>(i)});
  }
  const auto body = [&](const tbb::blocked_range<std::uint64_t>& range) {
    // A slot of the arena is one thread's at a time, and so is the worker of its number.
    const auto slot = static_cast<std::uint16_t>(tbb::this_task_arena::current_thread_index());
    runtime::Worker& worker = on.runtime.worker(runtime::WorkerId{slot});
    for (std::uint64_t i = range.begin(); i < range.end(); ++i) {
      drive_operation(on.tree, work, work.key_for(i, worker.id()), worker, hops[slot].count);
    }
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

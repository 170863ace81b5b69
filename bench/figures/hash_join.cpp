// [Mx fig. 9]: granularity of tasks, by a hash join of customer and orders as TPC-H has them.
//
// Every worker owns the hash table of one partition of the keys. Both inputs are cut into morsels; a worker
// partitions a morsel's rows and hands every full batch to the partition's owner as a task, first to build
// and, when all is built, to probe. "When all is built" is a dependency [Mx fig. 1]: all tasks that build
// come before a join, and the tasks that partition the other input after it. The figure is rows joined a
// second by the rows of a batch. Beside it is the same join on oneTBB. TBB's tasks run anywhere, so its
// tables are latched while they are built, and it waits for all building tasks.
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <map>
#include <memory>
#include <source_location>
#include <thread>
#include <utility>
#include <vector>

#include "bench/figures/figure.hpp"
#include "bench/figures/join_tables.hpp"
#include "runtime/scheduler/runtime.hpp"
#if MXKV_HAVE_TBB
#include <tbb/spin_mutex.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#endif

namespace {

using namespace mxkv;  // NOLINT(google-build-using-namespace): a program, not a header
using bench::Batches;
using bench::Partition;
using bench::Phase;
using bench::Row;
using bench::Tables;
using runtime::step;
using runtime::Worker;
using runtime::WorkerId;

/// State that the tasks of one join share.
struct JoinRun {
  Phase build;
  Phase probe;
  std::vector<Partition> partitions;
  std::size_t batch_rows;
  runtime::Join* built = nullptr;
  runtime::Join* probed = nullptr;
  std::atomic<std::uint64_t> early{0};  ///< probes that began before all was built; relaxed: a count
  std::atomic<bool> ended{false};       ///< release: the result is complete
};

/// Spawns a task with dependencies that cannot be wrong.
void spawn_dependent(Worker& worker, runtime::DependentTask& task) {
  if (!runtime::spawn_dependent(worker, task, std::source_location::current())) {
    std::abort();
  }
}

class BatchTask final : public runtime::DependentTask {
 public:
  BatchTask(const runtime::TaskClass* task_class, JoinRun& run, Phase& phase, Partition& partition,
            const Row* rows, std::size_t count) noexcept
      : DependentTask(task_class), run_(&run), phase_(&phase), partition_(&partition), count_(count) {
    constexpr std::size_t kPrefetchedBytes =
        256;  // the processor prefetches the rest of a sequence by itself
    annotate(runtime::TaggedPointer::unsynchronized(rows), std::min(count * sizeof(Row), kPrefetchedBytes));
    annotate(runtime::before(phase.probes() ? *run.probed : *run.built));
    rows_ = rows;
  }
  step execute(Worker& /*worker*/) {
    if (phase_->probes() && !run_->build.done()) {
      run_->early.fetch_add(1, std::memory_order_relaxed);
    }
    phase_->run_batch(*partition_, rows_, count_);
    return step::done;
  }

 private:
  JoinRun* run_;
  Phase* phase_;
  Partition* partition_;
  const Row* rows_;
  std::size_t count_;
};

class PartitionTask final : public runtime::DependentTask {
 public:
  PartitionTask(const runtime::TaskClass* task_class, JoinRun& run, Phase& phase) noexcept
      : DependentTask(task_class), run_(&run), phase_(&phase) {
    annotate(runtime::priority::low);  // as the paper's feeders, so that waiting batches stay in cache
    annotate(runtime::before(phase.probes() ? *run.probed : *run.built));
    if (phase.probes()) {
      annotate(runtime::after(*run.built));
    }
  }
  step execute(Worker& worker) {
    constexpr std::size_t kMostUnderWay = std::size_t{1} << 20U;  // else tasks for another worker pile up
    bool more = true;
    if (phase_->under_way() < kMostUnderWay) {
      more = phase_->partition(worker.id().index(), run_->batch_rows,
                               [&](std::size_t partition, const Row* rows, std::size_t count) {
                                 auto* task = worker.create<BatchTask>(
                                     *run_, *phase_, run_->partitions[partition], rows, count);
                                 task->annotate(WorkerId{static_cast<std::uint16_t>(partition)});
                                 spawn_dependent(worker, *task);
                               });
    }
    if (!more) {
      return step::done;
    }
    worker.spawn(this);  // behind what it spawned
    return step::parked;
  }

 private:
  JoinRun* run_;
  Phase* phase_;
};

class EndTask final : public runtime::DependentTask {
 public:
  EndTask(const runtime::TaskClass* task_class, JoinRun& run) noexcept
      : DependentTask(task_class), run_(&run) {
    annotate(runtime::after(*run.probed));
  }
  step execute(Worker& /*worker*/) {
    run_->ended.store(true, std::memory_order_release);  // pairs with the threads' loop
    return step::done;
  }

 private:
  JoinRun* run_;
};

/// Spawns all tasks of a join; annotations give their order.
void begin(JoinRun& run, std::size_t workers, Worker& worker) {
  run.built = worker.runtime().joins().create("built").value();
  run.probed = worker.runtime().joins().create("probed").value();
  spawn_dependent(worker, *worker.create<EndTask>(run));
  for (Phase* const phase : {&run.probe, &run.build}) {
    for (std::size_t i = 0; i < workers; ++i) {
      auto* task = worker.create<PartitionTask>(run, *phase);
      task->annotate(WorkerId{static_cast<std::uint16_t>(i)});
      spawn_dependent(worker, *task);
    }
  }
  // Counted tasks hold the joins open, and refer to them until they end.
  for (runtime::Join* const join : {run.built, run.probed}) {
    runtime::end_predecessor(worker, *join);
  }
}

/// Million rows a second of both inputs; 0 if the result is wrong.
double rate_of(const Tables& tables, const std::vector<Partition>& partitions, double seconds) {
  std::uint64_t matches = 0;
  for (const Partition& partition : partitions) {
    matches += partition.matches.load(std::memory_order_relaxed);
  }
  const bool right = matches == tables.orders.size();
  return right ? static_cast<double>(tables.customers.size() + tables.orders.size()) / seconds / 1e6 : 0;
}

struct Inputs {
  Tables tables;
  std::size_t workers;
  Batches of_customers;
  Batches of_orders;
};

struct Joined {
  double rate;   ///< 0: wrong
  double tasks;  ///< that were executed
};

Joined join_by_mxtasks(const Inputs& in, std::size_t batch_rows) {
  runtime::RuntimeOptions options;
  for (std::size_t i = 0; i < in.workers; ++i) {
    options.workers.emplace_back().pinned = false;
  }
  const runtime::SystemClock clock;
  runtime::Runtime runtime{options, clock};
  JoinRun run{.build = {in.tables.customers, in.of_customers, false, in.workers},
              .probe = {in.tables.orders, in.of_orders, true, in.workers},
              .partitions = bench::partitions_for(in.tables, in.workers),
              .batch_rows = batch_rows};
  double start = 0;
  std::barrier together{static_cast<std::ptrdiff_t>(in.workers),
                        [&start]() noexcept { start = bench::wall_seconds(); }};
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < in.workers; ++i) {
    threads.emplace_back([&, i] {
      Worker& worker = runtime.worker(WorkerId{static_cast<std::uint16_t>(i)});
      together.arrive_and_wait();
      if (i == 0) {
        begin(run, in.workers, worker);
      }
      while (!run.ended.load(std::memory_order_acquire)) {  // pairs with EndTask
        worker.step();
      }
    });
  }
  threads.clear();  // joins
  const double seconds = bench::wall_seconds() - start;
  double tasks = 0;
  for (std::size_t i = 0; i < in.workers; ++i) {
    Worker& worker = runtime.worker(WorkerId{static_cast<std::uint16_t>(i)});
    tasks += static_cast<double>(worker.counters().tasks.load(std::memory_order_relaxed));
  }
  for (runtime::Join* const join : {run.built, run.probed}) {
    runtime::release_join(runtime.worker(WorkerId{0}), *join);
  }
  const bool early = run.early.load(std::memory_order_relaxed) > 0;
  return {early ? 0 : rate_of(in.tables, run.partitions, seconds), tasks};
}

#if MXKV_HAVE_TBB
double join_by_tbb(const Inputs& in, std::size_t batch_rows) {
  std::vector<Partition> partitions = bench::partitions_for(in.tables, in.workers);
  Phase build{in.tables.customers, in.of_customers, false, in.workers};
  Phase probe{in.tables.orders, in.of_orders, true, in.workers};
  tbb::task_arena arena{static_cast<int>(in.workers)};
  const double start = bench::wall_seconds();
  arena.execute([&] {
    for (Phase* phase : {&build, &probe}) {
      tbb::task_group group;
      for (std::size_t i = 0; i < in.workers; ++i) {
        group.run([&, phase, i] {
          const auto dispatch = [&](std::size_t partition, const Row* rows, std::size_t count) {
            group.run([&partitions, phase, partition, rows, count] {
              Partition& target = partitions[partition];
              if (phase->probes()) {
                phase->run_batch(target, rows, count);
              } else {
                const tbb::spin_mutex::scoped_lock lock{target.latch};
                phase->run_batch(target, rows, count);
              }
            });
          };
          while (phase->partition(i, batch_rows, dispatch)) {
          }
        });
      }
      group.wait();
    }
  });
  return rate_of(in.tables, partitions, bench::wall_seconds() - start);
}
#endif

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t percent = 100;
  std::uint64_t workers = std::max(1U, std::thread::hardware_concurrency());
  bench::Figure figure{"hash-join", "Granularity of tasks, by a hash join [Mx fig. 9]"};
  figure.number("scale-percent", percent, "TPC-H's scale factor in hundredths: 100 are 150,000 customers");
  figure.number("workers", workers, "workers or threads", 1, 256);
  if (const auto code = figure.parse(argc, argv)) {
    return *code;
  }
  Tables tables = bench::generate(bench::kCustomersPerScale * percent / 100);
  const std::size_t customers = tables.customers.size();
  const std::size_t orders = tables.orders.size();
  const Inputs in{std::move(tables), workers, {customers, workers}, {orders, workers}};
  bool right = true;
  const auto checked = [&right](double rate) {
    right = right && rate > 0;
    return rate;
  };
  std::map<std::size_t, double> tasks;
  std::vector<bench::Variant> variants;
  for (std::size_t rows = 1; rows <= 65'536; rows *= 4) {
    variants.push_back({"MxTasks", static_cast<double>(rows), [&, rows] {
                          const Joined joined = join_by_mxtasks(in, rows);
                          tasks[rows] = joined.tasks;
                          return checked(joined.rate);
                        }});
#if MXKV_HAVE_TBB
    constexpr std::size_t kLeastRows = 16;  // it keeps all tasks of a phase: gigabytes of smaller ones
    if (rows >= kLeastRows) {
      variants.push_back(
          {"oneTBB", static_cast<double>(rows), [&, rows] { return checked(join_by_tbb(in, rows)); }});
    }
#endif
  }
  figure.measure(variants, "million rows/s");
  for (const auto& [rows, executed] : tasks) {
    figure.point("MxTasks", static_cast<double>(rows), executed / 1e3, "thousand tasks a join");
  }
  std::uint64_t table_bytes = 0;
  for (const Partition& partition : bench::partitions_for(in.tables, workers)) {
    table_bytes += partition.bytes();
  }
  constexpr double kMegabyte = 1e6;
  figure.point("hash tables", "all", static_cast<double>(table_bytes) / kMegabyte, "MB");
  figure.point("inputs", "all", static_cast<double>((customers + orders) * sizeof(Row)) / kMegabyte, "MB");
  if (!right) {
    figure.note("a join found other than one customer for each order, or probed before all was built");
    return 1;
  }
  return 0;
}

// [Mx fig. 9]: granularity of tasks, by a hash join of customer and orders as TPC-H has them.
//
// Every worker owns the hash table of one partition of the keys. Both inputs are cut into morsels; a worker
// partitions a morsel's rows and hands every full batch to the partition's owner as a task, first to build
// and, when all is built, to probe. The figure is rows joined a second by the rows of a batch. Beside it the
// same join on oneTBB, whose tasks run anywhere, so that its tables are latched while they are built.
#include <atomic>
#include <barrier>
#include <memory>
#include <thread>
#include <vector>

#include "bench/figures/figure.hpp"
#include "runtime/base/random.hpp"
#include "runtime/scheduler/runtime.hpp"
#if MXKV_HAVE_TBB
#include <tbb/spin_mutex.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#endif

namespace {

using namespace mxkv;  // NOLINT(google-build-using-namespace): a program, not a header
using runtime::step;
using runtime::Worker;
using runtime::WorkerId;

struct Row {
  std::uint64_t customer;
  std::uint64_t payload;
};

constexpr std::uint64_t kCustomersPerScale = 150'000;
constexpr std::uint64_t kOrdersPerCustomer = 10;
constexpr std::size_t kMorselRows = 16'384;

std::uint64_t hash_of(std::uint64_t key) noexcept {
  return key * 0x9E3779B97F4A7C15ULL;
}

struct Tables {
  std::vector<Row> customers;
  std::vector<Row> orders;
};

/// As TPC-H: ten orders a customer on average, and a third of the customers without any.
Tables generate(std::uint64_t customers) {
  runtime::Random random{1};
  Tables tables;
  for (std::uint64_t i = 0; i < customers; ++i) {
    tables.customers.push_back({i + 1, random()});
  }
  for (std::uint64_t i = customers - 1; i > 0; --i) {
    std::swap(tables.customers[i], tables.customers[random.below(i + 1)]);
  }
  while (tables.orders.size() < customers * kOrdersPerCustomer) {
    const std::uint64_t customer = 1 + random.below(customers);
    if (customer % 3 != 0 || customers < 3) {
      tables.orders.push_back({customer, random()});
    }
  }
  return tables;
}

/// One partition: open addressing, at most half full.
class alignas(2 * runtime::kCacheLineBytes) Partition {
 public:
  void resize(std::size_t rows) {
    std::size_t slots = 16;
    while (slots < 2 * rows) {
      slots *= 2;
    }
    slots_.assign(slots, Row{0, 0});
    mask_ = slots - 1;
  }
  void build(const Row* rows, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t at = hash_of(rows[i].customer) & mask_;
      while (slots_[at].customer != 0) {
        at = (at + 1) & mask_;
      }
      slots_[at] = rows[i];
    }
  }
  [[nodiscard]] std::uint64_t probe(const Row* rows, std::size_t count) const noexcept {
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t at = hash_of(rows[i].customer) & mask_;
      while (slots_[at].customer != 0 && slots_[at].customer != rows[i].customer) {
        at = (at + 1) & mask_;
      }
      found += slots_[at].customer == rows[i].customer ? 1 : 0;
    }
    return found;
  }
#if MXKV_HAVE_TBB
  tbb::spin_mutex latch;  ///< taken to build where tasks run anywhere
#endif
  std::atomic<std::uint64_t> rows_done{0};  // relaxed: a count
  std::atomic<std::uint64_t> matches{0};

 private:
  std::vector<Row> slots_;
  std::size_t mask_ = 0;
};

/// One phase: an input, and where its rows go by worker and partition.
class Phase {
 public:
  Phase(const std::vector<Row>& input, bool probes, std::size_t workers)
      : input_(input), probes_(probes), workers_(workers) {
    for (std::size_t i = 0; i < workers * workers; ++i) {
      outputs_.push_back({std::make_unique_for_overwrite<Row[]>(input.size()), 0, 0});
    }
  }
  [[nodiscard]] bool probes() const noexcept { return probes_; }
  [[nodiscard]] std::size_t rows() const noexcept { return input_.size(); }

  /// Partitions the next morsel on `worker`; dispatch(partition, rows, count) gets every full batch, and at
  /// the end of the input what is left. False: this was the end.
  template <class Dispatch>
  bool partition(std::size_t worker, std::size_t batch_rows, const Dispatch& dispatch) {
    const std::size_t begin = next_.fetch_add(kMorselRows, std::memory_order_relaxed);
    const std::size_t end = std::min(begin + kMorselRows, input_.size());
    for (std::size_t i = begin; i < end; ++i) {
      // The upper bits, since the tables use the lower ones.
      const std::size_t partition = (hash_of(input_[i].customer) >> 40U) % workers_;
      Output& output = outputs_[worker * workers_ + partition];
      output.rows[output.count++] = input_[i];
      if (output.count - output.dispatched == batch_rows) {
        dispatch(partition, &output.rows[output.dispatched], batch_rows);
        output.dispatched = output.count;
      }
    }
    if (end == begin + kMorselRows) {
      return true;
    }
    for (std::size_t partition = 0; partition < workers_; ++partition) {
      Output& output = outputs_[worker * workers_ + partition];
      if (output.count > output.dispatched) {
        dispatch(partition, &output.rows[output.dispatched], output.count - output.dispatched);
        output.dispatched = output.count;
      }
    }
    return false;
  }

  /// Builds or probes one batch.
  void run_batch(Partition& partition, const Row* rows, std::size_t count) const noexcept {
    if (probes_) {
      partition.matches.fetch_add(partition.probe(rows, count), std::memory_order_relaxed);
    } else {
      partition.build(rows, count);
    }
    partition.rows_done.fetch_add(count, std::memory_order_relaxed);
  }

 private:
  struct Output {
    std::unique_ptr<Row[]> rows;
    std::size_t count;
    std::size_t dispatched;
  };
  const std::vector<Row>& input_;
  bool probes_;
  std::size_t workers_;
  std::vector<Output> outputs_;
  std::atomic<std::size_t> next_{0};  // relaxed: only who gets which morsel
};

class BatchTask final : public runtime::MxTask {
 public:
  BatchTask(const runtime::TaskClass* task_class, const Phase& phase, Partition& partition, const Row* rows,
            std::size_t count) noexcept
      : MxTask(task_class), phase_(&phase), partition_(&partition), count_(count) {
    constexpr std::size_t kPrefetchedBytes =
        256;  // the processor prefetches the rest of a sequence by itself
    annotate(runtime::TaggedPointer::unsynchronized(rows), std::min(count * sizeof(Row), kPrefetchedBytes));
    rows_ = rows;
  }
  step execute(Worker& /*worker*/) {
    phase_->run_batch(*partition_, rows_, count_);
    return step::done;
  }

 private:
  const Phase* phase_;
  Partition* partition_;
  const Row* rows_;
  std::size_t count_;
};

class PartitionTask final : public runtime::MxTask {
 public:
  PartitionTask(const runtime::TaskClass* task_class, Phase& phase, std::vector<Partition>& partitions,
                std::size_t batch_rows) noexcept
      : MxTask(task_class), phase_(&phase), partitions_(&partitions), batch_rows_(batch_rows) {
    annotate(runtime::priority::low);  // as the paper's feeders: what waits stays in cache
  }
  step execute(Worker& worker) {
    const bool more = phase_->partition(
        worker.id().index(), batch_rows_, [&](std::size_t partition, const Row* rows, std::size_t count) {
          auto* task = worker.create<BatchTask>(*phase_, (*partitions_)[partition], rows, count);
          task->annotate(WorkerId{static_cast<std::uint16_t>(partition)});
          worker.spawn(task);
        });
    if (!more) {
      return step::done;
    }
    worker.spawn(this);  // behind what it spawned
    return step::parked;
  }

 private:
  Phase* phase_;
  std::vector<Partition>* partitions_;
  std::size_t batch_rows_;
};

std::vector<Partition> partitions_for(const Tables& tables, std::size_t workers) {
  std::vector<Partition> partitions(workers);
  for (Partition& partition : partitions) {
    partition.resize(tables.customers.size() / workers + tables.customers.size() / 8 + kMorselRows);
  }
  return partitions;
}

std::uint64_t sum_of(const std::vector<Partition>& partitions,
                     std::atomic<std::uint64_t> Partition::* count) {
  std::uint64_t sum = 0;
  for (const Partition& partition : partitions) {
    sum += (partition.*count).load(std::memory_order_relaxed);
  }
  return sum;
}

/// Million rows a second of both inputs; 0 where the result is wrong.
double rate_of(const Tables& tables, const std::vector<Partition>& partitions, double seconds) {
  const bool right = sum_of(partitions, &Partition::matches) == tables.orders.size();
  return right ? static_cast<double>(tables.customers.size() + tables.orders.size()) / seconds / 1e6 : 0;
}

double join_by_mxtasks(const Tables& tables, std::size_t workers, std::size_t batch_rows) {
  runtime::RuntimeOptions options;
  for (std::size_t i = 0; i < workers; ++i) {
    runtime::WorkerPlacement& placement = options.workers.emplace_back();
    placement.pinned = false;
  }
  const runtime::SystemClock clock;
  runtime::Runtime runtime{options, clock};
  std::vector<Partition> partitions = partitions_for(tables, workers);
  Phase build{tables.customers, false, workers};
  Phase probe{tables.orders, true, workers};
  double start = 0;
  std::barrier together{static_cast<std::ptrdiff_t>(workers),
                        [&start]() noexcept { start = start > 0 ? start : bench::wall_seconds(); }};
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < workers; ++i) {
    threads.emplace_back([&, i] {
      Worker& worker = runtime.worker(WorkerId{static_cast<std::uint16_t>(i)});
      std::uint64_t wanted = 0;
      for (Phase* phase : {&build, &probe}) {
        wanted += phase->rows();
        together.arrive_and_wait();
        worker.spawn(worker.create<PartitionTask>(*phase, partitions, batch_rows));
        while (sum_of(partitions, &Partition::rows_done) < wanted) {
          worker.step();
        }
      }
    });
  }
  threads.clear();  // joins
  return rate_of(tables, partitions, bench::wall_seconds() - start);
}

#if MXKV_HAVE_TBB
double join_by_tbb(const Tables& tables, std::size_t workers, std::size_t batch_rows) {
  std::vector<Partition> partitions = partitions_for(tables, workers);
  Phase build{tables.customers, false, workers};
  Phase probe{tables.orders, true, workers};
  tbb::task_arena arena{static_cast<int>(workers)};
  const double start = bench::wall_seconds();
  arena.execute([&] {
    for (Phase* phase : {&build, &probe}) {
      tbb::task_group group;
      for (std::size_t i = 0; i < workers; ++i) {
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
  return rate_of(tables, partitions, bench::wall_seconds() - start);
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
  const Tables tables = generate(kCustomersPerScale * percent / 100);
  bool right = true;
  const auto checked = [&right](double rate) {
    right = right && rate > 0;
    return rate;
  };
  std::vector<bench::Variant> variants;
  for (std::size_t rows = 1; rows <= 65'536; rows *= 4) {
    variants.push_back({"MxTasks", static_cast<double>(rows),
                        [&, rows] { return checked(join_by_mxtasks(tables, workers, rows)); }});
#if MXKV_HAVE_TBB
    variants.push_back({"oneTBB", static_cast<double>(rows),
                        [&, rows] { return checked(join_by_tbb(tables, workers, rows)); }});
#endif
  }
  figure.measure(variants, "million rows/s");
  if (!right) {
    figure.note("a join found other than one customer for each order");
    return 1;
  }
  return 0;
}

// [MK 5]: the effect of stealing pools, and of moving them, when most tasks are bound to the pools of one
// worker.
//
// Tasks hop for ever between data objects that are serialized by scheduling. `--skew` percent of the hops go
// to objects in the pools of the first worker, the rest to objects of the other workers. Every hop works a
// little on its object. Measured in turn: neither; stealing; and pools, or objects too, rebalanced without
// stealing. Printed are medians of throughput and their ratios to the first. With two workers and 80 % the
// first worker is the bottleneck: it has 0.8 of the work. With stealing both share it, so 1.6 is the limit.
// `--hot` percent of the skewed hops go to a single object, which no two workers can share.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/figures/figure.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "runtime/topology/build.hpp"

namespace {

using namespace mxkv;  // NOLINT(google-build-using-namespace): a program, not a header
using runtime::step;
using runtime::Worker;
using runtime::WorkerId;

struct Parameters {
  std::uint64_t workers = 2;
  std::uint64_t skew = 80;
  std::uint64_t tasks = 512;
  std::uint64_t objects = 64;
  std::uint64_t hot = 0;
  std::uint64_t work = 200;
  std::uint64_t milliseconds = 500;
};

struct alignas(runtime::kCacheLineBytes) Object : runtime::DataObject {
  using DataObject::DataObject;
  std::uint64_t value = 1;  // plain: the pool's lease is all its protection
};

struct Shared {
  const Parameters& parameters;
  std::deque<Object> objects;  ///< of each worker in turn, `parameters.objects` each
  std::atomic<bool> stop{false};
};

class HopTask final : public runtime::MxTask {
 public:
  HopTask(const runtime::TaskClass* task_class, Shared& shared, std::uint64_t first) noexcept
      : MxTask(task_class), shared_(&shared) {
    go_to(first);
  }
  step execute(Worker& worker) {
    std::uint64_t& value = static_cast<Object*>(object().object())->value;
    std::uint64_t mixed = value;
    for (std::uint64_t i = 0; i < shared_->parameters.work; ++i) {
      mixed = mixed * 6364136223846793005U + 1442695040888963407U;  // each step needs the one before
    }
    value = mixed;
    if (shared_->stop.load(std::memory_order_relaxed)) {
      return step::done;
    }
    const std::uint64_t objects = shared_->parameters.objects;
    runtime::Random& random = worker.random();
    const bool skewed = random.below(100) < shared_->parameters.skew || shared_->parameters.workers == 1;
    if (skewed) {
      go_to(random.below(100) < shared_->parameters.hot ? 0 : random.below(objects));
    } else {
      go_to(objects + random.below(objects * (shared_->parameters.workers - 1)));
    }
    return step::again;
  }

 private:
  void go_to(std::uint64_t object) noexcept {
    annotate(runtime::TaggedPointer{&shared_->objects[object], 0}, sizeof(Object));
    annotate(runtime::access::write);
  }
  Shared* shared_;
};

struct Measured {
  double tasks_per_second = 0;
  double stolen = 0;  ///< share of the tasks that a thief ran
  double moved = 0;   ///< pools and objects, before and during the measurement
};

Measured measure(const Parameters& parameters, const runtime::Topology& topology,
                 runtime::stealing_scope stealing, runtime::rebalance_strategy rebalance) {
  runtime::RuntimeOptions options;
  for (std::uint64_t i = 0; i < parameters.workers; ++i) {
    const runtime::ProcessingUnit& unit = topology.pus[i % topology.pus.size()];
    options.workers.push_back({.pu = unit.pu, .pinned = parameters.workers <= topology.pus.size()});
  }
  options.memory.numa_placement = false;
  options.stealing = stealing;
  // Ten moves' time to settle before the measurement.
  const std::uint64_t settle_ms = parameters.milliseconds / 2;
  options.rebalance = {.strategy = rebalance,
                       .period_ms = static_cast<std::uint32_t>(std::max<std::uint64_t>(settle_ms / 50, 1))};
  const runtime::SystemClock clock;
  runtime::Runtime runtime{options, clock};
  Shared shared{.parameters = parameters, .objects = {}};
  for (std::uint64_t i = 0; i < parameters.objects * parameters.workers; ++i) {
    const WorkerId owner{static_cast<std::uint16_t>(i / parameters.objects)};
    shared.objects.emplace_back(runtime.pool_for_object(owner, i),
                                runtime::primitive::serialized_by_scheduling);
  }
  if (const auto started = runtime.start(); !started) {
    std::fprintf(stderr, "stealing_bench: %s\n", started.error().message.c_str());
    std::exit(1);
  }
  for (std::uint64_t i = 0; i < parameters.tasks; ++i) {
    runtime.submit(runtime.create_outside<HopTask>(shared, i % shared.objects.size()), WorkerId{0});
  }
  const auto count = [&] {
    Measured sum;
    for (std::uint64_t i = 0; i < parameters.workers; ++i) {
      const auto& counters = runtime.worker(WorkerId{static_cast<std::uint16_t>(i)}).counters();
      sum.tasks_per_second += static_cast<double>(counters.tasks.load(std::memory_order_relaxed));
      sum.stolen += static_cast<double>(counters.tasks_stolen.load(std::memory_order_relaxed));
      sum.moved += static_cast<double>(counters.pools_moved.load(std::memory_order_relaxed) +
                                       counters.objects_moved.load(std::memory_order_relaxed));
    }
    return sum;
  };
  const auto wait = std::chrono::milliseconds{parameters.milliseconds};
  std::this_thread::sleep_for(std::chrono::milliseconds{settle_ms});  // until all move
  const Measured before = count();
  const double start = bench::wall_seconds();
  std::this_thread::sleep_for(wait);
  const Measured after = count();
  const double seconds = bench::wall_seconds() - start;
  shared.stop.store(true, std::memory_order_relaxed);
  runtime.stop();
  runtime.drain_stopped();
  const double tasks = after.tasks_per_second - before.tasks_per_second;
  return {tasks / seconds, tasks > 0 ? (after.stolen - before.stolen) / tasks : 0, after.moved};
}

}  // namespace

int main(int argc, char** argv) {
  Parameters parameters;
  bench::Figure figure{
      "stealing",
      "Throughput of bound tasks of which most belong to one worker: as it is, with stealing, "
      "and with pools and objects rebalanced."};
  figure.number("workers", parameters.workers, "workers, one a CPU", 1, 256);
  figure.number("skew", parameters.skew, "percent of the hops that go to the first worker's pools", 0, 100);
  figure.number("tasks", parameters.tasks, "tasks that hop around", 1, 1'000'000);
  figure.number("objects", parameters.objects, "data objects of a worker", 1, 1'000'000);
  figure.number("hot", parameters.hot, "percent of the skewed hops that go to one object", 0, 100);
  figure.number("work", parameters.work, "dependent multiplications a hop", 0, 1'000'000);
  figure.number("milliseconds", parameters.milliseconds, "length of one measurement", 10, 100'000);
  if (const std::optional<int> code = figure.parse(argc, argv)) {
    return *code;
  }
  const runtime::Result<runtime::Topology> topology = runtime::live_topology();
  if (!topology) {
    std::fprintf(stderr, "stealing_bench: %s\n", topology.error().message.c_str());
    return 1;
  }
  if (parameters.workers > topology.value().pus.size()) {
    figure.note("more workers than CPUs: they are not pinned, and the ratio says little");
  }
  struct Kind {
    const char* name;
    runtime::stealing_scope stealing;
    runtime::rebalance_strategy rebalance;
    std::vector<double> rates;
    std::vector<double> stolen;
    std::vector<double> moved;
  };
  using runtime::rebalance_strategy;
  using runtime::stealing_scope;
  std::vector<Kind> kinds{{"off", stealing_scope::off, rebalance_strategy::off, {}, {}, {}},
                          {"on", stealing_scope::machine, rebalance_strategy::off, {}, {}, {}},
                          {"pools moved", stealing_scope::off, rebalance_strategy::pools, {}, {}, {}},
                          {"objects moved", stealing_scope::off, rebalance_strategy::objects, {}, {}, {}}};
  for (std::uint64_t round = 0; round < figure.rounds(); ++round) {
    for (Kind& kind : kinds) {
      const Measured measured = measure(parameters, topology.value(), kind.stealing, kind.rebalance);
      kind.rates.push_back(measured.tasks_per_second);
      kind.stolen.push_back(measured.stolen);
      kind.moved.push_back(measured.moved);
    }
  }
  std::string skew = std::to_string(parameters.skew) + " % on one worker";
  if (parameters.hot != 0) {
    skew += ", " + std::to_string(parameters.hot) + " % of them on one object";
  }
  const double off = bench::median(kinds[0].rates);
  for (const Kind& kind : kinds) {
    figure.point(kind.name, skew, bench::median(kind.rates), "tasks/s");
  }
  figure.point("stolen", skew, bench::median(kinds[1].stolen), "of the tasks");
  figure.point("ratio", skew, bench::median(kinds[1].rates) / off, "on / off");
  for (const Kind& kind : {kinds[2], kinds[3]}) {
    figure.point(kind.name, skew, bench::median(kind.rates) / off, "on / off");
    figure.point(kind.name, skew, bench::median(kind.moved), "moves");
  }
  return 0;
}

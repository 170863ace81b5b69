// LAS against its baseline NLS [LAS figs. 5-8].
//
// On a machine that is invented: four NUMA nodes with four cores each, whose workers one thread steps. Time
// is counted, not measured: a step costs the bytes that it reads, those of another node twice. The figure is
// what of a request was remote, and how long it took. And on this machine, in time.
#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include "bench/figures/figure.hpp"
#include "bench/figures/requests.hpp"
#include "runtime/topology/build.hpp"

namespace {

using namespace mxkv;  // NOLINT(google-build-using-namespace): a program, not a header
using bench::RequestRun;
using runtime::task_order;
using runtime::WorkerId;

struct Simulated {
  RequestRun::Counts counts;
  double time = 0;
};

std::string name_of(task_order order) {
  return order == task_order::las ? "LAS" : "NLS";
}

runtime::RuntimeOptions invented_machine(const char* description, task_order order) {
  runtime::RuntimeOptions options;
  runtime::Result<runtime::Topology> topology = runtime::topology_from_synthetic(description);
  if (!topology.ok()) {
    throw std::invalid_argument{topology.error().message};
  }
  options.topology = std::make_shared<const runtime::Topology>(std::move(topology).value());
  for (const runtime::ProcessingUnit& unit : options.topology->pus) {
    options.workers.push_back({.pu = unit.pu, .node = unit.node, .pinned = false});
  }
  for (std::uint32_t node = 0; node < options.topology->nodes.size(); ++node) {
    options.os_nodes.push_back(node);
  }
  options.memory.numa_placement = false;
  options.order = order;
  options.batch_tasks = 1;
  options.prefetch.window = 1;
  return options;
}

/// Always steps the worker whose clock is behind all others'; one that found nothing waits for the next
/// event.
Simulated simulate(task_order order, RequestRun::Options requests) {
  requests.touch = false;
  const runtime::SystemClock clock;
  runtime::Runtime machine{invented_machine("Package:4 [NUMANode] L3Cache:1 Core:4 PU:1", order), clock};
  RequestRun run{machine, requests};
  run.begin();
  std::vector<double> clocks(machine.worker_count(), 0);
  while (!run.done()) {
    const auto next = std::ranges::min_element(clocks);
    const WorkerId id{static_cast<std::uint16_t>(next - clocks.begin())};
    const RequestRun::Counts before = run.counts(id);
    machine.worker(id).step();
    const RequestRun::Counts& after = run.counts(id);
    if (after.steps != before.steps) {
      const std::uint64_t bytes = after.bytes - before.bytes + after.remote_bytes - before.remote_bytes;
      *next += 1 + static_cast<double>(bytes);
      continue;
    }
    double other = std::numeric_limits<double>::infinity();
    for (const double time : clocks) {
      other = time > *next ? std::min(other, time) : other;
    }
    *next = other < std::numeric_limits<double>::infinity() ? other : *next + 1;
  }
  return {.counts = run.sum(), .time = *std::ranges::max_element(clocks)};
}

}  // namespace

int main(int argc, char** argv) {
  RequestRun::Options requests;
  bench::Figure figure{"las", "Immediate and deferred tasks by LAS and by its baseline [LAS figs. 5-8]"};
  std::uint64_t block_bytes = requests.block_bytes;
  figure.number("requests", requests.requests, "requests a measurement");
  figure.number("block-bytes", block_bytes, "bytes of a block", 4096, std::uint64_t{512} << 10U);
  if (const auto code = figure.parse(argc, argv)) {
    return *code;
  }
  requests.block_bytes = block_bytes;
  std::vector<bench::Variant> here;
  // Six do not fit four nodes evenly: some requests have to be shared.
  for (const std::uint64_t at_once : {std::uint64_t{1}, std::uint64_t{6}, std::uint64_t{16}}) {
    for (const bench::RequestShape& shape : bench::request_shapes()) {
      requests.shape = shape;
      requests.at_once = at_once;
      const std::string what =
          std::string{shape.name} +
          (at_once == 1 ? ", one request" : ", " + std::to_string(at_once) + " at a time");
      const auto of_all = static_cast<double>(requests.requests);
      for (const task_order order : {task_order::nls, task_order::las}) {
        const Simulated simulated = simulate(order, requests);
        const auto& counts = simulated.counts;
        figure.point(name_of(order), what, static_cast<double>(counts.remote_steps) / of_all,
                     "remote steps a request");
        figure.point(name_of(order), what, static_cast<double>(counts.remote_bytes) / of_all / 1e6,
                     "remote MB a request");
        figure.point(name_of(order), what, simulated.time / of_all / 1e6, "simulated time a request");
        here.push_back(
            {name_of(order), what, [order, requests] { return bench::request_ms(order, requests); }});
      }
    }
  }
  figure.measure(here, "ms a request");
  return 0;
}

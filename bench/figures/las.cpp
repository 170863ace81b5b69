// LAS against its baseline NLS [LAS figs. 5-8].
//
// Measures the remote share of a request, and its time, on models of the paper's two servers
// (paper_machine.hpp), whose workers one thread steps. Workers look for the next task after each one, as the
// paper's do, or have the daemon's window, of which immediate and deferred tasks fill four places. In the daemon
// they also spill to idle nodes. Also measures the time on this machine.
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

/// The number of tasks that a worker may hold, and RuntimeOptions::spill_above.
struct Window {
  const char* name;
  std::uint32_t tasks;
  std::uint32_t spill_above;
};
constexpr Window kPapers{"", 1, 0};
constexpr Window kDaemons{", window 64", 64, 0};

struct Simulated {
  RequestRun::Counts counts;
  double ns = 0;
};

std::string name_of(task_order order) {
  return order == task_order::las ? "LAS" : "NLS";
}

runtime::RuntimeOptions options_on(const char* description, task_order order, const Window& window) {
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
  options.batch_tasks = 1;  // other workers may take waiting tasks between any two
  options.prefetch.window = window.tasks;
  options.spill_above = window.spill_above;
  return options;
}

/// Always steps the worker whose clock is behind all others'. A worker without a task waits for the next
/// event.
Simulated simulate(const bench::MachineModel& model, task_order order, const Window& window,
                   RequestRun::Options requests, double ns_a_byte) {
  const runtime::SystemClock clock;
  runtime::RuntimeOptions options = options_on(model.topology, order, window);
  const std::shared_ptr<const runtime::Topology> topology = options.topology;
  runtime::Runtime machine{std::move(options), clock};
  bench::PaperMachine memory{model, *topology, requests.block_bytes, ns_a_byte};
  requests.touch = false;
  requests.machine = &memory;
  RequestRun run{machine, requests};
  run.begin();
  std::vector<double>& clocks = memory.clocks();
  while (!run.done()) {
    const auto next = std::ranges::min_element(clocks);
    const WorkerId id{static_cast<std::uint16_t>(next - clocks.begin())};
    const std::uint64_t steps = run.counts(id).steps;
    machine.worker(id).step();
    if (run.counts(id).steps != steps) {
      ++*next;  // so that each step takes time
      continue;
    }
    double other = std::numeric_limits<double>::infinity();
    for (const double time : clocks) {
      other = time > *next ? std::min(other, time) : other;
    }
    *next = other < std::numeric_limits<double>::infinity() ? other : *next + 1;
  }
  return {.counts = run.sum(), .ns = *std::ranges::max_element(clocks)};
}

}  // namespace

int main(int argc, char** argv) {
  RequestRun::Options requests;
  bench::Figure figure{"las", "Immediate and deferred tasks by LAS and by its baseline [LAS figs. 5-8]"};
  std::uint64_t block_bytes = requests.block_bytes;
  std::uint64_t work = 100;
  std::uint64_t simulated = requests.requests;
  std::uint64_t state = 16;
  std::uint64_t spill_above = runtime::RuntimeOptions{}.spill_above;
  figure.number("requests", requests.requests, "requests a measurement on this machine");
  figure.number("simulated", simulated, "requests a simulation");
  figure.number("block-bytes", block_bytes, "bytes of a block", 4096, std::uint64_t{512} << 10U);
  figure.number("work", work, "simulated picoseconds that a core works on a byte", 0, 100'000);
  figure.number("spill-above", spill_above,
                "waiting immediate tasks of a worker above which other nodes take some", 1, 1000);
  figure.number("state", state, "blocks of the state of an operator that has one", 1, 1024);
  if (const auto code = figure.parse(argc, argv)) {
    return *code;
  }
  const Window spilling{", window 64, spilling", 64, static_cast<std::uint32_t>(spill_above)};
  requests.block_bytes = block_bytes;
  std::vector<bench::Variant> here;
  // Six do not fit four nodes evenly: some requests have to be shared.
  for (const std::uint64_t at_once : {std::uint64_t{1}, std::uint64_t{6}, std::uint64_t{16}}) {
    for (const bench::RequestShape& shape : bench::request_shapes()) {
      requests.shape = shape;
      requests.shape.state = shape.state == 0 ? 0 : static_cast<unsigned>(state);
      requests.at_once = at_once;
      const std::string what =
          std::string{shape.name} +
          (at_once == 1 ? ", one request" : ", " + std::to_string(at_once) + " at a time");
      for (const bench::MachineModel& model : {bench::numa_machine(), bench::smp_machine()}) {
        for (const auto& [order, window] :
             {std::pair{task_order::nls, kPapers}, std::pair{task_order::las, kPapers},
              std::pair{task_order::nls, kDaemons}, std::pair{task_order::las, kDaemons},
              std::pair{task_order::las, spilling}}) {
          RequestRun::Options of_these = requests;
          of_these.requests = simulated;
          const Simulated done = simulate(model, order, window, of_these, static_cast<double>(work) / 1e3);
          const auto of_all = static_cast<double>(simulated);
          const std::string series = name_of(order) + window.name;
          if (model.name == bench::numa_machine().name) {
            figure.point(series, what, static_cast<double>(done.counts.remote_steps) / of_all,
                         "remote steps a request");
            figure.point(series, what, static_cast<double>(done.counts.remote_bytes) / of_all / 1e6,
                         "remote MB a request");
          }
          figure.point(series, what, done.ns / of_all / 1e6,
                       std::string{"ms a request, simulated "} + model.name);
        }
      }
      for (const task_order order : {task_order::nls, task_order::las}) {
        here.push_back({name_of(order) + kDaemons.name, what,
                        [order, requests] { return bench::request_ms(order, requests); }});
      }
    }
  }
  figure.measure(here, "ms a request");
  return 0;
}

// [To fig. 3a]: STMBench7's operations by number of workers or threads: by Toggle, by its own coarse and
// medium-grained locks, by intervals under threads and as tasks in one queue.
//
// All run the same operation code on a module with the same initial state, made anew for each measurement.
// The paper does not say which of STMBench7's workloads it ran; here it is the one that reads and writes.
#include <algorithm>
#include <string>

#include "bench/figures/hierarchy_runs.hpp"
#include "bench/figures/stm_locks.hpp"

namespace {

using namespace mxkv;         // NOLINT(google-build-using-namespace): a program, not a header
using namespace mxkv::bench;  // NOLINT(google-build-using-namespace): likewise

/// Those locks cover all that a link may lead to.
template <class Locks>
RunResult run_by_locks(StmWork& work, const RunOptions& options) {
  Locks locks;
  return run_by_threads(work, options, thread_order::from_pool,
                        [&](std::size_t /*thread*/, StmOperation operation, const auto& body) {
                          operation.leaves = {0, work.leaves() - 1};
                          locks.guard(operation, [&] { body(operation); });
                        });
}

RunResult run_by_interval_locks(StmWork& work, const RunOptions& options) {
  return run_by_intervals(work, options, thread_order::from_pool);
}

RunResult run_by_queue(StmWork& work, const RunOptions& options) {
  RunOptions queue = options;
  queue.order = runtime::interval_order::queue;
  return run_by_toggle(work, queue);
}

RunResult run_without_hosts(StmWork& work, const RunOptions& options) {
  RunOptions hostless = options;
  hostless.hosts = false;
  return run_by_toggle(work, hostless);
}

struct Manner {
  const char* name;
  RunResult (*run)(StmWork&, const RunOptions&);
};

}  // namespace

int main(int argc, char** argv) {
  Figure figure{"toggle-module", "STMBench7's operations by Toggle and under locks [To fig. 3a]"};
  RunOptions options;
  std::string workers = all_worker_numbers();
  std::string hosts = "both";
  std::uint64_t parts = 500;
  std::uint64_t reads = 60;
  std::uint64_t near = 16;
  figure.number("operations", options.operations, "operations a measurement");
  figure.text("workers", workers, "numbers of workers or threads, such as 1,2,4");
  figure.number("in-flight", options.in_flight, "operations of a worker under way, Toggle's", 1, 1024);
  figure.number("buckets", options.buckets, "of Toggle", 1, 64);
  figure.number("slots", options.slots_per_bucket, "inner buckets of a bucket", 1, 64);
  figure.text("hosts", hosts, "on: only the host of a bucket orders its operations; off; both");
  figure.number("parts", parts, "composite parts", 8, 100'000);
  figure.number("near", near, "parts around its home that a base assembly draws from, where they are near", 1,
                100'000);
  figure.number("reads", reads, "per cent of traversals and operations that read", 0, 100);
  if (const auto code = figure.parse(argc, argv)) {
    return *code;
  }
  const std::vector<std::uint64_t> numbers = worker_numbers(workers);
  if (numbers.empty() || !is_hosts(hosts)) {
    figure.note("--workers are numbers from 1 to 256 with commas between, --hosts is on, off or both");
    return 2;
  }
  std::vector<Manner> manners{{"coarse lock", run_by_locks<CoarseLock>},
                              {"medium-grained locks", run_by_locks<MediumLocks>},
                              {"interval locks", run_by_interval_locks},
                              {kInQueue, run_by_queue}};
  if (hosts != "off") {
    manners.push_back({kWithHosts, run_by_toggle<StmWork>});
  }
  if (hosts != "on") {
    manners.push_back({kWithoutHosts, run_without_hosts});
  }
  bool right = true;
  for (const auto& [place, reach] :
       {std::pair{"parts of all", std::uint64_t{1'000'000}}, std::pair{"parts near by", near}}) {
    const StmSizes sizes{.parts = static_cast<std::uint32_t>(parts),
                         .reach = static_cast<std::uint32_t>(reach)};
    std::vector<Variant> variants;
    for (const std::uint64_t number : numbers) {
      for (const Manner& manner : manners) {
        RunOptions of_so_many = options;
        of_so_many.workers = number;
        variants.push_back(
            {manner.name, static_cast<double>(number), [&right, sizes, reads, of_so_many, &manner] {
               StmWork work{sizes, reads};
               const RunResult result = manner.run(work, of_so_many);
               right = right && work.right(result.sum());
               return result.rate();
             }});
      }
    }
    figure.measure(variants, std::string{"thousand operations/s, "} + place);
  }
  if (!right) {
    figure.note("operations that conflict ran side by side");
    return 1;
  }
  return 0;
}

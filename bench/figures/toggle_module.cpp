// [To fig. 3a]: STMBench7's operations by Toggle, by its own coarse and medium-grained locks, by intervals.
//
// All run the same operation code on a module of the same beginning, made anew for each measurement. The
// paper does not say which of STMBench7's workloads it ran; here it is the one that reads and writes.
#include "bench/figures/hierarchy_runs.hpp"
#include "bench/figures/stm_locks.hpp"

namespace {

using namespace mxkv::bench;  // NOLINT(google-build-using-namespace): a program, not a header

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

}  // namespace

int main(int argc, char** argv) {
  Figure figure{"toggle-module", "STMBench7's operations by Toggle and under locks [To fig. 3a]"};
  RunOptions options;
  std::uint64_t parts = 500;
  std::uint64_t reads = 60;
  std::uint64_t near = 16;
  figure.number("operations", options.operations, "operations a measurement");
  figure.number("workers", options.workers, "workers or threads", 1, 256);
  figure.number("in-flight", options.in_flight, "operations of a worker under way, Toggle's", 1, 1024);
  figure.number("slots", options.slots_per_bucket, "inner buckets of a bucket", 1, 64);
  figure.number("parts", parts, "composite parts", 8, 100'000);
  figure.number("near", near, "parts around its home that a base assembly draws from, where they are near", 1,
                100'000);
  figure.number("reads", reads, "per cent of traversals and operations that read", 0, 100);
  if (const auto code = figure.parse(argc, argv)) {
    return *code;
  }
  bool right = true;
  const auto measured = [&](std::uint64_t reach, const auto& run) {
    return [&right, &options, reads, run,
            sizes = StmSizes{.parts = static_cast<std::uint32_t>(parts),
                             .reach = static_cast<std::uint32_t>(reach)}] {
      StmWork work{sizes, reads};
      const RunResult result = run(work, options);
      right = right && work.right(result.sum());
      return result.rate();
    };
  };
  std::vector<Variant> variants;
  for (const auto& [x, reach] :
       {std::pair{"parts of all", std::uint64_t{1'000'000}}, std::pair{"parts near by", near}}) {
    variants.push_back({"coarse lock", x, measured(reach, run_by_locks<CoarseLock>)});
    variants.push_back({"medium-grained locks", x, measured(reach, run_by_locks<MediumLocks>)});
    variants.push_back({"interval locks", x, measured(reach, [](StmWork& work, const RunOptions& how) {
                          return run_by_intervals(work, how, thread_order::from_pool);
                        })});
    variants.push_back({"Toggle", x, measured(reach, run_by_toggle<StmWork>)});
  }
  figure.measure(variants, "thousand operations/s");
  if (!right) {
    figure.note("operations that conflict ran side by side");
    return 1;
  }
  return 0;
}

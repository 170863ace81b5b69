// [Mx fig. 13]: the time of inserts, of reads and updates, and of look-ups by cause, under MxTasks, plain
// threads and oneTBB; keys are zipfian, as YCSB's.
//
// By itself it measures whole operations. With --phases FILE it also writes when each kind of operation ran,
// for cycles.py, which runs it under perf and divides the samples of each phase into categories.
#include <cstdio>

#include "bench/figures/figure.hpp"
#include "bench/figures/tree_models.hpp"

namespace {

using namespace mxkv;  // NOLINT(google-build-using-namespace): a program, not a header
using bench::tree_operation;

struct Phase {
  tree_operation what;
  std::uint64_t operations;
  const char* name;
};

/// A line for cycles.py: the phase's name, its begin and end in seconds of the monotonic clock, and its
/// number of operations.
bool write_phase(std::FILE* file, const Phase& phase, double begin, double end) {
  return std::fprintf(file, "%s %.9f %.9f %llu\n", phase.name, begin, end,
                      static_cast<unsigned long long>(phase.operations)) > 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t keys = 5'000'000;
  std::uint64_t operations = 5'000'000;
  std::uint64_t window = 64;
  std::string model = "MxTasks";
  std::string phases;
  bench::Figure figure{"cycles", "Where the time of operations on a tree goes [Mx fig. 13]"};
  figure.number("keys", keys, "keys inserted");
  figure.number("operations", operations, "reads and updates, and look-ups");
  figure.number("window", window, "MxTasks in flight", 1, 256);
  figure.text("model", model, "MxTasks, std::thread or oneTBB");
  figure.text("phases", phases, "a file for when each kind of operation ran");
  if (const auto code = figure.parse(argc, argv)) {
    return *code;
  }
  if (model != "MxTasks" && model != "std::thread" && (model != "oneTBB" || !bench::kHasTbb)) {
    figure.note("--model: not MxTasks, std::thread or (if built with it) oneTBB: " + model);
    return 2;
  }
  const std::vector<std::uint32_t> popular = bench::popular_records(keys);
  std::FILE* const file = phases.empty() ? nullptr : std::fopen(phases.c_str(), "w");
  if (!phases.empty() && file == nullptr) {
    figure.note("--phases: cannot be written: " + phases);
    return 2;
  }
  bench::ModelTree on{1, bench::all_nodes(runtime::primitive::optimistic_latch)};
  bool good = true;
  for (const Phase& phase : {Phase{tree_operation::insert, keys, "inserts"},
                             Phase{tree_operation::read_update, operations, "reads-and-updates"},
                             Phase{tree_operation::look_up, operations, "look-ups"}}) {
    bench::SharedWork work{phase.what, phase.operations, keys, model == "MxTasks", 1, &popular};
    const double begin = bench::wall_seconds();
    const double cpu_begin = bench::process_cpu_seconds();
    if (model == "MxTasks") {
      bench::run_mxtasks(on, work, window);
    } else if (model == "std::thread") {
      bench::run_threads(on, work);
    } else {
#if MXKV_HAVE_TBB
      bench::run_tbb(on, work, 1);
#endif
    }
    const double seconds = bench::process_cpu_seconds() - cpu_begin;  // the samples' clock
    const double end = bench::wall_seconds();
    figure.point("whole operation", model + ", " + phase.name,
                 seconds / static_cast<double>(phase.operations) * 1e9, "ns an operation");
    good = work.wrong() == 0 && (file == nullptr || write_phase(file, phase, begin, end)) && good;
  }
  if (file != nullptr) {
    good = std::fclose(file) == 0 && good;
  }
  if (!good) {
    figure.note("wrong results, or the phases could not be written");
    return 1;
  }
  return 0;
}

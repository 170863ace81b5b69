// [Mx fig. 11]: what epoch-based reclamation costs the tree: off, published once for many tasks, and around
// every task. One worker. Keys are never removed, so it is the price of being ready to reclaim that shows, as
// in the paper.
#include <deque>

#include "bench/figures/figure.hpp"
#include "bench/index/tree_work.hpp"

namespace {

using namespace mxkv;  // NOLINT(google-build-using-namespace): a program, not a header
using bench::IntegerTree;
using bench::Run;
using runtime::Worker;

runtime::RuntimeOptions options_with(runtime::epoch_mode mode, std::uint64_t window) {
  runtime::RuntimeOptions options;
  options.workers.emplace_back().pinned = false;
  options.prefetch.window = static_cast<std::uint32_t>(window);
  options.epoch.mode = mode;
  return options;
}

/// A tree whose worker treats epochs in one way.
struct EpochTree {
  EpochTree(const std::string& title, runtime::epoch_mode mode, std::uint64_t window, std::uint64_t keys)
      : name(title), in_flight(window), runtime(options_with(mode, window), clock), tree(runtime, {}) {
    run.keys = keys;
  }

  /// Million operations a second of CPU time.
  template <class Task, class... What>
  double rate(std::uint64_t operations, What... what) {
    const double start = bench::thread_cpu_seconds();
    bench::execute(runtime, run, operations, in_flight,
                   [this, what...](Worker& on) { on.create<Task>(tree, run, what...)->start(on); });
    return static_cast<double>(operations) / (bench::thread_cpu_seconds() - start) / 1e6;
  }

  std::string name;
  std::uint64_t in_flight;
  runtime::SystemClock clock;
  runtime::Runtime runtime;
  IntegerTree tree;
  Run run;
};

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t keys = 10'000'000;
  std::uint64_t operations = 2'000'000;
  std::uint64_t window = 64;
  bench::Figure figure{"epochs", "Epoch-based reclamation off, batched and around every task [Mx fig. 11]"};
  figure.number("keys", keys, "keys in the tree");
  figure.number("operations", operations, "operations a measurement");
  figure.number("window", window, "operations in flight", 1, 256);
  if (const auto code = figure.parse(argc, argv)) {
    return *code;
  }
  std::deque<EpochTree> trees;
  trees.emplace_back("off", runtime::epoch_mode::off, window, keys);
  trees.emplace_back("batched", runtime::epoch_mode::batched, window, keys);
  trees.emplace_back("every task", runtime::epoch_mode::task, window, keys);
  std::vector<bench::Variant> variants;
  for (EpochTree& on : trees) {
    figure.point(on.name, "inserts", on.rate<bench::WriteTask>(keys, true), "million operations/s");
    variants.push_back({on.name, "updates", [&] { return on.rate<bench::WriteTask>(operations, false); }});
    variants.push_back({on.name, "look-ups", [&] { return on.rate<bench::ReadTask>(operations); }});
  }
  figure.measure(variants, "million operations/s");
  std::uint64_t wrong = 0;
  for (const EpochTree& on : trees) {
    wrong += on.run.wrong;
  }
  if (wrong > 0) {
    figure.note(std::to_string(wrong) + " wrong results");
    return 1;
  }
  return 0;
}

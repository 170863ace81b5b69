// [Mx fig. 11]: the cost of epoch-based reclamation for the tree: off, published once for many tasks, and
// around every task. One worker; inserts, reads and updates half and half (YCSB A), look-ups (C), of uniform
// and of zipfian keys. Keys are never removed, so the figure shows the cost of being ready to reclaim, as in
// the paper.
#include <deque>

#include "bench/figures/figure.hpp"
#include "bench/figures/tree_models.hpp"

namespace {

using namespace mxkv;  // NOLINT(google-build-using-namespace): a program, not a header
using bench::tree_operation;

/// A tree whose worker treats epochs in one way.
struct EpochTree {
  EpochTree(const std::string& title, runtime::epoch_mode mode, std::uint64_t window)
      : name(title),
        in_flight(window),
        on(1, bench::all_nodes(runtime::primitive::optimistic_latch),
           {.window = static_cast<std::uint32_t>(window), .epochs = mode}) {}

  /// Million operations a second of CPU time.
  double rate(tree_operation what, std::uint64_t operations, std::uint64_t keys,
              const std::vector<std::uint32_t>* popular) {
    bench::SharedWork work{what, operations, keys, true, 1, popular};
    const double seconds = bench::run_alone(on, work, in_flight);
    wrong += work.wrong();
    return static_cast<double>(operations) / seconds / 1e6;
  }

  std::string name;
  std::uint64_t in_flight;
  bench::ModelTree on;
  std::uint64_t wrong = 0;
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
  const std::vector<std::uint32_t> popular = bench::popular_records(keys);
  std::deque<EpochTree> trees;
  trees.emplace_back("off", runtime::epoch_mode::off, window);
  trees.emplace_back("batched", runtime::epoch_mode::batched, window);
  trees.emplace_back("every task", runtime::epoch_mode::task, window);
  std::vector<bench::Variant> variants;
  for (EpochTree& tree : trees) {
    figure.point(tree.name, "inserts", tree.rate(tree_operation::insert, keys, keys, nullptr),
                 "million operations/s");
    for (const auto& [what, name] : {std::pair{tree_operation::read_update, "reads and updates"},
                                     std::pair{tree_operation::look_up, "look-ups"}}) {
      for (const bool uniform : {true, false}) {
        variants.push_back({tree.name, std::string{name} + (uniform ? ", uniform" : ", zipfian"),
                            [&, operation = what, uniform] {
                              return tree.rate(operation, operations, keys, uniform ? nullptr : &popular);
                            }});
      }
    }
  }
  figure.measure(variants, "million operations/s");
  std::uint64_t wrong = 0;
  for (const EpochTree& tree : trees) {
    wrong += tree.wrong;
  }
  if (wrong > 0) {
    figure.note(std::to_string(wrong) + " wrong results");
    return 1;
  }
  return 0;
}

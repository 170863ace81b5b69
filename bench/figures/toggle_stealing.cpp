// [To fig. 5]: which worker runs how many of the tasks, and how many a second that makes: round robin, and
// Toggle without and with stealing; tasks at random, and all in the nodes of one bucket.
#include <map>
#include <string>

#include "bench/figures/ranged_tree.hpp"

using namespace mxkv::bench;  // NOLINT(google-build-using-namespace): a program, not a header

int main(int argc, char** argv) {
  Figure figure{"toggle-stealing", "Tasks by worker, Toggle with and without stealing [To fig. 5]"};
  RunOptions options;
  std::uint64_t nodes = 1'000'000;
  if (const auto code = parse_tree_flags(figure, options, nodes, argc, argv)) {
    return *code;
  }
  RunOptions alone = options;
  alone.stealing = false;
  TreeComparison comparison;
  RangedTree tree{k_ary_tree(nodes, 4)};
  std::map<std::string, std::vector<double>> shares;
  std::vector<Variant> variants;
  const auto add = [&](const std::string& series, const std::string& x, const auto& run) {
    variants.push_back({series, x, [&shares, &comparison, at = series + "|" + x, run] {
                          const double rate = run();
                          shares[at] = comparison.shares();
                          return rate;
                        }});
  };
  for (const auto& [x, tasks] :
       {std::pair{"random", TreeTasks{}},
        std::pair{"one bucket", TreeTasks{.one_of = static_cast<std::uint32_t>(options.workers)}}}) {
    add("round robin", x, [&, tasks] { return comparison.in_turn(tree, tasks, options); });
    add("Toggle, no stealing", x, [&, tasks] { return comparison.by_toggle(tree, tasks, alone); });
    add("Toggle, stealing", x, [&, tasks] { return comparison.by_toggle(tree, tasks, options); });
  }
  figure.measure(variants, "thousand tasks/s");
  for (const Variant& variant : variants) {
    const std::string& x = std::get<std::string>(variant.x);
    const std::vector<double>& by_worker = shares[variant.series + "|" + x];
    for (std::size_t worker = 0; worker < by_worker.size(); ++worker) {
      figure.point(variant.series, x + ", worker " + std::to_string(worker), by_worker[worker],
                   "% of the tasks");
    }
  }
  return comparison.exit_code(figure);
}

// [To figs. 6a, 6b]: throughput by the size of the hierarchy, 100 nodes to a million. Tasks draw from one of
// eight subsets.
//
// --profile MANNER (round-robin, queue, hosts, no-hosts) runs the tasks on a hierarchy of --nodes and prints nothing:
// `run` counts its cache misses with callgrind.
#include <memory>

#include "bench/figures/ranged_tree.hpp"

using namespace mxkv::bench;  // NOLINT(google-build-using-namespace): a program, not a header

int main(int argc, char** argv) {
  Figure figure{"toggle-size", "Toggle and round robin by size of the hierarchy [To figs. 6a, 6b]"};
  RunOptions options;
  TreeComparison comparison;
  std::uint64_t most = 1'000'000;
  std::string profile;
  figure.text("profile", profile,
              "only tasks on the largest hierarchy, without output: round-robin, queue, hosts or no-hosts");
  if (const auto code = parse_tree_flags(figure, options, most, comparison, argc, argv)) {
    return *code;
  }
  const TreeTasks tasks{.subsets = 8};
  if (!profile.empty()) {
    RangedTree tree{k_ary_tree(most, 4)};
    options.hosts = profile == "hosts";
    if (profile == "round-robin") {
      comparison.in_turn(tree, tasks, options);
    } else if (profile == "queue" || profile == "hosts" || profile == "no-hosts") {
      options.order = profile == "queue" ? mxkv::runtime::interval_order::queue : options.order;
      comparison.by_toggle(tree, tasks, options);
    } else {
      figure.note("--profile: not round-robin, queue, hosts or no-hosts: " + profile);
      return 2;
    }
    return comparison.exit_code(figure);
  }
  std::vector<std::unique_ptr<RangedTree>> trees;
  std::vector<Variant> variants;
  for (std::uint64_t nodes = 100; nodes <= most; nodes *= 10) {
    trees.push_back(std::make_unique<RangedTree>(k_ary_tree(nodes, 4)));
    comparison.add(variants, static_cast<double>(nodes), *trees.back(), tasks, options);
  }
  figure.measure(variants, "thousand tasks/s");
  return comparison.exit_code(figure);
}

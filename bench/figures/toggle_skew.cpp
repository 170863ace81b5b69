// [To fig. 4]: throughput by skew, and by the nodes of a task if all tasks draw from the nodes of one bucket.
// Skew is zipfian, or the paper's: each task draws from one of several disjoint subsets.
#include <string>

#include "bench/figures/ranged_tree.hpp"

using namespace mxkv::bench;  // NOLINT(google-build-using-namespace): a program, not a header

int main(int argc, char** argv) {
  Figure figure{"toggle-skew", "Toggle and round robin by skew and by nodes of a task [To fig. 4]"};
  RunOptions options;
  TreeComparison comparison;
  std::uint64_t nodes = 1'000'000;
  if (const auto code = parse_tree_flags(figure, options, nodes, comparison, argc, argv)) {
    return *code;
  }
  RangedTree tree{k_ary_tree(nodes, 4)};
  std::vector<Variant> variants;
  for (const std::uint32_t subsets : {1U, 2U, 4U, 8U, 16U, 32U}) {
    comparison.add(variants, subsets == 1 ? "no skew" : std::to_string(subsets) + " subsets", tree,
                   {.subsets = subsets}, options);
  }
  for (const auto& [name, theta] : {std::pair{"theta 0.5", 0.5}, std::pair{"theta 0.8", 0.8},
                                    std::pair{"theta 0.9", 0.9}, std::pair{"theta 0.99", 0.99}}) {
    comparison.add(variants, name, tree, {.theta = theta}, options);
  }
  const auto one_bucket = static_cast<std::uint32_t>(options.buckets);
  for (const std::uint32_t drawn : {1U, 2U, 4U, 8U, 16U}) {
    comparison.add(variants, "one bucket, " + std::to_string(drawn) + " nodes a task", tree,
                   {.nodes = drawn, .one_of = one_bucket}, options);
  }
  figure.measure(variants, "thousand tasks/s");
  return comparison.exit_code(figure);
}

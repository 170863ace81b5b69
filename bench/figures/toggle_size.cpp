// [To fig. 6a]: throughput by the size of the hierarchy, 100 nodes to a million. Tasks draw from one of eight
// subsets. The paper's cache misses (6b) need hardware counters.
#include <memory>

#include "bench/figures/ranged_tree.hpp"

using namespace mxkv::bench;  // NOLINT(google-build-using-namespace): a program, not a header

int main(int argc, char** argv) {
  Figure figure{"toggle-size", "Toggle and round robin by size of the hierarchy [To fig. 6a]"};
  RunOptions options;
  std::uint64_t most = 1'000'000;
  if (const auto code = parse_tree_flags(figure, options, most, argc, argv)) {
    return *code;
  }
  TreeComparison comparison;
  std::vector<std::unique_ptr<RangedTree>> trees;
  std::vector<Variant> variants;
  for (std::uint64_t nodes = 100; nodes <= most; nodes *= 10) {
    trees.push_back(std::make_unique<RangedTree>(k_ary_tree(nodes, 4)));
    comparison.add(variants, static_cast<double>(nodes), *trees.back(), {.subsets = 8}, options);
  }
  figure.measure(variants, "thousand tasks/s");
  return comparison.exit_code(figure);
}

// [To fig. 3b]: a large irregular hierarchy, by Toggle and round robin. Seven tasks of ten read. Half of the
// tasks draw their nodes from one of 16 parts of the hierarchy, the others from all of it. Half are short.
#include "bench/figures/ranged_tree.hpp"

using namespace mxkv::bench;  // NOLINT(google-build-using-namespace): a program, not a header

int main(int argc, char** argv) {
  Figure figure{"toggle-tree", "A large irregular hierarchy by Toggle and round robin [To fig. 3b]"};
  RunOptions options;
  TreeComparison comparison;
  std::uint64_t nodes = 2'437'666;
  if (const auto code = parse_tree_flags(figure, options, nodes, comparison, argc, argv)) {
    return *code;
  }
  RangedTree tree{irregular_tree(nodes)};
  std::vector<Variant> variants;
  comparison.add(variants, "two nodes a task", tree, {.subsets = 16, .anywhere_percent = 50}, options);
  comparison.add(variants, "one node a task", tree, {.nodes = 1, .subsets = 16, .anywhere_percent = 50},
                 options);
  figure.measure(variants, "thousand tasks/s");
  return comparison.exit_code(figure);
}

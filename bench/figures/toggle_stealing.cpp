// [To fig. 5]: the tasks by worker, and tasks a second: round robin, and Toggle without and with stealing;
// tasks at random, and all in the nodes of one bucket.
//
// The paper's figure shows the work of hosts: a task runs on the host of its lowest bucket. So the program
// also counts the tasks that ran on another worker, with hosts and without. And it computes from the tasks'
// intervals alone the workers that they belong to; without stealing these workers run them.
#include <map>
#include <string>

#include "bench/figures/ranged_tree.hpp"

using namespace mxkv::bench;  // NOLINT(google-build-using-namespace): a program, not a header

namespace {

/// Per cent of the tasks whose lowest bucket is each worker's; workers host the buckets in turn.
std::vector<double> shares_by_lowest_bucket(RangedTree& tree, const TreeTasks& tasks,
                                            const RunOptions& options) {
  const TreeWork work{tree, tasks};
  std::vector<std::uint64_t> tasks_of(options.workers, 0);
  for (std::uint64_t number = 0; number < options.operations; ++number) {
    const std::uint64_t leaf = work.operation(number).leaves.first;
    const std::uint64_t slot = leaf * options.buckets * options.slots_per_bucket / work.leaves();
    ++tasks_of[slot / options.slots_per_bucket % options.workers];
  }
  std::vector<double> shares;
  for (const std::uint64_t number : tasks_of) {
    shares.push_back(static_cast<double>(number) * 100 / static_cast<double>(options.operations));
  }
  return shares;
}

}  // namespace

int main(int argc, char** argv) {
  Figure figure{"toggle-stealing", "Tasks by worker, Toggle with and without stealing [To fig. 5]"};
  RunOptions options;
  TreeComparison comparison;
  std::uint64_t nodes = 1'000'000;
  if (const auto code = parse_tree_flags(figure, options, nodes, comparison, argc, argv)) {
    return *code;
  }
  struct Counts {
    std::vector<double> shares;
    double away;
  };
  RangedTree tree{k_ary_tree(nodes, 4)};
  std::map<std::string, Counts> counts;
  std::vector<Variant> variants;
  const auto add = [&](const std::string& series, const std::string& x, const auto& run) {
    variants.push_back({series, x, [&counts, &comparison, at = series + "|" + x, run] {
                          const double rate = run();
                          counts[at] = {comparison.shares(), comparison.away()};
                          return rate;
                        }});
  };
  const auto point_shares = [&figure](const std::string& series, const std::string& x,
                                      const std::vector<double>& shares) {
    for (std::size_t worker = 0; worker < shares.size(); ++worker) {
      figure.point(series, x + ", worker " + std::to_string(worker), shares[worker], "% of the tasks");
    }
  };
  for (const auto& [x, tasks] :
       {std::pair{"random", TreeTasks{}},
        std::pair{"one bucket", TreeTasks{.one_of = static_cast<std::uint32_t>(options.buckets)}}}) {
    add("round robin", x, [&, tasks] { return comparison.in_turn(tree, tasks, options); });
    RunOptions in_queue = options;
    in_queue.order = mxkv::runtime::interval_order::queue;
    add(kInQueue, x, [&, tasks, in_queue] { return comparison.by_toggle(tree, tasks, in_queue); });
    for (const bool hosts : {true, false}) {
      if (comparison.hosts == (hosts ? "off" : "on")) {
        continue;
      }
      for (const bool stealing : {false, true}) {
        RunOptions how = options;
        how.hosts = hosts;
        how.stealing = stealing;
        add(std::string{hosts ? kWithHosts : kWithoutHosts} + (stealing ? ", stealing" : ", no stealing"), x,
            [&, tasks, how] { return comparison.by_toggle(tree, tasks, how); });
      }
    }
    point_shares("by the lowest bucket", x, shares_by_lowest_bucket(tree, tasks, options));
  }
  figure.measure(variants, "thousand tasks/s");
  for (const Variant& variant : variants) {
    const std::string& x = std::get<std::string>(variant.x);
    const Counts& counted = counts[variant.series + "|" + x];
    point_shares(variant.series, x, counted.shares);
    if (variant.series.starts_with(kWithHosts)) {
      figure.point(variant.series, x, counted.away, "% of the tasks away from their buckets");
    }
  }
  return comparison.exit_code(figure);
}

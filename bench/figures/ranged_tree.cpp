#include "bench/figures/ranged_tree.hpp"

#include <algorithm>
#include <cmath>

namespace mxkv::bench {
namespace {

constexpr unsigned kMostDepth = 36;

void add_subtree(std::vector<std::uint8_t>& depths, std::uint64_t nodes, std::uint64_t children,
                 unsigned depth) {
  depths.push_back(static_cast<std::uint8_t>(depth));
  --nodes;
  for (std::uint64_t i = 0; i < children; ++i) {
    if (const std::uint64_t below = nodes * (i + 1) / children - nodes * i / children; below > 0) {
      add_subtree(depths, below, children, depth + 1);
    }
  }
}

}  // namespace

std::vector<std::uint8_t> k_ary_tree(std::uint64_t nodes, std::uint64_t children) {
  std::vector<std::uint8_t> depths;
  add_subtree(depths, nodes, children, 1);
  return depths;
}

// A walk whose depths are distributed geometrically: deeper with 0.429, back by one with 0.5.
std::vector<std::uint8_t> irregular_tree(std::uint64_t nodes) {
  std::vector<std::uint8_t> depths{1};
  runtime::Random random{1};
  unsigned depth = 2;
  while (depths.size() < nodes) {
    depths.push_back(static_cast<std::uint8_t>(depth));
    const std::uint64_t step = random.below(10'000);
    if (step < 4'290) {
      depth = std::min(depth + 1, kMostDepth);
    } else if (step < 9'290) {
      depth = std::max(depth - 1, 2U);
    }
  }
  return depths;
}

RangedTree::RangedTree(const std::vector<std::uint8_t>& depths)
    : nodes_(depths.size()), values_(depths.size()) {
  std::vector<std::uint32_t> open;
  std::uint32_t leaf = 0;
  const auto close = [&](std::size_t depth, std::uint32_t end) {
    while (open.size() >= depth) {
      nodes_[open.back()].end = end;
      nodes_[open.back()].last_leaf = leaf - 1;
      open.pop_back();
    }
  };
  for (std::uint32_t i = 0; i < nodes(); ++i) {
    close(depths[i], i);
    nodes_[i].first_leaf = leaf;
    open.push_back(i);
    if (i + 1 == nodes() || depths[i + 1] <= depths[i]) {
      ++leaf;
    }
  }
  close(1, nodes());
}

std::uint64_t RangedTree::sum() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& value : values_) {
    sum += value.load(std::memory_order_relaxed);
  }
  return sum;
}

template <class Visit>
void TreeWork::each_node(std::uint64_t seed, const Visit& visit) const {
  runtime::Random random{seed};
  const std::uint64_t all = std::max<std::uint64_t>(1, tree_.nodes() / tasks_.one_of);
  std::uint64_t first = 0;
  std::uint64_t end = all;
  if (random.below(100) >= tasks_.anywhere_percent) {
    const std::uint64_t subset = random.below(tasks_.subsets);
    first = all * subset / tasks_.subsets;
    end = std::max(first + 1, all * (subset + 1) / tasks_.subsets);
  }
  for (std::uint32_t i = 0; i < tasks_.nodes; ++i) {
    const double uniform = static_cast<double>(random() >> 11U) * 0x1p-53;
    const double at = static_cast<double>(end - first) * std::pow(uniform, 1 / (1 - tasks_.theta));
    auto node = static_cast<std::uint32_t>(first + std::min(static_cast<std::uint64_t>(at), end - first - 1));
    while (tree_.end(node) > end && node + 1 < end) {  // a node that reaches beyond belongs to no subset
      ++node;
    }
    visit(node);
  }
}

TreeWork::Operation TreeWork::operation(std::uint64_t number) const noexcept {
  runtime::Random random{number + 1};
  Operation drawn{
      {tree_.leaves() - 1, 0}, 0, random.below(100) >= tasks_.read_percent, random.below(2) == 0, random()};
  each_node(drawn.seed, [&](std::uint32_t node) {
    const LeafInterval below = tree_.interval(node);
    drawn.leaves = {std::min(drawn.leaves.first, below.first), std::max(drawn.leaves.last, below.last)};
    const auto part = [this](std::uint64_t leaf) { return leaf * 64 / tree_.leaves(); };
    drawn.parts |= ~std::uint64_t{0} >> (63 - part(below.last)) & ~std::uint64_t{0} << part(below.first);
  });
  return drawn;
}

void TreeWork::run(const Operation& operation, Tally& tally) noexcept {
  const std::uint32_t passes = std::max(1U, operation.is_long ? tasks_.passes : tasks_.passes / 10);
  each_node(operation.seed, [&](std::uint32_t top) {
    const std::uint32_t end = std::min(tree_.end(top), top + kMostOfSubtree);
    for (std::uint32_t node = top; node < end; ++node) {
      std::atomic<std::uint64_t>& value = tree_.value(node);
      const std::uint64_t before = value.load(std::memory_order_relaxed);
      for (std::uint32_t i = 1; i <= passes; ++i) {
        const std::uint64_t now = value.load(std::memory_order_relaxed);
        if (operation.writes) {
          value.store(now + 1, std::memory_order_relaxed);
        } else {
          tally.disturbed += now == before ? 0 : 1;
          tally.sum += now;
        }
      }
      tally.written += operation.writes ? passes : 0;
    }
  });
}

double TreeComparison::judge(const TreeWork& work, const RunResult& result) {
  const Tally all = result.sum();
  right_ = right_ && work.right(all);
  shares_.clear();
  for (const Tally& one : result.workers) {
    shares_.push_back(static_cast<double>(one.executed) * 100 / static_cast<double>(all.executed));
  }
  away_ = static_cast<double>(all.away) * 100 / static_cast<double>(all.executed);
  return result.rate();
}

double TreeComparison::by_toggle(RangedTree& tree, const TreeTasks& tasks, const RunOptions& options) {
  TreeWork work{tree, tasks};
  return judge(work, run_by_toggle(work, options));
}

double TreeComparison::in_turn(RangedTree& tree, const TreeTasks& tasks, const RunOptions& options) {
  TreeWork work{tree, tasks};
  return judge(work, run_by_intervals(work, options, thread_order::round_robin));
}

void TreeComparison::add(std::vector<Variant>& variants, const FigureX& x, RangedTree& tree,
                         const TreeTasks& tasks, const RunOptions& options) {
  variants.push_back(
      {"round robin", x, [this, &tree, tasks, options] { return in_turn(tree, tasks, options); }});
  RunOptions in_queue = options;
  in_queue.order = runtime::interval_order::queue;
  variants.push_back(
      {kInQueue, x, [this, &tree, tasks, in_queue] { return by_toggle(tree, tasks, in_queue); }});
  for (const bool with : {true, false}) {
    if (hosts != (with ? "off" : "on")) {
      RunOptions how = options;
      how.hosts = with;
      variants.push_back({with ? kWithHosts : kWithoutHosts, x,
                          [this, &tree, tasks, how] { return by_toggle(tree, tasks, how); }});
    }
  }
}

int TreeComparison::exit_code(const Figure& figure) const {
  if (!right_) {
    figure.note("tasks that conflict ran side by side");
  }
  return right_ ? 0 : 1;
}

std::optional<int> parse_tree_flags(Figure& figure, RunOptions& options, std::uint64_t& nodes,
                                    TreeComparison& comparison, int argc, char** argv) {
  figure.number("tasks", options.operations, "tasks a measurement");
  figure.number("workers", options.workers, "workers, or threads", 1, 256);
  figure.number("in-flight", options.in_flight, "tasks of a worker under way, Toggle's", 1, 1024);
  figure.number("buckets", options.buckets, "of Toggle", 1, 64);
  figure.number("slots", options.slots_per_bucket, "inner buckets of a bucket", 1, 64);
  figure.number("nodes", nodes, "of the largest hierarchy", 100, 100'000'000);
  figure.text("hosts", comparison.hosts, "on: only the host of a bucket orders its tasks; off; both");
  if (const auto code = figure.parse(argc, argv)) {
    return code;
  }
  if (!is_hosts(comparison.hosts)) {
    figure.note("--hosts: not on, off or both: " + comparison.hosts);
    return 2;
  }
  return std::nullopt;
}

}  // namespace mxkv::bench

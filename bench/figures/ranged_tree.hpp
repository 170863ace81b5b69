// Trees whose nodes are the intervals of the leaves below them, and tasks on them [To 4.2 to 4.5].
//
// A node's subtree is the nodes from its place in preorder to its end. A task draws nodes, holds the interval
// from the first leaf below any of them to the last, and adds to, or reads, the data of the first nodes of
// each subtree. An addition is a load and a store, so it is lost if two tasks write at once. A reader checks
// whether its data change.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/figures/hierarchy_runs.hpp"
#include "runtime/base/random.hpp"

namespace mxkv::bench {

/// Depths in preorder; the root has 1, and no node is more than one deeper than that before it.
[[nodiscard]] std::vector<std::uint8_t> k_ary_tree(std::uint64_t nodes, std::uint64_t children);
/// With the paper's numbers for tree-bank: depth at most 36, 7.87 on average.
[[nodiscard]] std::vector<std::uint8_t> irregular_tree(std::uint64_t nodes);

class RangedTree {
 public:
  explicit RangedTree(const std::vector<std::uint8_t>& depths);

  [[nodiscard]] std::uint32_t nodes() const noexcept { return static_cast<std::uint32_t>(nodes_.size()); }
  [[nodiscard]] std::uint32_t leaves() const noexcept { return nodes_[0].last_leaf + 1; }
  [[nodiscard]] LeafInterval interval(std::uint32_t node) const noexcept {
    return {nodes_[node].first_leaf, nodes_[node].last_leaf};
  }
  [[nodiscard]] std::uint32_t end(std::uint32_t node) const noexcept { return nodes_[node].end; }
  /// Relaxed: the node's holder is its only writer.
  [[nodiscard]] std::atomic<std::uint64_t>& value(std::uint32_t node) noexcept { return values_[node]; }
  [[nodiscard]] std::uint64_t sum() const noexcept;

 private:
  struct Node {
    std::uint32_t first_leaf = 0;
    std::uint32_t last_leaf = 0;
    std::uint32_t end = 0;
  };
  std::vector<Node> nodes_;
  std::vector<std::atomic<std::uint64_t>> values_;
};

struct TreeTasks {
  std::uint32_t nodes = 2;             ///< that a task draws
  std::uint32_t subsets = 1;           ///< disjoint ones of the nodes; a task draws from one of them
  std::uint32_t anywhere_percent = 0;  ///< of the tasks draw from all nodes nevertheless
  std::uint32_t one_of = 1;            ///< all tasks draw from the first 1 / one_of of the nodes
  double theta = 0;                    ///< zipfian, popular nodes are the first in preorder; below 1
  std::uint32_t read_percent = 70;
  std::uint32_t passes = 200;  ///< over the nodes in a long task; half of the tasks have a tenth of it
};

/// The Work of hierarchy_runs.hpp.
class TreeWork {
 public:
  struct Operation {
    LeafInterval leaves;
    std::uint64_t parts;  ///< 64ths of the leaves that its nodes touch
    bool writes;
    bool is_long;
    std::uint64_t seed;
  };

  TreeWork(RangedTree& tree, const TreeTasks& tasks) : tree_(tree), tasks_(tasks), before_(tree.sum()) {}

  [[nodiscard]] std::uint32_t leaves() const noexcept { return tree_.leaves(); }
  [[nodiscard]] Operation operation(std::uint64_t number) const noexcept;
  void run(const Operation& operation, Tally& tally) noexcept;
  [[nodiscard]] bool right(const Tally& all) const noexcept {
    return all.disturbed == 0 && tree_.sum() - before_ == all.written;
  }

 private:
  static constexpr std::uint32_t kMostOfSubtree = 16;

  template <class Visit>
  void each_node(std::uint64_t seed, const Visit& visit) const;

  RangedTree& tree_;
  TreeTasks tasks_;
  std::uint64_t before_;
};

/// Runs of one kind of tasks by Toggle, by one queue of intervals, and by threads to which they are given in turn,
/// with interval locks.
class TreeComparison {
 public:
  /// "on", "off" or "both": which of Toggle's variants add() takes.
  std::string hosts = "both";

  /// Measures and returns the rates; remembers errors for the exit code. By Toggle, or as `options.order` says.
  double by_toggle(RangedTree& tree, const TreeTasks& tasks, const RunOptions& options);
  double in_turn(RangedTree& tree, const TreeTasks& tasks, const RunOptions& options);
  /// Adds all runs as variants at one x.
  void add(std::vector<Variant>& variants, const FigureX& x, RangedTree& tree, const TreeTasks& tasks,
           const RunOptions& options);
  /// Tasks of a worker in per cent of all tasks, in the last run.
  [[nodiscard]] const std::vector<double>& shares() const noexcept { return shares_; }
  /// Tasks that ran on none of the hosts of their buckets, in per cent, in the last run.
  [[nodiscard]] double away() const noexcept { return away_; }
  /// The program's exit code; prints the errors.
  [[nodiscard]] int exit_code(const Figure& figure) const;

 private:
  double judge(const TreeWork& work, const RunResult& result);

  bool right_ = true;
  std::vector<double> shares_;
  double away_ = 0;
};

/// Reads the flags that all these programs have, with the number of nodes; an exit code as Figure::parse().
[[nodiscard]] std::optional<int> parse_tree_flags(Figure& figure, RunOptions& options, std::uint64_t& nodes,
                                                  TreeComparison& comparison, int argc, char** argv);

}  // namespace mxkv::bench

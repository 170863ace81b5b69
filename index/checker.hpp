// The tree's invariants, checked on a tree that no task changes.
//
// Per node: even version; entries in strict key order across blocks, heads as the keys and the prefix say;
// counts within the blocks; fences of blocks between their neighbours; keys between the node's fences.
// Per level: the right links join fences without gap from the minimum to +infinity. Across levels: each child
// entry's bound is its child's low fence, children are one level down, and each node is its parent's child
// unless its separator is pending or it is on its way out. Pending separators are counted, and so are nodes
// that should have been unlinked.
#pragma once

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "index/prefix.hpp"
#include "index/tree.hpp"

namespace mxkv::index {

struct CheckReport {
  std::vector<std::string> errors;  ///< empty: all invariants hold
  std::size_t entries = 0;
  std::size_t nodes = 0;
  std::size_t pending = 0;  ///< nodes whose separator the parent does not know: after memory ran out
  std::size_t frozen = 0;   ///< nodes that are being unlinked: when all tasks have run, none
  std::size_t claimed = 0;  ///< nodes with a claim (node_life.hpp): when all tasks have run, none
  /// Nodes that should have been unlinked: thin, not a first child, of known separator, and of an inner node
  /// the left neighbour has room. When all tasks have run, none.
  std::size_t left_over = 0;
  unsigned levels = 0;
  [[nodiscard]] bool ok() const noexcept {
    return errors.empty() && pending == 0 && frozen == 0 && claimed == 0 && left_over == 0;
  }
};

/// Quiescent trees only. Thread-safety: no worker may run.
template <class Traits>
class Checker {
 public:
  using NodeT = Node<typename Traits::Shape>;
  using Key = typename Traits::Key;

  static CheckReport check(const Tree<Traits>& tree) {
    Checker checker{tree};
    const auto* leftmost = static_cast<const NodeT*>(tree.root().object());
    unsigned level = leftmost->meta().level();
    checker.report_.levels = level + 1;
    for (;;) {
      checker.known_ = std::exchange(checker.known_below_, {});
      checker.first_ = std::exchange(checker.first_below_, {});
      checker.check_level(*leftmost, level);
      if (level == 0) {
        break;
      }
      leftmost = child(leftmost->value(false, Position{0, 0}));
      --level;
    }
    return checker.report_;
  }

 private:
  explicit Checker(const Tree<Traits>& tree) : tree_(tree) {}

  static const NodeT* child(std::uint64_t word) {
    return static_cast<const NodeT*>(runtime::TaggedPointer{word}.object());
  }

  void fail(const NodeT& node, const std::string& what) {
    report_.errors.push_back("level " + std::to_string(node.meta().level()) + ": " + what);
  }

  void check_level(const NodeT& leftmost, unsigned level) {
    if (leftmost.low() != 0) {
      fail(leftmost, "the leftmost node has a low fence");
    }
    const NodeT* left = nullptr;
    for (const NodeT* node = &leftmost;; left = std::exchange(node, child(node->right()))) {
      ++report_.nodes;
      check_node(*node, level);
      if (left != nullptr) {
        check_place(*left, *node);
      }
      if (node->meta().high_infinite()) {
        if (node->right() != 0) {
          fail(*node, "the last node has a right sibling");
        }
        return;
      }
      const NodeT* right = child(node->right());
      if (right == nullptr) {
        fail(*node, "a node below +infinity has no right sibling");
        return;
      }
      if (Traits::order(Traits::fence_key(node->high()), right->low()) != 0) {
        fail(*node, "the high fence is not the sibling's low fence");
      }
    }
  }

  /// Checks a node's place in its level; not for the leftmost node.
  void check_place(const NodeT& left, const NodeT& node) {
    const NodeMeta meta = node.meta();
    report_.pending += node.life().separator_pending() ? 1 : 0;
    report_.frozen += meta.frozen() ? 1 : 0;
    report_.claimed += node.life().claimed() ? 1 : 0;
    if (node.life().dead()) {
      fail(node, "is dead");
    }
    if (node.life().separator_pending() || meta.frozen()) {
      return;
    }
    if (!known_.contains(&node)) {
      fail(node, "the parent does not know it");
    }
    const bool goes = meta.thin() && !first_.contains(&node) &&
                      (meta.level() == 0 || left.meta().total() <= tree_.fold_up_to());
    report_.left_over += goes ? 1 : 0;
  }

  Key key_at(const NodeT& node, bool leaf, Position at, bool first) const {
    if constexpr (Traits::kExact) {
      return node.head(leaf, at);
    } else {
      if (leaf) {
        return Traits::Record::key(node.value(true, at));
      }
      return Traits::fence_key(first ? node.low() : node.separator(at));
    }
  }

  void check_node(const NodeT& node, unsigned level) {
    const NodeMeta meta = node.meta();
    const bool leaf = level == 0;
    if (meta.level() != level) {
      fail(node, "is on level " + std::to_string(level));
    }
    if ((node.version().load() & 1U) != 0) {
      fail(node, "is latched");
    }
    if (meta.blocks() == 0 || meta.blocks() > Traits::Shape::blocks(leaf)) {
      fail(node, "has " + std::to_string(meta.blocks()) + " blocks");
      return;
    }
    if (!leaf && meta.count(0) == 0) {
      fail(node, "is an inner node without a first child");
    }
    bool first = true;
    Key before{};
    for (unsigned block = 0; block < meta.blocks(); ++block) {
      if (meta.count(block) > Traits::Shape::kSlots) {
        fail(node, "a block holds more than fits");
        return;
      }
      for (unsigned slot = 0; slot < meta.count(block); ++slot) {
        const Position at{static_cast<std::uint8_t>(block), static_cast<std::uint8_t>(slot)};
        const Key key = key_at(node, leaf, at, first);
        check_entry(node, meta, leaf, at, key, first);
        if (!first && !(before < key)) {
          fail(node, "keys are out of order");
        }
        before = key;
        first = false;
      }
    }
    check_prefix(node, meta);
  }

  void check_prefix(const NodeT& node, NodeMeta meta) {
    if constexpr (!Traits::kExact) {
      const bool edge = node.low() == 0 || meta.high_infinite();
      if (meta.loose_prefix() != (edge && meta.prefix_bytes() > 0)) {
        fail(node, "the prefix is loose between finite fences, or firm at an edge");
      }
      if (!edge && common_prefix(Traits::fence_key(node.low()), Traits::fence_key(node.high())) <
                       meta.prefix_bytes()) {
        fail(node, "the prefix is longer than what the fences share");
      }
      for (const std::uint64_t fence : {node.low(), meta.high_infinite() ? 0 : node.high()}) {
        if (fence != 0 && meta.loose_prefix() &&
            !Prefix<Traits>::shares(node, meta, Traits::fence_key(fence))) {
          fail(node, "a fence lacks the prefix");
        }
      }
      if (!meta.high_infinite() &&
          node.high_head() != Traits::head(Traits::fence_key(node.high()), meta.prefix_bytes())) {
        fail(node, "the high fence's head is not its key's");
      }
    }
  }

  void check_entry(const NodeT& node, NodeMeta meta, bool leaf, Position at, Key key, bool first) {
    const std::uint64_t head = node.head(leaf, at);
    if (leaf) {
      ++report_.entries;
    } else {
      const NodeT* below = child(node.value(false, at));
      known_below_.insert(below);
      if (first) {
        first_below_.insert(below);
      }
      if (below->meta().level() + 1 != meta.level()) {
        fail(node, "a child is not one level down");
      }
      if (Traits::order(key, below->low()) != 0) {
        fail(node, "a separator is not its child's low fence");
      }
    }
    if (leaf || !first) {
      if (head != Traits::head(key, meta.prefix_bytes())) {
        fail(node, "a head is not its key's");
      }
      if (meta.loose_prefix() && !Prefix<Traits>::shares(node, meta, key)) {
        fail(node, "a key lacks the prefix");
      }
    }
    if (Traits::order(key, node.low()) < 0 ||
        (!meta.high_infinite() && Traits::order(key, node.high()) >= 0)) {
      fail(node, "a key lies outside of the fences");
    }
    for (unsigned j = 0; j + 1 < meta.blocks(); ++j) {
      if (at.block <= j ? head > node.fence(j) : head < node.fence(j)) {
        fail(node, "an entry is on the wrong side of a block's fence");
      }
    }
  }

  using Nodes = std::unordered_set<const NodeT*>;

  const Tree<Traits>& tree_;
  CheckReport report_;
  Nodes known_;  ///< nodes of the present level that their parents know
  Nodes first_;  ///< nodes of the present level that are first children
  Nodes known_below_;
  Nodes first_below_;
};

}  // namespace mxkv::index

// Builds a tree from keys that come in order: at start-up, without tasks and without latches.
//
// Several threads append at once, each a run of keys to nodes of its own worker (LeafRun); runs follow each
// other in key order. One thread then joins the runs and builds the levels above (BulkLoader). Leaves are
// packed to 85 %, so that the first inserts do not split all of them; inner nodes too.
//
//   run 0            run 1                      a leaf is laid out once both of its fences are known:
//   [L0] L1 L2 [L3]  [L4] L5 [L6]               the ones in brackets wait for the runs beside theirs
//
// It only takes empty trees, and only before the runtime starts. When memory runs out, calls return false,
// and the runs free their records when they end.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "index/prefix.hpp"
#include "index/teardown_task.hpp"
#include "index/tree.hpp"

namespace mxkv::index {

template <class Traits>
class BulkLoader;

namespace detail {

/// A node whose entries are gathered before it is laid out.
template <class Traits>
struct LooseNode {
  using NodeT = Node<typename Traits::Shape>;
  using Key = typename Traits::Key;

  NodeT* node = nullptr;
  std::uint64_t low = 0;
  std::uint64_t high = 0;  ///< 0: infinite
  Entries entries;

  void add(std::uint64_t head, std::uint64_t value, std::uint64_t separator) noexcept {
    const unsigned at = entries.count++;
    entries.heads[at] = head;
    entries.values[at] = value;
    entries.separators[at] = separator;
  }
  /// The key of an entry of a leaf.
  [[nodiscard]] Key key(unsigned at) const noexcept {
    if constexpr (Traits::kExact) {
      return entries.heads[at];
    } else {
      return Traits::Record::key(entries.values[at]);
    }
  }
  /// Stores fences and entries into the node. Links are stored apart.
  void lay_out(unsigned most_blocks) noexcept {
    const bool leaf = node->leaf();
    const auto prefix = Prefix<Traits>::of(entries, 0, entries.count, leaf, low, high);
    prefix.store(*node);
    prefix.rehead(entries, 0, entries.count, leaf, low);
    node->store_low(low);
    node->store_high(high,
                     high == 0 ? ~std::uint64_t{0} : Traits::head(Traits::fence_key(high), prefix.bytes));
    node->store_meta(node->meta().with_high_infinite(high == 0));
    node->layout(entries, 0, entries.count, most_blocks);
  }
  /// Frees the node with all entries that were to be laid out.
  void discard(runtime::Worker& worker) noexcept {
    if (node->leaf()) {
      for (unsigned i = 0; i < entries.count; ++i) {
        Traits::release_record(worker, entries.values[i]);
      }
      Traits::free_fence(worker, low);
    }
    worker.nodes().release(node);
    *this = LooseNode{};
  }
};

template <class Traits>
typename Traits::Key least_between(typename Traits::Key below, typename Traits::Key above) noexcept {
  if constexpr (Traits::kExact) {
    MXKV_ASSERT(below < above, "keys of a bulk load come in order");
    return above;
  } else {
    MXKV_ASSERT(below < above, "keys of a bulk load come in order");
    return shortest_separator(below, above);
  }
}

/// How many entries nodes get: 85 % of the most, and inner nodes more than fold_up_to().
template <class Traits>
unsigned bulk_fill(const Tree<Traits>& tree, bool leaf) noexcept {
  const unsigned most = tree.most_entries(leaf);
  const unsigned wanted = std::max(most * 85 / 100, leaf ? 1U : tree.fold_up_to() + 1);
  return std::clamp(wanted, 1U, most);
}

}  // namespace detail

/// A run of leaves. Start-up only; one thread at a time fills a run, runs of different workers in parallel.
template <class Traits>
class LeafRun {
 public:
  using NodeT = Node<typename Traits::Shape>;
  using TreeT = Tree<Traits>;
  using Key = typename Traits::Key;

  /// Nodes and fences come from the heap of `worker`, whose thread does not run.
  LeafRun(TreeT& tree, runtime::Worker& worker) noexcept
      : tree_(&tree), worker_(&worker), fill_(detail::bulk_fill(tree, true)) {}
  LeafRun(const LeafRun&) = delete;
  LeafRun& operator=(const LeafRun&) = delete;
  /// Frees the leaves that BulkLoader::finish() did not take, with their records.
  ~LeafRun() { discard(); }

  /// Appends an entry, whose key is above all before it. `due`: when a task should look at its leaf. False:
  /// out of memory; the record still belongs to the caller.
  [[nodiscard]] bool append(Key key, std::uint64_t value, Due due = {}) noexcept {
    if (last_.entries.count == fill_ || last_.node == nullptr) [[unlikely]] {
      if (!(last_.node == nullptr ? begin() : roll_over(key))) {
        return false;
      }
    }
    MXKV_DCHECK(last_.entries.count == 0 || last_.key(last_.entries.count - 1) < key,
                "keys of a bulk load come in order");
    last_.add(Traits::kExact ? key_word(key) : 0, value, 0);
    if (!due.never()) {
      last_.node->store_due(last_.node->due().or_sooner(due));
    }
    ++size_;
    return true;
  }

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] runtime::Worker& worker() const noexcept { return *worker_; }

 private:
  friend BulkLoader<Traits>;
  using Loose = detail::LooseNode<Traits>;

  static std::uint64_t key_word([[maybe_unused]] Key key) noexcept {
    if constexpr (Traits::kExact) {
      return key;
    } else {
      return 0;
    }
  }

  [[nodiscard]] Loose& first() noexcept { return first_.node != nullptr ? first_ : last_; }

  bool begin() noexcept {
    last_.node = tree_->allocate_node(*worker_, 0, tree_->generation());
    return last_.node != nullptr;
  }

  /// Ends the leaf that is full before `key`, and begins the next.
  bool roll_over(Key key) noexcept {
    std::uint64_t bound = 0;
    if (!Traits::make_fence(*worker_, detail::least_between<Traits>(last_.key(last_.entries.count - 1), key),
                            bound)) {
      return false;
    }
    NodeT* next = tree_->allocate_node(*worker_, 0, tree_->generation());
    if (next == nullptr) {
      Traits::free_fence(*worker_, bound);
      return false;
    }
    last_.high = bound;
    last_.node->store_right(TreeT::tag(next).word());
    if (first_.node == nullptr) {
      first_ = last_;
    } else {
      last_.lay_out(tree_->most_blocks(true));
    }
    last_.node = next;
    last_.entries.count = 0;
    last_.low = bound;
    last_.high = 0;
    return true;
  }

  void lay_out_ends() noexcept {
    first().lay_out(tree_->most_blocks(true));
    if (first_.node != nullptr) {
      last_.lay_out(tree_->most_blocks(true));
    }
  }

  /// The leaves are the tree's from now on.
  void let_go() noexcept {
    first_.node = last_.node = nullptr;
    size_ = 0;
  }

  void discard() noexcept {
    if (last_.node == nullptr) {
      return;
    }
    if (first_.node != nullptr) {
      NodeT* const end = last_.node;
      NodeT* node = detail::node_of<NodeT>(first_.node->right());
      first_.discard(*worker_);
      while (node != end) {
        node = detail::free_leaf<Traits>(*worker_, *node);
      }
    }
    last_.discard(*worker_);
    size_ = 0;
  }

  TreeT* tree_;
  runtime::Worker* worker_;
  unsigned fill_;
  std::uint64_t size_ = 0;
  Loose first_;  ///< without a node: the last leaf is the first one too
  Loose last_;
};

/// Makes the tree from the runs. Start-up only: one thread, after all threads that append have ended.
template <class Traits>
class BulkLoader {
 public:
  using NodeT = Node<typename Traits::Shape>;
  using TreeT = Tree<Traits>;
  using Run = LeafRun<Traits>;

  /// Joins `runs`, which are in key order, and makes them the tree, which is empty and was never cleared.
  /// Runs without entries are allowed. False: out of memory; the tree is empty still, and the runs keep their
  /// leaves until they end.
  [[nodiscard]] static bool finish(TreeT& tree, std::span<Run* const> runs) noexcept {
    BulkLoader loader{tree, runs};
    if (loader.next_run(0) == runs.size()) {
      return true;
    }
    if (!loader.join()) {
      return false;
    }
    return loader.grow();
  }

 private:
  using Loose = detail::LooseNode<Traits>;

  BulkLoader(TreeT& tree, std::span<Run* const> runs) noexcept : tree_(tree), runs_(runs) {}

  /// The first run with entries from `at` on, or the end.
  [[nodiscard]] std::size_t next_run(std::size_t at) const noexcept {
    while (at < runs_.size() && runs_[at]->size() == 0) {
      ++at;
    }
    return at;
  }

  /// Gives neighbouring runs the bound between them, and links them.
  bool join() noexcept {
    std::size_t left = next_run(0);
    for (std::size_t right = 0; (right = next_run(left + 1)) < runs_.size(); left = right) {
      Loose& end = runs_[left]->last_;
      Loose& begin = runs_[right]->first();
      std::uint64_t bound = 0;
      if (!Traits::make_fence(runs_[right]->worker(),
                              detail::least_between<Traits>(end.key(end.entries.count - 1), begin.key(0)),
                              bound)) {
        return false;
      }
      end.high = bound;
      begin.low = bound;
    }
    left = next_run(0);
    for (std::size_t right = 0; (right = next_run(left + 1)) < runs_.size(); left = right) {
      runs_[left]->last_.node->store_right(TreeT::tag(runs_[right]->first().node).word());
    }
    return true;
  }

  /// Builds the levels above the leaves, and publishes the root.
  bool grow() noexcept {
    std::array<NodeT*, TreeT::kMaxLevels> leftmost{};
    for (Run* run : runs_) {
      if (run->size() > 0) {
        run->lay_out_ends();
      }
    }
    unsigned level = 0;
    leftmost[0] = runs_[next_run(0)]->first().node;
    while (!leftmost[level]->meta().high_infinite()) {
      MXKV_ASSERT(level + 1 < TreeT::kMaxLevels, "a tree has so many levels at most");
      leftmost[level + 1] = build_level(leftmost[level], level + 1);
      if (leftmost[level + 1] == nullptr) {
        free_levels({leftmost.data() + 1, level});
        return false;
      }
      ++level;
    }
    for (Run* run : runs_) {
      run->let_go();
    }
    tree_.adopt_root(leftmost[level], runs_.front()->worker());
    return true;
  }

  /// The level of the parents of `child` and of all right of it. Null: out of memory, and nothing was made.
  NodeT* build_level(const NodeT* child, unsigned level) noexcept {
    const unsigned fill = detail::bulk_fill(tree_, false);
    Loose parent;
    NodeT* leftmost = parent.node = allocate(level);
    if (parent.node == nullptr) {
      return nullptr;
    }
    parent.add(0, TreeT::tag(child).word(), 0);
    for (child = right_of(*child); child != nullptr; child = right_of(*child)) {
      if (parent.entries.count < fill) {
        parent.add(Traits::head(Traits::fence_key(child->low()), 0), TreeT::tag(child).word(),
                   Traits::kExact ? 0 : child->low());
      } else if (!next_parent(parent, *child, level)) {
        abandon_level(leftmost, parent);
        return nullptr;
      }
    }
    parent.lay_out(tree_.most_blocks(false));
    return leftmost;
  }

  /// Ends a full parent before `child`, and begins the next one.
  bool next_parent(Loose& parent, const NodeT& child, unsigned level) noexcept {
    const std::uint64_t bound = child.low();
    NodeT* next = allocate(level);
    if (next == nullptr) {
      return false;
    }
    parent.high = bound;
    parent.node->store_right(TreeT::tag(next).word());
    parent.lay_out(tree_.most_blocks(false));
    parent.node = next;
    parent.low = bound;
    parent.high = 0;
    parent.entries.count = 0;
    parent.add(Traits::head(Traits::fence_key(bound), 0), TreeT::tag(&child).word(), 0);
    return true;
  }

  /// Frees a level that could not be ended: the nodes from `leftmost` on, up to the one still loose.
  void abandon_level(NodeT* leftmost, Loose& loose) noexcept {
    while (leftmost != loose.node) {
      NodeT* const next = detail::node_of<NodeT>(leftmost->right());
      detail::free_node<Traits>(worker(), *leftmost);
      leftmost = next;
    }
    loose.discard(worker());
  }

  void free_levels(std::span<NodeT* const> leftmost) noexcept {
    for (NodeT* node : leftmost) {
      while (node != nullptr) {
        NodeT* const next = detail::node_of<NodeT>(node->right());
        detail::free_node<Traits>(worker(), *node);
        node = next;
      }
    }
  }

  static const NodeT* right_of(const NodeT& node) noexcept {
    return detail::node_of<const NodeT>(node.right());
  }

  /// Inner nodes go to the workers in turn.
  [[nodiscard]] NodeT* allocate(unsigned level) noexcept {
    return tree_.allocate_node(runs_[turn_++ % runs_.size()]->worker(), level, tree_.generation());
  }
  /// The worker whose heap frees nodes.
  [[nodiscard]] runtime::Worker& worker() noexcept { return runs_.front()->worker(); }

  TreeT& tree_;
  std::span<Run* const> runs_;
  std::size_t turn_ = 0;
};

}  // namespace mxkv::index

// The Blink-tree object: its root, its options and the life of its nodes.
//
// The tree is a data object itself, serialized by scheduling: tasks that replace the root (growth, clear) run
// in its pool, one after the other. Readers load the root word without synchronising: a root that was
// replaced is still a node of the tree, from which a search moves right or finds its way down.
// [Mx 5.1]
#pragma once

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

#include "index/commit_point.hpp"
#include "index/node.hpp"
#include "index/traits.hpp"
#include "runtime/base/heavy_fence.hpp"
#include "runtime/base/paths.hpp"
#include "runtime/scheduler/runtime.hpp"

namespace mxkv::index {

/// Lower limits than the shape's, so that few keys make deep trees: for tests. Only guarded execution checks
/// them. On the fast path a leaf may fill its blocks, but it has only as many blocks as its limit needs.
struct NodeLimits {
  unsigned leaf = ~0U;   ///< entries, at least 2
  unsigned inner = ~0U;  ///< at least 4: each half of a split has two children
};

/// How the nodes of a tree are synchronised [Mx 4.2: inner nodes by scheduling, leaves by latch]: by any
/// primitive but none. A level that is serialized by scheduling is read in its nodes' pools, too. Trees whose traits say
/// kLatchedNodes have the defaults.
struct TreeOptions {
  runtime::primitive leaves = runtime::primitive::optimistic_latch;
  runtime::primitive inner_nodes = runtime::primitive::optimistic_latch;
  NodeLimits limits{};
  /// Whether leaves, which begin as optimistic latches, change their primitive as many or few workers write
  /// to them (adaptation.hpp).
  bool leaves_adapt = false;
};

/// Counts of the unlinks of nodes that removals left empty, or with one child. Relaxed; any worker counts.
struct UnlinkCounters {
  std::atomic<std::uint64_t> leaves{0};     ///< empty leaves that were unlinked
  std::atomic<std::uint64_t> merges{0};     ///< leaves among them that gave their entries to the right before
  std::atomic<std::uint64_t> branches{0};   ///< inner nodes whose one child went left
  std::atomic<std::uint64_t> undone{0};     ///< inner nodes that stayed: the left neighbour had no room
  std::atomic<std::uint64_t> waits{0};      ///< times that a task met a frozen node and looked again later
  std::atomic<std::uint64_t> handed_on{0};  ///< unlinks that the left neighbour's task continues

  static void count(std::atomic<std::uint64_t>& counter) noexcept {
    counter.fetch_add(1, std::memory_order_relaxed);
  }
};

namespace detail {
/// Starts to take apart a tree that no task can reach any more.
template <class Traits>
void tear_down(runtime::Worker& worker, void* root);
}  // namespace detail

template <class Traits>
class alignas(runtime::kCacheLineBytes) Tree final : public runtime::DataObject {
 public:
  using NodeT = Node<typename Traits::Shape>;
  using Key = typename Traits::Key;
  static constexpr unsigned kMaxLevels = 24;
  /// Levels from the root down to this depth sit in the near caches: there are some hundred nodes of them.
  static constexpr unsigned kNearDepth = 1;

  /// Makes an empty tree. Start-up only: before the runtime starts. Throws std::bad_alloc.
  Tree(runtime::Runtime& runtime, TreeOptions options)
      : DataObject(runtime.pool_for_object(runtime::WorkerId{0}, 0),
                   runtime::primitive::serialized_by_scheduling),
        runtime_(runtime),
        options_(options),
        subtree_kind_(runtime.add_reclaim_kind(&detail::tear_down<Traits>)),
        memory_kind_(runtime.add_reclaim_kind(
            [](runtime::Worker& worker, void* memory) { worker.nodes().release(memory); })) {
    MXKV_ASSERT(!options.leaves_adapt || options.leaves == runtime::primitive::optimistic_latch,
                "a leaf that adapts begins as an optimistic latch");
    MXKV_ASSERT(options.leaves != runtime::primitive::none && options.inner_nodes != runtime::primitive::none,
                "the nodes of a tree are synchronised");
    MXKV_ASSERT(!Traits::kLatchedNodes || all_latched(),
                "tasks are compiled for nodes with optimistic latches");
    NodeT* root = allocate_node(runtime.worker(runtime::WorkerId{0}), 0, 0);
    if (root == nullptr) {
      throw std::bad_alloc{};
    }
    publish_root(root);
    spare_ = allocate_node(runtime.worker(runtime::WorkerId{0}), 0, 0);
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  [[nodiscard]] runtime::Runtime& runtime() noexcept { return runtime_; }
  [[nodiscard]] const TreeOptions& options() const noexcept { return options_; }
  /// How a node of this level is synchronised when it is made. A leaf may change later.
  [[nodiscard]] runtime::primitive primitive_of(unsigned level) const noexcept {
    return level == 0 ? options_.leaves : options_.inner_nodes;
  }
  /// Whether every node begins as an optimistic latch.
  [[nodiscard]] bool all_latched() const noexcept {
    return options_.leaves == runtime::primitive::optimistic_latch &&
           options_.inner_nodes == runtime::primitive::optimistic_latch;
  }

  /// The root, tagged. Any thread; pairs with publish_root().
  [[nodiscard]] runtime::TaggedPointer root() const noexcept {
    return runtime::TaggedPointer{root_.load(std::memory_order_acquire)};
  }
  [[nodiscard]] runtime::TaggedPointer tagged() const noexcept { return runtime::TaggedPointer{this, 0}; }
  /// How often it was cleared. Any thread.
  [[nodiscard]] std::uint64_t generation() const noexcept {
    return static_cast<const NodeT*>(root().object())->life().generation();
  }
  [[nodiscard]] unsigned root_level() const noexcept {
    return static_cast<const NodeT*>(root().object())->meta().level();
  }

  /// A task runs through nodes of this level and above at once. Nodes below are many: each is a prefetch and
  /// a hop of its own, and so is a leaf that is not right below the root. Any thread; a hint.
  [[nodiscard]] unsigned near_level() const noexcept { return near_level_.load(std::memory_order_relaxed); }

  /// Nodes below this level get two hops each, one for the header line and one for the block that it names.
  /// Nodes from here up to near_level() sit in the second-level cache, and get one. Any thread; a hint.
  [[nodiscard]] static unsigned staged_below(unsigned near_level) noexcept {
    return near_level > 1 ? near_level - 1 : near_level;
  }

  // How large nodes get. Any thread.
  /// With so many entries a node splits before it takes in another one.
  [[nodiscard]] unsigned most_entries(bool leaf) const noexcept {
    return std::min(leaf ? options_.limits.leaf : options_.limits.inner, Traits::Shape::capacity(leaf));
  }
  [[nodiscard]] unsigned most_blocks(bool leaf) const noexcept {
    return (most_entries(leaf) + Traits::Shape::kSlots - 1) / Traits::Shape::kSlots;
  }
  /// An inner node with at most so many entries takes over its right neighbour's last child.
  [[nodiscard]] unsigned fold_up_to() const noexcept {
    return std::min(options_.limits.inner / 2, Traits::Shape::kFoldUpTo);
  }

  /// Replaces the root. In the tree's pool, or at start-up.
  void publish_root(const NodeT* root) noexcept {
    const unsigned level = root->meta().level();
    MXKV_ASSERT(level < kMaxLevels && root->low() == 0, "a root has no left neighbour");
    near_level_.store(level < 2 ? 0 : (level > kNearDepth ? level - kNearDepth : 1),
                      std::memory_order_relaxed);
    root_.store(tag(root).word(), std::memory_order_release);  // pairs with root()
  }

  /// Replaces the root of an empty tree by the root of a tree that was built beside it. Start-up only: before
  /// the runtime starts.
  void adopt_root(const NodeT* root, runtime::Worker& worker) noexcept {
    auto* const empty = static_cast<NodeT*>(this->root().object());
    MXKV_ASSERT(empty->leaf() && empty->meta().total() == 0, "only an empty tree is replaced at start-up");
    publish_root(root);
    worker.nodes().release(empty);
  }

  /// A reference to a node, as all tasks and nodes keep it: marked with its level, at most kGreatestMark.
  [[nodiscard]] static runtime::TaggedPointer tag(const NodeT* node) noexcept {
    return runtime::TaggedPointer{node, mark_of_level(node->meta().level())};
  }
  [[nodiscard]] static constexpr unsigned mark_of_level(unsigned level) noexcept {
    return std::min(level, kGreatestMark);
  }
  static constexpr unsigned kGreatestMark = 7;

  /// A fresh node without entries, in one of `worker`'s pools and on its memory; null when memory is full.
  [[nodiscard]] NodeT* allocate_node(runtime::Worker& worker, unsigned level, std::uint64_t generation,
                                     typename NodeT::holds what = NodeT::holds::no_entry) noexcept {
    void* const memory = worker.nodes().allocate(sizeof(NodeT));
    if (memory == nullptr) {
      return nullptr;
    }
    return make_node(memory, pool_for_node(worker, level), level, generation, what);
  }
  /// A pool for a leaf that many write to.
  [[nodiscard]] runtime::PoolId pool_for_hot_leaf(runtime::Worker& worker) const noexcept {
    return runtime_.pool_for_object(worker.id(), worker.random()(), runtime::access_frequency::high);
  }
  /// A pool for a node of this level. A leaf whose writers are bound to its pool brings the work.
  [[nodiscard]] runtime::PoolId pool_for_node(runtime::Worker& worker, unsigned level) const noexcept {
    const bool busy = !Traits::kLatchedNodes && level == 0 && is_bound(options_.leaves);
    return runtime_.pool_for_object(
        worker.id(), worker.random()(),
        busy ? runtime::access_frequency::moderate : runtime::access_frequency::low);
  }

  /// Prefetches the lines of the node that allocate_node() would make, where its place is known.
  static void prefetch_next_node(runtime::Worker& worker) noexcept {
    if (const void* const block = worker.nodes().next_block(sizeof(NodeT))) {
      runtime::prefetch_lines(block, NodeT::kLines);
    }
  }

  /// An empty leaf for a cleared tree. A spare one is kept, since clearing must be possible when memory is
  /// full. In the tree's pool. Null: out of memory, and the spare is used up.
  [[nodiscard]] NodeT* take_empty_root(runtime::Worker& worker, std::uint64_t generation) noexcept {
    NodeT* root = allocate_node(worker, 0, generation);
    if (root == nullptr && spare_ != nullptr) {
      NodeT* spare = std::exchange(spare_, nullptr);
      return make_node(spare, spare->pool(), 0, generation, NodeT::holds::no_entry);
    }
    if (spare_ == nullptr) {
      spare_ = allocate_node(worker, 0, generation);
    }
    return root;
  }

  /// Gives back the spare leaf: clearing may fail from here on. When no worker runs.
  void release_spare(runtime::Worker& worker) noexcept {
    if (spare_ != nullptr) {
      worker.nodes().release(std::exchange(spare_, nullptr));
    }
  }

  /// Retires a root that was replaced; its tree is freed piece by piece when no reader is left.
  void retire_subtree(runtime::Worker& worker, NodeT* root) {
    Traits::teardown_begins(worker);
    worker.retire(root, subtree_kind_, sizeof(NodeT));
  }
  /// Retires a node that was unlinked: its memory alone, not what it refers to.
  void retire_node(runtime::Worker& worker, NodeT& node) {
    MXKV_ASSERT(node.life().dead() && !node.life().claimed(), "a node is retired when it is dead");
    worker.retire(&node, memory_kind_, sizeof(NodeT));
  }
  /// Retires a fence or separator that readers may still look at.
  void retire_fence(runtime::Worker& worker, std::uint64_t fence) {
    if constexpr (!Traits::kExact) {
      if (fence != 0) {
        auto* record = reinterpret_cast<void*>(fence);
        worker.retire(record, memory_kind_, worker.nodes().usable_size(record));
      }
    }
  }

  /// The point that all changes pass. commit_point.hpp says on which threads.
  [[nodiscard]] CommitPoint<Key>& commits() noexcept { return commits_; }
  [[nodiscard]] const CommitPoint<Key>& commits() const noexcept { return commits_; }
  /// Passes a change of one entry, under its leaf's latch, before a reader can see it. In a tree that has
  /// been cleared meanwhile no reader will see it, and it does not pass: it went with the rest.
  [[gnu::always_inline]] void passes(NodeT& leaf, const Change& change, Key key, std::uint64_t value,
                                     std::uint64_t old, runtime::Worker& worker) const noexcept {
    keeps_order(leaf, change);
    if (commits_.heard()) [[unlikely]] {
      tells(leaf, change, key, value, old, worker);
    }
  }
  // The two steps of passes(), for callers that compile the second one apart.
  static void keeps_order(NodeT& leaf, const Change& change) noexcept {
    if (change.raises_floor()) {
      leaf.raise_order_floor(change.order);
    }
  }
  /// Tells the listener. Only where there is one.
  void tells(const NodeT& leaf, const Change& change, Key key, std::uint64_t value, std::uint64_t old,
             runtime::Worker& worker) const noexcept {
    runtime::light_fence();  // pairs with the heavy one in ClearTask
    if (leaf.life().generation() == generation()) [[likely]] {
      commits_.pass({.change = change, .key = key, .value = value, .old = old}, worker);
    }
  }

  /// Any thread.
  [[nodiscard]] UnlinkCounters& unlinks() noexcept { return unlinks_; }

 private:
  [[nodiscard]] static bool is_bound(runtime::primitive how) noexcept {
    return how == runtime::primitive::optimistic_scheduling ||
           how == runtime::primitive::serialized_by_scheduling;
  }
  [[nodiscard]] NodeT* make_node(void* memory, runtime::PoolId pool, unsigned level, std::uint64_t generation,
                                 typename NodeT::holds what) const noexcept {
    auto* const node = new (memory) NodeT(pool, primitive_of(level), level, generation, what);
    if (level == 0 && options_.leaves_adapt) {
      node->let_adapt();
    }
    return node;
  }

  runtime::Runtime& runtime_;
  TreeOptions options_;
  runtime::ReclaimKind subtree_kind_;
  runtime::ReclaimKind memory_kind_;
  NodeT* spare_ = nullptr;
  std::atomic<std::uint64_t> root_{0};
  std::atomic<unsigned> near_level_{0};
  CommitPoint<Key> commits_;
  alignas(runtime::kCacheLineBytes) UnlinkCounters unlinks_;  // apart from the words that every search reads
};

}  // namespace mxkv::index

#include "index/teardown_task.hpp"

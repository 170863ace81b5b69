// How a leaf changes its primitive while it is in use [Mx 4.2]: from the optimistic latch to optimistic scheduling
// where many workers write to it at once, and back when few do.
//
// The workers' counts (write_heat.hpp) decide when a leaf changes, and the table of primitives to what. A
// change is a store under the leaf's latch (data_object.hpp). A task that comes to the leaf goes by the tag
// of the pointer that led there, so the leaf's entry in the parent gets a new tag, under the parent's latch.
// The tag is a hint: where the parent is latched, or not the leaf's parent any more, writers go by the former
// primitive, and the next writer that notices tries again. A task may latch the parent for this outside of
// the parent's pool, whatever the parent's primitive is: only one word changes, and both its values lead to
// the leaf.
//
// A leaf whose parent is not known stays as it is; so does a leaf that is the root. When the rebalancer puts
// a leaf into another pool, the next writer gives the leaf's parent the new tag, too.
#pragma once

#include "index/tree.hpp"

namespace mxkv::index {

/// Thread-safety: any worker, by a task that is pinned and holds no latch.
template <class Traits>
struct Adaptation {
  using TreeT = Tree<Traits>;
  using NodeT = typename TreeT::NodeT;

  /// A writer lost the leaf's latch to another worker.
  static void lost(const TreeT& tree, NodeT& leaf, NodeT* parent, runtime::Worker& worker) noexcept {
    if (tree.options().leaves_adapt && parent != nullptr && worker.write_heat().lost(&leaf, worker.now_ns()))
        [[unlikely]] {
      heat(tree, leaf, *parent, worker);
    }
  }
  /// A task wrote to the leaf, after the pointer `way` led it there. Only tasks that run in pools count.
  static void wrote(const TreeT& tree, NodeT& leaf, runtime::TaggedPointer way, NodeT* parent,
                    runtime::Worker& worker) noexcept {
    if (!tree.options().leaves_adapt || parent == nullptr ||
        way.synchronization() != runtime::primitive::optimistic_scheduling) [[likely]] {
      return;
    }
    if (leaf.synchronization() != runtime::primitive::optimistic_scheduling ||
        leaf.pool() != way.pool_hint()) {
      tell(parent, leaf);
    } else if (worker.write_heat().wrote(&leaf, worker.now_ns())) {
      cool(leaf, *parent, worker);
    }
  }

  /// Writers go to a pool from here on: the pool that has had least to do.
  static void heat(const TreeT& tree, NodeT& leaf, NodeT& parent, runtime::Worker& worker) noexcept {
    const runtime::PoolId pool = tree.pool_for_hot_leaf(worker);
    if (turn(leaf, runtime::access_frequency::high, pool)) {
      runtime::count(worker.counters().turned_hot);
    }
    tell(&parent, leaf);
  }
  /// Writers take the latch where they are.
  static void cool(NodeT& leaf, NodeT& parent, runtime::Worker& worker) noexcept {
    if (turn(leaf, runtime::access_frequency::moderate, leaf.pool())) {
      runtime::count(worker.counters().turned_cold);
    }
    tell(&parent, leaf);
  }

  /// Gives the leaf's entry in its parent, null if that is not known, a new tag.
  static void tell(NodeT* parent, const NodeT& leaf) noexcept {
    runtime::WriteLatch latch = parent == nullptr
                                    ? runtime::WriteLatch::none()
                                    : runtime::WriteLatch::acquire(*parent, runtime::kOptimisticTries);
    if (!latch) {
      return;
    }
    const NodeMeta meta = parent->meta();
    const unsigned blocks = meta.level() == 1 && !meta.frozen() ? meta.blocks() : 0;
    for (unsigned block = 0; block < blocks; ++block) {
      for (unsigned slot = 0; slot < NodeT::clamp_count(meta, block); ++slot) {
        const Position at{static_cast<std::uint8_t>(block), static_cast<std::uint8_t>(slot)};
        if (runtime::TaggedPointer{parent->value(false, at)}.object() == &leaf) {
          MXKV_PATH(leaf_told);
          parent->store_value(false, at, TreeT::tag(&leaf).word());
          return;
        }
      }
    }
    latch.release_unchanged();
  }

 private:
  [[nodiscard]] static bool turn(NodeT& leaf, runtime::access_frequency frequency,
                                 runtime::PoolId pool) noexcept {
    const runtime::primitive how =
        runtime::select_primitive(runtime::isolation::shared, runtime::rw_ratio::balanced, frequency);
    if (leaf.synchronization() == how) {
      return false;
    }
    runtime::WriteLatch latch = runtime::WriteLatch::acquire(leaf, runtime::kOptimisticTries);
    if (!latch) {
      return false;
    }
    if (leaf.meta().frozen() || leaf.synchronization() == how) {
      latch.release_unchanged();
      return false;
    }
    MXKV_PATH(leaf_turned);
    leaf.turn_to(how, pool);
    return true;
  }
};

}  // namespace mxkv::index

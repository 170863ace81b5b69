// How a leaf changes its primitive while it is in use [Mx 4.2]: from the optimistic latch to optimistic scheduling
// where many workers write to it at once, and back when few do.
//
// When is up to the workers' counts (write_heat.hpp), what to the table of primitives. A change is a store under the
// leaf's latch (data_object.hpp). Who comes to the leaf goes by the tag of the pointer that led there, so its entry
// in the parent gets a new tag, under the parent's latch. That is a hint: where the parent is latched, or not the
// leaf's any more, writers go by the former primitive, and the next one that notices tries again. A parent may be
// latched so outside of its pool, whatever its own primitive is: of the word that changes, both values lead to the
// leaf.
//
// A leaf whose parent is not known stays as it is; so does one that is the root. Leaves that the rebalancer puts into
// another pool have their parents told as well, by the next writer.
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
  /// A task wrote to the leaf that had come by the pointer `way`, as one of those that run in pools.
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

  /// Writers go to a pool from here on: the one that has had least to do.
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

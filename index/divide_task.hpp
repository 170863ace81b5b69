// Finds keys that divide a range evenly: separators of inner nodes, without a look at a leaf.
//
// It goes over the nodes of one level that may hold keys of the range, by their right links. It begins with
// the root, and goes on a level below for as long as there are fewer separators than wanted. It reads a level
// only where the level above had few, so that is a few nodes for each part that is wanted. Each child counts
// the same, whatever it holds. Nodes that split or go meanwhile cost a little evenness, no more: any key
// divides a range.
//
// Derived (CRTP) gives
//   Key key() const                      where the range begins
//   bool ends_before(Key)                whether a key, not below key(), lies behind the range
//   step divided(Worker&)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "index/traverse.hpp"

namespace mxkv::index {

/// Keeps some of the keys that are offered in order, at even distances, however many keys come.
template <class OwnedKey>
class SpacedKeys {
 public:
  /// Of many keys it keeps at least `least`, and fewer than twice as many.
  explicit SpacedKeys(std::size_t least) : most_(2 * std::max<std::size_t>(least, 1)) {}

  template <class Key>
  void offer(const Key& key) {
    if (++offered_ % stride_ != 0) {
      return;
    }
    if (kept_.size() + 1 == most_) {
      thin_out();
      if (offered_ % stride_ != 0) {
        return;
      }
    }
    kept_.emplace_back(key);
  }
  void clear() {
    kept_.clear();
    offered_ = 0;
    stride_ = 1;
  }
  [[nodiscard]] std::size_t offered() const noexcept { return offered_; }

  /// The kept keys that divide the range into `parts` parts, or into as many as there can be.
  [[nodiscard]] std::vector<OwnedKey> take(std::size_t parts) {
    std::vector<OwnedKey> taken;
    const std::size_t pieces = kept_.size() + 1;
    parts = std::min(parts, pieces);
    for (std::size_t part = 1; part < parts; ++part) {
      OwnedKey& key = kept_[part * pieces / parts - 1];
      if (taken.empty() || taken.back() < key) {  // nodes that go meanwhile may repeat a key
        taken.push_back(std::move(key));
      }
    }
    clear();
    return taken;
  }

 private:
  void thin_out() {
    std::size_t to = 0;
    for (std::size_t from = 1; from < kept_.size(); from += 2) {
      kept_[to++] = std::move(kept_[from]);
    }
    kept_.resize(to);
    stride_ *= 2;
  }

  std::vector<OwnedKey> kept_;
  std::size_t most_;
  std::size_t offered_ = 0;
  std::size_t stride_ = 1;  ///< one of so many offered keys is kept
};

struct DivideScratch : TraverseScratch {
  Entries children;
  std::uint64_t right;
  std::uint64_t low;
  std::uint64_t high;
};

template <class Derived, class Traits>
class DivideTask : public TraverseTask<Derived, Traits, DivideScratch> {
  using Base = TraverseTask<Derived, Traits, DivideScratch>;

 public:
  static constexpr bool kTargetsLeaf = false;
  static constexpr bool kWholeTarget = true;
  using OwnedKey = std::conditional_t<Traits::kExact, typename Base::Key, std::string>;
  using Keys = SpacedKeys<OwnedKey>;
  using typename Base::NodeT;
  using typename Base::Scratch;
  using typename Base::SearchT;

  /// Offers separators to `keys`, which outlives the task: all of the highest level with at least `wanted`.
  DivideTask(const runtime::TaskClass* task_class, Tree<Traits>& tree, Keys& keys,
             std::size_t wanted) noexcept
      : Base(task_class, tree), keys_(&keys), wanted_(wanted) {}

  [[nodiscard]] unsigned target_level() const noexcept { return level_; }

  void start(runtime::Worker& worker) {
    level_ = static_cast<const NodeT*>(this->tree().root().object())->meta().level();
    Base::start(worker);
  }
  /// Begins with the separators of leaves: for a part of the range, whose end Derived gives.
  void start_above_leaves(runtime::Worker& worker) {
    level_ = std::min(static_cast<const NodeT*>(this->tree().root().object())->meta().level(), 1U);
    Base::start(worker);
  }

  TraverseScratch::kind inspect_target(const NodeT& node, const runtime::OptimisticRead& read,
                                       Scratch& scratch) const noexcept {
    const NodeMeta meta = scratch.meta;
    node.copy_entries(meta, meta.level() > 0, scratch.children);
    scratch.low = node.low();
    scratch.high = node.high();
    scratch.right = node.right();
    if (Traits::kExact || this->own_mark()) {
      return TraverseScratch::kind::target;
    }
    return detail::away(SearchT::inside(node, meta, this->self().key(), scratch.head, false, read), node,
                        scratch);
  }

  runtime::step resume_target(Scratch& scratch, runtime::Worker& worker) {
    const NodeMeta meta = scratch.meta;
    if (meta.level() == 0) {  // a tree of one leaf
      return this->self().divided(worker);
    }
    const bool beyond = offer_children(scratch);
    if (!beyond && !meta.high_infinite() && !this->self().ends_before(Traits::fence_key(scratch.high))) {
      this->set_own_mark(true);
      this->enter(runtime::TaggedPointer{scratch.right});
      this->annotate_lines(this->object(), 0, NodeT::kLines);
      return runtime::step::again;
    }
    if (keys_->offered() >= wanted_ || meta.level() == 1) {
      return this->self().divided(worker);
    }
    keys_->clear();
    level_ = meta.level() - 1;
    this->set_own_mark(false);
    worker.repin(*this);
    return this->restart(false);
  }

  runtime::step resume_item(runtime::Worker& /*worker*/) { return runtime::step::done; }

 protected:
  /// The level that was read last: its separators divide nodes of the level below.
  [[nodiscard]] unsigned level() const noexcept { return level_; }

 private:
  /// Offers the children's bounds. Returns whether the range ends at one of them.
  bool offer_children(const Scratch& scratch) {
    for (unsigned i = 0; i < scratch.children.count; ++i) {
      if (i == 0 && scratch.low == 0) {
        continue;  // the leftmost of all
      }
      const auto bound = i == 0 ? Traits::fence_key(scratch.low) : scratch.children.template bound<Traits>(i);
      if (bound <= this->self().key()) {
        continue;
      }
      if (this->self().ends_before(bound)) {
        return true;
      }
      keys_->offer(bound);
    }
    return false;
  }

  Keys* keys_;
  std::size_t wanted_;
  unsigned level_ = 0;
};

}  // namespace mxkv::index

// The changes that unlinking makes to nodes: a parent drops an entry, and a left neighbour takes over the
// range of a node that goes. Nothing is allocated, so nothing can fail.
//
//   left [a, b) -> gone [b, c) -> right        becomes        left [a, c) -> right
//
// The dead node keeps its words for tasks that are still there: its fences, its right link, and in an inner
// node its child. Each function runs under the latch of the node that it changes.
#pragma once

#include "index/prefix.hpp"
#include "runtime/base/assert.hpp"

namespace mxkv::index {

template <class Traits>
struct Absorb {
  using NodeT = Node<typename Traits::Shape>;

  /// Takes the entry at `at`, not the first one, out of an inner node.
  static void drop(NodeT& parent, Position at, unsigned most_blocks) noexcept {
    const NodeMeta meta = parent.meta();
    const unsigned rank = NodeT::rank_of(meta, at);
    MXKV_ASSERT(meta.level() > 0 && !meta.frozen(), "a parent that drops a child is an inner node in use");
    MXKV_ASSERT(rank > 0 && rank < meta.total(), "a parent keeps its first child");
    Entries entries;
    parent.copy_entries(meta, !Traits::kExact, entries);
    entries.erase(rank);
    parent.layout(entries, 0, entries.count, most_blocks);
  }

  /// `left` takes over range, right link and child from its right neighbour `gone`, a thin node.
  static void take_over(NodeT& left, const NodeT& gone, unsigned most_blocks) noexcept {
    const NodeMeta meta = left.meta();
    const bool leaf = meta.level() == 0;
    const bool infinite = gone.meta().high_infinite();
    const std::uint64_t high = gone.high();
    MXKV_ASSERT(runtime::TaggedPointer{left.right()}.object() == &gone, "a node goes to its left neighbour");
    MXKV_ASSERT(!meta.frozen() && gone.meta().frozen(), "a frozen node goes to one that is not");
    MXKV_ASSERT(gone.meta().thin() && gone.meta().level() == meta.level(), "what goes is thin");
    Entries entries;
    left.copy_entries(meta, !Traits::kExact && !leaf, entries);
    if (!leaf) {
      const std::uint64_t low = gone.low();
      entries.insert(entries.count, low, gone.value(false, Position{}), Traits::kExact ? 0 : low);
    }
    const auto prefix = Prefix<Traits>::of(entries, 0, entries.count, leaf, left.low(), infinite ? 0 : high);
    if (!leaf || prefix.loose || prefix.bytes != meta.prefix_bytes()) {
      prefix.store(left);
      prefix.rehead(entries, 0, entries.count, leaf, left.low());
      left.layout(entries, 0, entries.count, most_blocks);
    }
    left.store_meta(left.meta().with_high_infinite(infinite));
    left.store_high(high, infinite ? ~std::uint64_t{0} : Traits::head(Traits::fence_key(high), prefix.bytes));
    left.store_right(gone.right());
    left.raise_order_floor(gone.order_floor());
  }
};

}  // namespace mxkv::index

// What unlinking changes in nodes: a parent drops an entry, a left neighbour takes over the range of a node
// that goes. Nothing is allocated, so nothing can fail; records change owners.
//
//   left [a, b) -> gone [b, c) -> right        becomes        left [a, c) -> right
//
// The dead node keeps its words for those who are still there: its fences, its right link, and an inner node
// its child. Under the latch of the node that changes.
#pragma once

#include "index/node.hpp"
#include "index/traits.hpp"

namespace mxkv::index {

template <class Traits>
struct Absorb {
  using NodeT = Node<typename Traits::Shape>;

  /// Whether the inner node `left` may take over one more child.
  [[nodiscard]] static bool has_room(NodeMeta left) noexcept {
    return left.total() <= Traits::Shape::kFoldUpTo;
  }

  /// Takes the entry at `at`, not the first one, out of an inner node. Returns its separator, which is the
  /// caller's from now on.
  static std::uint64_t drop(NodeT& parent, Position at) noexcept {
    const NodeMeta meta = parent.meta();
    const unsigned rank = NodeT::rank_of(meta, at);
    Entries entries;
    parent.copy_entries(meta, !Traits::kExact, entries);
    const std::uint64_t separator = entries.separators[rank];
    entries.erase(rank);
    parent.layout(entries, 0, entries.count);
    return separator;
  }

  /// `left` takes over what is right of it from `gone`, a thin node. The high fence of `gone`, and of an
  /// inner node the low one, are the left node's from now on. Returns the left node's old high fence.
  static std::uint64_t take_over(NodeT& left, const NodeT& gone) noexcept {
    const NodeMeta meta = left.meta();
    const bool infinite = gone.meta().high_infinite();
    const std::uint64_t high = gone.high();
    const std::size_t prefix = infinite ? 0 : Traits::common_prefix(left.low(), high);
    if (meta.level() > 0 || prefix != meta.prefix_bytes()) {
      lay_out_anew(left, gone, meta, prefix);
    }
    left.store_meta(left.meta().with_high_infinite(infinite));
    const std::uint64_t old_high = left.high();
    left.store_high(high, infinite ? ~std::uint64_t{0} : Traits::head(Traits::fence_key(high), prefix));
    left.store_right(gone.right());
    left.raise_cas_floor(gone.cas_floor());
    return old_high;
  }

 private:
  static void lay_out_anew(NodeT& left, const NodeT& gone, NodeMeta meta, std::size_t prefix) noexcept {
    Entries entries;
    left.copy_entries(meta, !Traits::kExact && meta.level() > 0, entries);
    if constexpr (!Traits::kExact) {
      for (unsigned i = 0; prefix != meta.prefix_bytes() && i < entries.count; ++i) {
        entries.heads[i] = Traits::head(key_of(left, meta, entries, i), prefix);
      }
    }
    if (meta.level() > 0) {
      const std::uint64_t low = gone.low();
      entries.insert(entries.count, Traits::head(Traits::fence_key(low), prefix),
                     gone.value(false, Position{}), Traits::kExact ? 0 : low);
    }
    left.store_meta(
        meta.with_prefix(prefix));  // its inline bytes are the low fence's still, of which fewer count
    left.layout(entries, 0, entries.count);
  }

  [[nodiscard]] static KeyView key_of(const NodeT& node, NodeMeta meta, const Entries& entries,
                                      unsigned i) noexcept {
    if (meta.level() == 0) {
      return Traits::Record::key(entries.values[i]);
    }
    return Traits::fence_key(i == 0 ? node.low() : entries.separators[i]);
  }
};

}  // namespace mxkv::index

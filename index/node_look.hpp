// The result of one look at a node, and the stages of a task's access to a node.
#pragma once

#include <cstdint>

#include "index/search.hpp"
#include "runtime/resource/primitive.hpp"

namespace mxkv::index {

/// The stage of a tree task's access to a node. Kept in the task's annotations.
enum class stage : std::uint8_t {
  header,  ///< at a node, nothing read yet
  block,   ///< header line read, block known
  item,    ///< byte keys: at the record that a leaf's entry refers to
  commit,  ///< at the leaf again, all known: only the latch is missing
};

/// The result of one look at a node. locate() fills it; it counts once the version held.
struct TraverseScratch {
  enum class kind : std::uint8_t { right, child, block, target, torn, outside };
  kind what;
  NodeMeta meta{0};
  std::uint64_t next;  ///< right or child: the node to go to
  std::uint64_t head;  ///< of the key in this node
  unsigned block;
};

/// And the result of a search in the target.
struct LookupScratch : TraverseScratch {
  Found found;
};

namespace detail {
/// A traversal's next move for a key that was not found, by the place where the key belongs.
template <class NodeT>
[[gnu::always_inline]] inline TraverseScratch::kind away(route where, const NodeT& node,
                                                         TraverseScratch& scratch) noexcept {
  switch (where) {
    case route::right:
      scratch.next = node.right();
      return TraverseScratch::kind::right;
    case route::torn:
      return TraverseScratch::kind::torn;
    case route::outside:
      return TraverseScratch::kind::outside;
    case route::here:
      break;
  }
  return TraverseScratch::kind::target;
}

}  // namespace detail

}  // namespace mxkv::index

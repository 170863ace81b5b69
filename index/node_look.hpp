// What a look at one node finds out, and how far a task's access to a node is.
#pragma once

#include <cstdint>

#include "index/search.hpp"
#include "runtime/resource/primitive.hpp"

namespace mxkv::index {

/// How far the staged access of a tree task is. Kept in the task's annotations.
enum class stage : std::uint8_t {
  header,  ///< at a node, nothing read yet
  block,   ///< header line read, block known
  item,    ///< byte keys: at the record that a leaf's entry refers to
  commit,  ///< at the leaf again, all known: only the latch is missing
};

/// What a look at one node found out. Filled by locate(), relied upon once the version held.
struct TraverseScratch {
  enum class kind : std::uint8_t { right, child, block, target, torn, outside };
  kind what;
  NodeMeta meta{0};
  std::uint64_t next;  ///< right or child: where to
  std::uint64_t head;  ///< of the key in this node
  unsigned block;
};

/// And what a search in the target found.
struct LookupScratch : TraverseScratch {
  Found found;
};

namespace detail {
/// What a traversal does about a key that was not found, by where it belongs.
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

/// Whether nodes of this primitive may be read while others write.
[[nodiscard]] inline bool reads_optimistically(runtime::primitive how) noexcept {
  return how == runtime::primitive::optimistic_latch || how == runtime::primitive::optimistic_scheduling;
}
}  // namespace detail

}  // namespace mxkv::index

// The walk of a thread with one operation at a time: a loop over the tree's nodes from the root to the leaf,
// without tasks. As soon as the thread knows a node it prefetches all of its lines, so that header, heads and
// pointers are on their way together. For a thread with nothing else to do this is 1.5 to 1.8 times as fast
// as prefetching the header first, and then the two lines that it names. Nodes are guarded as their primitive
// says: by versions, or by a latch held while the thread reads one node (a Blink-tree does not couple
// latches).
//
// The caller is in an epoch, so an operation needs no pin of its own: it ends before its thread announces the
// next epoch. If a leaf has no room, the tree's own task does the write, and splits the leaf.
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

#include "index/plain_search.hpp"
#include "index/search.hpp"
#include "index/tree.hpp"
#include "runtime/base/cache_line.hpp"
#include "runtime/synchronization/latched/shared_latch.hpp"

namespace mxkv::bench {

/// A look at a node that other threads may write meanwhile.
class VersionGuard {
 public:
  using Writer = VersionGuard;
  explicit VersionGuard(runtime::DataObject& object) noexcept : read_(object) {}
  [[nodiscard]] bool holds() const noexcept { return !read_.locked(); }
  [[nodiscard]] bool valid() const noexcept { return read_.valid(); }
  [[nodiscard]] const runtime::OptimisticRead& read() const noexcept { return read_; }
  /// Becomes the writer, if no thread wrote since.
  [[nodiscard]] runtime::WriteLatch to_write(runtime::DataObject& object) const noexcept {
    return runtime::WriteLatch::upgrade(object, read_.version());
  }

 private:
  runtime::OptimisticRead read_;
};

/// A look at a node under a latch of this kind.
template <class Latch>
class LatchGuard {
 public:
  using Writer = LatchGuard<runtime::WriteLatch>;
  explicit LatchGuard(runtime::DataObject& object) noexcept
      : latch_(Latch::acquire(object, kTries)), read_(object) {}
  ~LatchGuard() { latch_.release_unchanged(); }
  LatchGuard(const LatchGuard&) = delete;
  LatchGuard& operator=(const LatchGuard&) = delete;
  [[nodiscard]] bool holds() const noexcept { return static_cast<bool>(latch_); }
  [[nodiscard]] bool valid() const noexcept { return true; }
  /// The read to pass to searches. It needs no validation, because the latch is held.
  [[nodiscard]] const runtime::OptimisticRead& read() const noexcept { return read_; }
  [[nodiscard]] runtime::WriteLatch to_write(runtime::DataObject& /*object*/) noexcept
    requires std::same_as<Latch, runtime::WriteLatch>
  {
    return std::move(latch_);
  }

 private:
  static constexpr unsigned kTries = 64;
  Latch latch_;
  runtime::OptimisticRead read_;
};

/// Integer keys, no removals. Thread-safety: any number of them on one tree.
template <class Traits, class Guard>
class DirectWalk {
 public:
  using NodeT = index::Node<typename Traits::Shape>;
  using TreeT = index::Tree<Traits>;
  static_assert(Traits::kExact);

  explicit DirectWalk(const TreeT& tree) noexcept : tree_(tree) {}

  /// Whether the key exists, and its value.
  template <class Compare>
  [[nodiscard]] bool look_up(std::uint64_t key, std::uint64_t& value) const noexcept {
    for (NodeT* leaf = leaf_of<Compare>(key);;) {
      Guard guard{*leaf};
      index::NodeMeta meta{0};
      index::Found entry;
      if (guard.holds() && finds(leaf, key, guard, meta, entry) && guard.valid()) {
        value = entry.value;
        return entry.found();
      }
    }
  }

  enum class written : std::uint8_t { replaced, inserted, no_room };
  template <class Compare>
  [[nodiscard]] written put(std::uint64_t key, std::uint64_t value) const noexcept {
    for (NodeT* leaf = leaf_of<Compare>(key);;) {
      typename Guard::Writer guard{*leaf};
      index::NodeMeta meta{0};
      index::Found entry;
      if (!guard.holds() || !finds(leaf, key, guard, meta, entry)) {
        continue;
      }
      if (!entry.found() && (meta.frozen() || !leaf->fits(meta, entry.at))) {
        if (guard.valid()) {
          return written::no_room;
        }
        continue;
      }
      const runtime::WriteLatch latch = guard.to_write(*leaf);
      if (!latch) {
        continue;
      }
      if (entry.found()) {
        leaf->store_value(true, entry.at, value);
        return written::replaced;
      }
      leaf->insert(entry.at, key, value, 0);
      return written::inserted;
    }
  }

 private:
  using SearchT = index::Search<Traits>;

  template <class Compare>
  [[nodiscard, gnu::always_inline]] NodeT* leaf_of(std::uint64_t key) const noexcept {
    NodeT* node = node_of(tree_.root().word());
    for (unsigned level = node->meta().level(); level > 0;) {
      Guard guard{*node};
      if (!guard.holds()) {
        runtime::cpu_relax();
        continue;
      }
      std::uint64_t next = 0;
      bool right = false;
      if (!index::PlainSearch<Traits, Compare>::child(*node, key, next)) {  // past the high fence, as a rule
        const index::NodeMeta meta = node->meta();
        unsigned block = 0;
        right = block_of(*node, meta, key, guard, block, next);
        if (!right &&
            SearchT::child(*node, meta, key, key, block, false, guard.read(), next) != index::route::here) {
          continue;
        }
      }
      if (guard.valid()) {
        node = node_of(next);
        ask_for(*node);
        level -= right ? 0 : 1;
      }
    }
    return node;
  }

  /// Looks for the key in a leaf, or moves `leaf` on to the right: false, as after a torn read.
  template <class LeafGuard>
  [[nodiscard, gnu::always_inline]] static bool finds(NodeT*& leaf, std::uint64_t key, LeafGuard& guard,
                                                      index::NodeMeta& meta, index::Found& entry) noexcept {
    meta = leaf->meta();
    unsigned block = 0;
    std::uint64_t next = 0;
    if (block_of(*leaf, meta, key, guard, block, next)) {
      if (guard.valid()) {
        leaf = node_of(next);
        ask_for(*leaf);
      }
      return false;
    }
    entry = SearchT::find(*leaf, meta, true, key, key, block, guard.read(), false);
    return true;
  }

  /// The block of a key, or the right sibling: true.
  template <class AnyGuard>
  [[nodiscard, gnu::always_inline]] static bool block_of(const NodeT& node, index::NodeMeta meta,
                                                         std::uint64_t key, const AnyGuard& guard,
                                                         unsigned& block, std::uint64_t& next) noexcept {
    if (SearchT::block_of(node, meta, key, key, false, false, guard.read(), block) == index::route::right) {
      next = node.right();
      return true;
    }
    return false;
  }
  [[gnu::always_inline]] static void ask_for(const NodeT& node) noexcept {
    const auto* line = reinterpret_cast<const std::byte*>(&node);
    for (unsigned n = 0; n < NodeT::kLines; ++n, line += runtime::kCacheLineBytes) {
      runtime::prefetch_read(line);
    }
  }
  static NodeT* node_of(std::uint64_t word) noexcept {
    return static_cast<NodeT*>(runtime::TaggedPointer{word}.object());
  }

  const TreeT& tree_;
};

}  // namespace mxkv::bench

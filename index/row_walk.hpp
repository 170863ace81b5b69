// Looks up a row of keys together: one step down the tree for each key, then the next step. While the lines that a
// step asks for are on their way, the step runs for the other keys. So a row needs neither tasks nor a window.
//
//   root, near nodes ──> inner node: header, block ──> .. ──> leaf: header, block ──> record
//
// The walk takes plain cases only (plain_search.hpp). It ends the row before the first key that is no plain case, or
// that meets a writer. That key needs a task, because a task can wait, retry and move right.
//
// For trees whose inner nodes have optimistic latches. Thread-safety: a worker in its epoch, which lasts until the
// records found are used no more.
#pragma once

#include <array>
#include <cstdint>

#include "index/plain_search.hpp"
#include "index/tree.hpp"

namespace mxkv::index {

template <class Traits>
class RowWalk {
 public:
  using NodeT = Node<typename Traits::Shape>;
  using TreeT = Tree<Traits>;
  using Key = typename Traits::Key;

  /// Longest row: the lines on their way fit the first-level cache.
  static constexpr std::size_t kMost = 32;

  /// Looks up key_of(0) to key_of(keys - 1). Returns for how many of them, from the first on, has() and found() hold.
  template <class KeyOf>
  [[nodiscard]] std::size_t look_up(const TreeT& tree, std::size_t keys, KeyOf key_of) noexcept {
    MXKV_DCHECK(keys <= kMost, "a row has places for its keys");
    MXKV_DCHECK(tree.all_latched(), "inner nodes are read optimistically");
    return line_compare::in_best_way(
        [&](auto compare) { return walk<PlainSearch<Traits, decltype(compare)>>(tree, keys, key_of); });
  }
  /// Whether the tree has the key.
  [[nodiscard]] bool has(std::size_t i) const noexcept {
    return Traits::kExact ? places_[i].first != kNowhere : places_[i].found != 0;
  }
  /// The key's value word; 0: the tree does not have the key. A 64-bit key's value may be 0, too.
  [[nodiscard]] std::uint64_t found(std::size_t i) const noexcept { return places_[i].found; }

 private:
  using Read = runtime::OptimisticRead;
  static constexpr unsigned kNowhere = 0;  ///< a header line

  /// Where the search for a key is.
  struct Place {
    std::uint64_t word;     ///< refers to a node
    std::uint64_t version;  ///< of the node, when its header was read
    union {
      Rank limit;           ///< of the key in the node
      std::uint64_t found;  ///< at the end
    };
    unsigned first;  ///< line of the key's block; kNowhere: a 64-bit key that the tree does not have
    [[nodiscard]] runtime::TaggedPointer at() const noexcept { return runtime::TaggedPointer{word}; }
    [[nodiscard]] const NodeT& node() const noexcept { return *static_cast<const NodeT*>(at().object()); }
  };

  template <class Plain, class KeyOf>
  [[gnu::always_inline]] std::size_t walk(const TreeT& tree, std::size_t keys, KeyOf key_of) noexcept {
    const runtime::TaggedPointer root = tree.root();
    if (root.marks() == 0) [[unlikely]] {
      return 0;
    }
    const unsigned near = TreeT::mark_of_level(tree.near_level());
    keys = each(keys, [=](Place& place, std::size_t i) {
      const Key key = key_of(i);
      runtime::TaggedPointer at = root;
      do {
        if (!child<Plain>(at, key)) [[unlikely]] {
          return false;
        }
      } while (at.marks() >= near && at.marks() != 0);
      place.word = at.word();
      runtime::prefetch_read(at.first_line());
      return true;
    });
    // A step takes all keys one level down, so they are all at nodes of one level.
    while (keys != 0 && places_[0].at().marks() != 0) {
      if (places_[0].at().marks() + 1 == near) {
        keys = each(keys, [=](Place& place, std::size_t i) {
          runtime::TaggedPointer at = place.at();
          if (!child<Plain>(at, key_of(i))) [[unlikely]] {
            return false;
          }
          place.word = at.word();
          runtime::prefetch_read(at.first_line());
          return true;
        });
        continue;
      }
      keys =
          each(keys, [=](Place& place, std::size_t i) { return at_header<Plain, false>(place, key_of(i)); });
      keys = each(keys, [](Place& place, std::size_t /*i*/) { return at_inner_block<Plain>(place); });
    }
    keys = each(keys, [=](Place& place, std::size_t i) { return at_header<Plain, true>(place, key_of(i)); });
    keys = each(keys, [=](Place& place, std::size_t i) { return at_leaf_block<Plain>(place, key_of(i)); });
    if constexpr (Traits::kExact) {
      return keys;
    } else {
      return each(keys, [=](Place& place, std::size_t i) {
        return place.found == 0 || same_key(Traits::Record::key(place.found), key_of(i));
      });
    }
  }

  /// Calls step(place, i) for the first `keys` keys. Returns how many came before the first false. Each step is a
  /// function of its own, so that its loop has all registers.
  template <class Step>
  [[gnu::noinline]] std::size_t each(std::size_t keys, Step step) noexcept {
    for (std::size_t i = 0; i < keys; ++i) {
      if (!step(places_[i], i)) [[unlikely]] {
        return i;
      }
    }
    return keys;
  }

  /// From an inner node to the child that leads to the key. False: unclear.
  template <class Plain>
  [[gnu::always_inline]] static bool child(runtime::TaggedPointer& at, Key key) noexcept {
    const NodeT& node = *static_cast<const NodeT*>(at.object());
    std::uint64_t word = 0;
    const Read read{node};
    if (read.locked() || !Plain::child(node, key, word) || !read.valid()) [[unlikely]] {
      return false;
    }
    at = runtime::TaggedPointer{word};
    return true;
  }

  template <class Plain, bool kLeaf>
  [[gnu::always_inline]] static bool at_header(Place& place, Key key) noexcept {
    const runtime::TaggedPointer at = place.at();
    constexpr std::uint64_t kOptimistic = 6;  // by latch or by scheduling
    if (kLeaf && (at.word() & kOptimistic) !=
                     static_cast<std::uint64_t>(runtime::primitive::optimistic_latch)) [[unlikely]] {
      return false;
    }
    const NodeT& node = *static_cast<const NodeT*>(at.object());
    const Read read{node};
    Rank limit = 0;
    unsigned first = 0;
    if (read.locked() || !Plain::limit_of(node, key, limit) ||
        !Plain::template block<kLeaf>(node, limit, first)) [[unlikely]] {
      return false;
    }
    place.version = read.version();
    place.limit = limit;
    place.first = first;
    const std::byte* const line = at.first_line() + std::size_t{first} * runtime::kCacheLineBytes;
    runtime::prefetch_read(line);
    runtime::prefetch_read(line + runtime::kCacheLineBytes);
    return true;
  }

  template <class Plain>
  [[gnu::always_inline]] static bool at_inner_block(Place& place) noexcept {
    const NodeT& node = place.node();
    const Read read{node, place.version};
    std::uint64_t word = 0;
    if (!Plain::child_in(node.line_at(place.first), place.limit, word) || !read.valid()) [[unlikely]] {
      return false;
    }
    place.word = word;
    runtime::prefetch_read(place.at().first_line());
    return true;
  }

  template <class Plain>
  [[gnu::always_inline]] static bool at_leaf_block(Place& place, Key key) noexcept {
    const NodeT& leaf = place.node();
    const Read read{leaf, place.version};
    const runtime::RelaxedWord* const line = leaf.line_at(place.first);
    const Rank limit = place.limit;
    const NodeMeta meta = leaf.meta();
    const unsigned count = Plain::count(line, limit);
    if (!Traits::kExact && meta.ties()) [[unlikely]] {
      return false;
    }
    std::uint64_t found = 0;
    if (Plain::ties(line, count, limit)) [[likely]] {
      found = line[NodeMeta::kMaxSlots + count - 1].load();
    } else if (limit == Plain::kLeast || !Plain::belongs(leaf, meta, key)) [[unlikely]] {
      return false;
    } else if constexpr (Traits::kExact) {
      place.first = kNowhere;
    }
    if (!read.valid()) [[unlikely]] {
      return false;
    }
    place.found = found;
    if constexpr (!Traits::kExact) {
      if (found != 0) [[likely]] {
        const unsigned lines = Traits::Record::lines(found);
        const auto* const record = static_cast<const std::byte*>(Traits::Record::address(found));
        runtime::prefetch_few(record, [lines](unsigned n) { return n < lines; });
        for (unsigned n = 4; n < lines; ++n) {
          runtime::prefetch_line(record, n);
        }
      }
    }
    return true;
  }

  std::array<Place, kMost> places_;
};

}  // namespace mxkv::index

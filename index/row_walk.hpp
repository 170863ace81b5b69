// Looks up a row of keys together: one step down the tree for each key, then the next step. While the lines that a
// step asks for are on their way, the step runs for the other keys. So a row needs neither tasks nor a window.
//
//   root, near nodes ──> inner node: header, block ──> .. ──> leaf: header, block ──> record
//
// The walk takes plain cases only (plain_search.hpp). It ends the row before the first key that is no plain case, or
// that meets a writer. That key needs a task, because a task can wait, retry and move right.
//
// A row of reads ends here. A row of puts goes on in row_put.hpp, so its walk also keeps the place of each entry, and
// asks for the lines that an insert writes.
//
// For trees whose inner nodes have optimistic latches. Thread-safety: a worker in its epoch, which lasts until the
// records found are used no more.
#pragma once

#include <array>
#include <cstdint>

#include "index/plain_search.hpp"
#include "index/tree.hpp"

namespace mxkv::index {

/// The purpose of a row.
enum class row_of : std::uint8_t { reads, puts };

template <class Traits, row_of kOf = row_of::reads>
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
  /// The length of the next row of so many keys. The last two rows have equal lengths, so that neither is short.
  [[nodiscard]] static constexpr std::size_t next_row(std::size_t keys) noexcept {
    return keys >= 2 * kMost ? kMost : keys > kMost ? (keys + 1) / 2 : keys;
  }

 protected:
  static constexpr bool kPuts = kOf == row_of::puts;
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
    unsigned slot;   ///< puts: of the key's entry in the block, or where it would be inserted
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
    // By latch or by scheduling. Writers of the latter run in the leaf's pool.
    constexpr std::uint64_t kHow = kPuts ? 7 : 6;
    if (kLeaf && (at.word() & kHow) != static_cast<std::uint64_t>(runtime::primitive::optimistic_latch))
        [[unlikely]] {
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
    if constexpr (kPuts) {
      place.slot = found != 0 ? count - 1 : count;
      if (found == 0) [[unlikely]] {
        ask_beside(leaf, meta, place);
      }
    }
    if constexpr (!Traits::kExact) {
      if (found != 0) [[likely]] {
        const unsigned lines = lines_of(found, key);
        const auto* const record = static_cast<const std::byte*>(Traits::Record::address(found));
        runtime::prefetch_few(record, [lines](unsigned n) { return n < lines; });
        for (unsigned n = 4; n < lines; ++n) {
          runtime::prefetch_line(record, n);
        }
      }
    }
    return true;
  }

  /// Lines of the record that the row reads.
  [[nodiscard, gnu::always_inline]] static unsigned lines_of(std::uint64_t found,
                                                             [[maybe_unused]] KeyView key) noexcept {
    if constexpr (kPuts) {
      return Traits::Record::key_lines(found, key.size());
    } else {
      return Traits::Record::lines(found);
    }
  }
  /// The entry's place in its leaf.
  [[nodiscard]] static Position position(const Place& place) noexcept {
    const unsigned block = (place.first - NodeT::kHeaderLines) / Traits::Shape::lines_per_block(true);
    return {static_cast<std::uint8_t>(block), static_cast<std::uint8_t>(place.slot)};
  }
  /// Prefetches the lines of other blocks that an insert into a full block writes.
  [[gnu::noinline]] static void ask_beside(const NodeT& leaf, NodeMeta meta, const Place& place) noexcept {
    const Position at = position(place);
    if (!leaf.fits_alone(meta, at)) {
      if (const unsigned to = NodeT::room_beside(meta, at.block); to != at.block) {
        leaf.prefetch_beside(at.block, to, true);
      }
    }
  }

  std::array<Place, kMost> places_;
};

}  // namespace mxkv::index

// Searches inside one node for the fast path, in plain cases only: neither strict nor careful, below the high
// fence, and heads decide. Search (search.hpp) has an answer in all others.
//
// A key's *limit* is its head's rank plus one, so `head <= key` is `rank < limit`. Counting the bounds below
// the limit gives the block; counting the block's heads below it gives the slot, and the last of these tells
// whether the key's head ties. Each cache line is compared once. The greatest head has no rank above it, so
// its limit is the least rank. No rank is below that: a search that finds none below leaves the case to
// Search.
//
// Thread-safety: under an optimistic read. All results count once the version held; pointers of the node are
// not followed before.
#pragma once

#include "index/prefix.hpp"

namespace mxkv::index {

template <class Traits, class Compare>
struct PlainSearch {
  using NodeT = Node<typename Traits::Shape>;
  using Key = typename Traits::Key;
  static constexpr bool kExact = Traits::kExact;
  static constexpr Rank kLeast = rank_of_head(0);

  /// False: the key lacks the loose prefix.
  [[nodiscard, gnu::always_inline]] static bool limit_of(const NodeT& node, Key key, Rank& limit) noexcept {
    std::uint64_t head = 0;
    if constexpr (kExact) {
      head = key;
    } else {
      const NodeMeta meta = node.meta();
      const std::size_t prefix = meta.prefix_bytes();
      if (meta.loose_prefix() && !Prefix<Traits>::begins(node, prefix, key)) {
        return false;
      }
      head = Traits::head(key, prefix);
    }
    limit = static_cast<Rank>(head + kBeyond);
    return true;
  }
  [[nodiscard]] static std::uint64_t head_of(Rank limit) noexcept {
    return static_cast<std::uint64_t>(limit) - kBeyond;
  }

  /// The child of an inner node that leads to the key. False: unclear.
  [[nodiscard, gnu::always_inline]] static bool child(const NodeT& node, Key key,
                                                      std::uint64_t& out) noexcept {
    Rank limit = 0;
    if (!limit_of(node, key, limit)) [[unlikely]] {
      return false;
    }
    const line_compare::Through found =
        Compare::template through<typename NodeT::template Blocks<false>>(&node, limit);
    return (found.bounds & line_compare::kLastBound) == 0 &&
           child_below(node.block_at(found.offset), found.below, limit, out);
  }

  /// The first line of the block of the key. False: unclear.
  template <bool kLeaf>
  [[nodiscard, gnu::always_inline]] static bool block(const NodeT& node, Rank limit,
                                                      unsigned& first) noexcept {
    const unsigned bounds = Compare::bounds_below(&node, limit);
    first = NodeT::first_line_of(Compare::inner_bounds(bounds), kLeaf);
    return (bounds & line_compare::kLastBound) == 0;
  }

  /// As child(), in the block that begins with `line`.
  [[nodiscard, gnu::always_inline]] static bool child_in(const runtime::RelaxedWord* line, Rank limit,
                                                         std::uint64_t& out) noexcept {
    return child_below(line, Compare::count_below(line, limit), limit, out);
  }

  /// How many heads of the line are at most the key's.
  [[nodiscard, gnu::always_inline]] static unsigned count(const runtime::RelaxedWord* line,
                                                          Rank limit) noexcept {
    return Compare::count_below(line, limit);
  }
  /// Whether the last of `count` heads is the key's.
  [[nodiscard, gnu::always_inline]] static bool ties(const runtime::RelaxedWord* line, unsigned count,
                                                     Rank limit) noexcept {
    return count != 0 && line[count - 1].load() + 1 == static_cast<std::uint64_t>(limit);
  }

  /// Byte keys: whether a key that is not in this leaf would be.
  [[nodiscard, gnu::always_inline]] static bool belongs(const NodeT& node, NodeMeta meta, Key key) noexcept {
    return kExact || meta.loose_prefix() || Prefix<Traits>::shares(node, meta, key);
  }

 private:
  /// From a head to its limit: the sign bit flipped, and one.
  static constexpr std::uint64_t kBeyond = (std::uint64_t{1} << 63U) + 1;

  // The first child's bound is the node's low fence, so that a key below all heads may be its own.
  [[nodiscard, gnu::always_inline]] static bool child_below(const runtime::RelaxedWord* line, unsigned below,
                                                            Rank limit, std::uint64_t& out) noexcept {
    if (below == 0 || (!kExact && ties(line, below, limit))) [[unlikely]] {
      return false;
    }
    out = line[NodeMeta::kMaxSlots + below - 1].load();
    return true;
  }
};

}  // namespace mxkv::index

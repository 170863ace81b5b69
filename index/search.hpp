// Searches inside one node, under an optimistic read.
//
// A search compares heads first, and touches the header line, one key line and one value line. For byte keys
// a head that ties with a fence, a separator or several keys proves nothing; then whole records are compared.
// A record is dereferenced only after the node's version was validated again.
//
// Each function here has an answer in all cases. The fast path has searches of its own for plain cases
// (plain_search.hpp).
#pragma once

#include <array>

#include "index/prefix.hpp"
#include "runtime/synchronization/optimistic.hpp"

namespace mxkv::index {

/// Where a traversal goes from a node.
enum class route : std::uint8_t {
  here,     ///< the key belongs to this node
  right,    ///< past the high fence
  torn,     ///< the node changed meanwhile: read again
  outside,  ///< byte keys: a head misled the way to here; start over with full comparisons
};

/// The result of a search for a key among a node's entries.
enum class hit : std::uint8_t {
  missing,
  candidate,  ///< byte keys: the only entry with this head; its record decides
  found,
  torn,  ///< the node changed meanwhile: read again
};

struct Found {
  Position at;  ///< the entry, or where it would be inserted
  hit what = hit::missing;
  std::uint64_t value = 0;  ///< of a candidate or found entry

  [[nodiscard]] bool found() const noexcept { return what == hit::found; }
};

template <class Traits>
struct Search {
  using NodeT = Node<typename Traits::Shape>;
  using Key = typename Traits::Key;
  using Read = runtime::OptimisticRead;
  static constexpr bool kExact = Traits::kExact;

  /// Whether `key` belongs to this node, and in which of its blocks its entry is, or would be.
  [[gnu::always_inline]] static route block_of(const NodeT& node, NodeMeta meta, Key key, std::uint64_t head,
                                               bool strict, bool careful, const Read& read,
                                               unsigned& block) noexcept {
    const unsigned above = node.bounds_above(rank_of_head(head));
    const bool by_head = (above & NodeT::kHighAbove) != 0;
    if (by_head && !strict && !careful) [[likely]] {
      block = NodeT::block_below(above);
      return route::here;
    }
    block = node.block_for(meta, head, strict);
    return route_of(node, meta, key, head, strict, careful, read);
  }

  /// Whether `key` lies past the high fence. Strict: whether the greatest key below `key` does.
  ///
  /// Heads suffice: navigation never leads to a node left of the key's (separators only ever split ranges),
  /// so a key that does not share the node's prefix is past its high fence. Its head may still look small;
  /// inner nodes let that pass, and the leaf notices (inside_prefix). `careful` compares whole keys.
  [[gnu::always_inline]] static route route_of(const NodeT& node, NodeMeta meta, Key key, std::uint64_t head,
                                               bool strict, bool careful, const Read& read) noexcept {
    if (meta.high_infinite()) {
      return route::here;
    }
    const std::uint64_t high = node.high_head();
    if constexpr (kExact) {
      return head > high || (head == high && !strict) ? route::right : route::here;
    } else {
      if (!careful && head != high) [[likely]] {
        return head > high ? route::right : route::here;
      }
      const std::uint64_t fence = node.high();
      if (!read.valid()) {
        return route::torn;
      }
      const auto order = Traits::order(key, fence);
      return order > 0 || (order == 0 && !strict) ? route::right : route::here;
    }
  }

  /// The child that leads to `key`; strict: to the greatest key below it. Other than here: torn.
  [[gnu::always_inline]] static route child(const NodeT& node, NodeMeta meta, Key key, std::uint64_t head,
                                            unsigned block, bool strict, const Read& read,
                                            std::uint64_t& out) noexcept {
    const Rank rank = rank_of_head(head);
    unsigned below = 0;
    bool tie = false;
    if constexpr (kExact) {
      // Unused slots hold the greatest head: the count matters only for that head.
      below = strict              ? node.count_below(false, block, rank)
              : head == kGreatest ? NodeT::clamp_count(meta, block)
                                  : node.count_up_to(false, block, rank);
    } else {
      below = node.count_below(false, block, rank);
      // A fence is the head of its block's first entry, so a tie with it shows there, unless we look below
      // it.
      tie = holds(node, meta, false, block, below, head) || (strict && fence_ties(node, meta, head));
    }
    if (tie || (below == 0 && block > 0)) [[unlikely]] {
      return slow_child(node, meta, key, head, strict, read, out) ? route::here : route::torn;
    }
    out = node.value(false, position(block, below == 0 ? 0 : below - 1));
    return route::here;
  }

  /// Looks for `key` among the entries of a leaf, or of an inner node (whose first entry precedes all).
  [[gnu::always_inline]] static Found find(const NodeT& node, NodeMeta meta, bool leaf, Key key,
                                           std::uint64_t head, unsigned block, const Read& read,
                                           bool careful) noexcept {
    const unsigned below = node.count_below(leaf, block, rank_of_head(head));
    Found result;
    result.at = position(block, below);
    const bool tie = holds(node, meta, leaf, block, below, head);
    if constexpr (!kExact) {
      const bool several = meta.ties() && (fence_ties(node, meta, head) ||
                                           (tie && holds(node, meta, leaf, block, below + 1, head)));
      if (several || (tie && (careful || !leaf))) [[unlikely]] {
        return slow_find(node, meta, key, head, read);
      }
    }
    if (tie) {
      result.what = kExact ? hit::found : hit::candidate;
      result.value = node.value(leaf, result.at);
    }
    return result;
  }

  /// Byte keys: whether a key that was not found does belong to this leaf's range.
  [[gnu::always_inline]] static route inside(const NodeT& node, NodeMeta meta, Key key, std::uint64_t head,
                                             bool strict, const Read& read) noexcept {
    if constexpr (kExact) {
      return route::here;
    } else {
      return slow_inside(node, meta, key, head, strict, read);
    }
  }

  static Position position(unsigned block, unsigned slot) noexcept {
    return Position{static_cast<std::uint8_t>(block), static_cast<std::uint8_t>(slot)};
  }

 private:
  static constexpr std::uint64_t kGreatest = ~std::uint64_t{0};

  /// Whether a slot is in use and holds this head.
  [[gnu::always_inline]] static bool holds(const NodeT& node, NodeMeta meta, bool leaf, unsigned block,
                                           unsigned slot, std::uint64_t head) noexcept {
    return node.holds_rank(leaf, block, slot, rank_of_head(head)) &&
           (head != kGreatest || slot < NodeT::clamp_count(meta, block));
  }

  /// inside() of byte keys.
  [[gnu::noinline]] static route slow_inside(const NodeT& node, NodeMeta meta, Key key, std::uint64_t head,
                                             bool strict, const Read& read) noexcept
    requires(!kExact)
  {
    if (!meta.loose_prefix() && !Prefix<Traits>::shares(node, meta, key)) {
      const std::uint64_t low = node.low();
      if (!read.valid()) {
        return route::torn;
      }
      if (meta.prefix_bytes() <= NodeT::kPrefixInlineBytes ||
          common_prefix(key, SeparatorRecord::key_of(low)) < meta.prefix_bytes()) {
        return route::outside;
      }
    }
    return route_of(node, meta, key, head, strict, false, read);
  }

  static bool fence_ties(const NodeT& node, NodeMeta meta, std::uint64_t head) noexcept {
    bool ties = false;
    for (unsigned j = 0; j + 1 < NodeMeta::kMaxBlocks; ++j) {
      ties |= node.fence(j) == head && j + 1 < meta.blocks();
    }
    return ties;
  }

  /// Entries whose head is the key's, in order, and the last entry below them.
  struct Ties {
    std::array<std::uint64_t, Entries::kMax> records;
    std::array<Position, Entries::kMax> at;
    unsigned count = 0;
    bool any_below = false;
    Position last_below;
  };

  static void gather(const NodeT& node, NodeMeta meta, std::uint64_t head, Ties& ties) noexcept {
    const bool leaf = meta.level() == 0;
    const unsigned blocks = std::min(meta.blocks(), Traits::Shape::blocks(leaf));
    for (unsigned block = 0; block < blocks; ++block) {
      const unsigned count = NodeT::clamp_count(meta, block);
      for (unsigned slot = 0; slot < count; ++slot) {
        const Position at = position(block, slot);
        const std::uint64_t here = node.head(leaf, at);
        const bool first_child = !leaf && block == 0 && slot == 0;
        if (first_child || here < head) {
          ties.any_below = true;
          ties.last_below = at;
        } else if (here == head) {
          ties.records[ties.count] = kExact ? here : (leaf ? node.value(leaf, at) : node.separator(at));
          ties.at[ties.count++] = at;
        } else {
          return;
        }
      }
    }
  }

  static std::strong_ordering order(bool leaf, Key key, std::uint64_t record) noexcept {
    if constexpr (kExact) {
      return key <=> record;
    } else {
      return leaf ? key.compare(Traits::Record::key(record)) <=> 0 : Traits::order(key, record);
    }
  }

  /// How many of the tied records are below `key`, or equal to it when `or_equal`. They must be safe to read.
  static unsigned count_ties_below(bool leaf, Key key, const Ties& ties, bool or_equal) noexcept {
    unsigned first = 0;
    unsigned last = ties.count;
    while (first < last) {
      const unsigned middle = (first + last) / 2;
      const auto comparison = order(leaf, key, ties.records[middle]);
      if (comparison > 0 || (or_equal && comparison == 0)) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first;
  }

  [[gnu::noinline]] static bool slow_child(const NodeT& node, NodeMeta meta, Key key, std::uint64_t head,
                                           bool strict, const Read& read, std::uint64_t& out) noexcept {
    Ties ties;
    gather(node, meta, head, ties);
    if (!read.valid()) {
      return false;
    }
    const unsigned below = count_ties_below(false, key, ties, !strict);
    MXKV_ASSERT(below > 0 || ties.any_below, "the first child precedes every key of its node");
    out = node.value(false, below > 0 ? ties.at[below - 1] : ties.last_below);
    return true;
  }

  [[gnu::noinline]] static Found slow_find(const NodeT& node, NodeMeta meta, Key key, std::uint64_t head,
                                           const Read& read) noexcept {
    const bool leaf = meta.level() == 0;
    Found result;
    Ties ties;
    gather(node, meta, head, ties);
    if (!read.valid()) {
      result.what = hit::torn;
      return result;
    }
    if (ties.count == 0) {
      const unsigned block = node.block_for(meta, head, false);
      unsigned slot = node.count_below(leaf, block, rank_of_head(head));
      if (!leaf && block == 0 && slot == 0) {
        slot = 1;  // the first child's bound is the low fence: below the key, even if its head ties
      }
      result.at = position(block, slot);
      return result;
    }
    const unsigned below = count_ties_below(leaf, key, ties, false);
    if (below == ties.count) {
      // Behind the last tie, in its block: the next block's fence is at least this head.
      result.at = position(ties.at[below - 1].block, ties.at[below - 1].slot + 1U);
      return result;
    }
    result.at = ties.at[below];
    result.what = order(leaf, key, ties.records[below]) == 0 ? hit::found : hit::missing;
    result.value = node.value(leaf, result.at);
    return result;
  }
};

}  // namespace mxkv::index

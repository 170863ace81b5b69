// The prefix that the keys of a byte-key node share, and the keys' heads after it.
//
// Between two finite fences all keys begin with the bytes that both fences share. A node at an edge of its
// level has a fence that is infinite, so nothing is certain there; it has a *loose* prefix instead, which its
// entries and its finite fence share. Without one, keys that all begin with the same eight bytes would have
// equal heads in the root. A key that lacks a loose prefix gets the least head if it is below all keys that
// have it, the greatest if above: where that ties, whole keys are compared as always. When such a key becomes
// an entry, the node is laid out anew (insert_plan.hpp).
//
// Thread-safety: head() and shares() under an optimistic read, the others as the node's writers.
#pragma once

#include <algorithm>

#include "index/key.hpp"
#include "index/node.hpp"
#include "index/traits.hpp"

namespace mxkv::index {

template <class Traits>
struct Prefix {
  using NodeT = Node<typename Traits::Shape>;
  using Key = typename Traits::Key;

  std::size_t bytes = 0;
  bool loose = false;
  Key sample{};  ///< a key that begins with it

  /// The head by which `key` is compared inside the node.
  [[gnu::always_inline]] static std::uint64_t head(const NodeT& node, NodeMeta meta, Key key) noexcept {
    if constexpr (!Traits::kExact) {
      if (meta.loose_prefix()) {
        const std::strong_ordering place = compare(node, meta, key);
        if (place != 0) [[unlikely]] {
          return place < 0 ? 0 : ~std::uint64_t{0};
        }
      }
    }
    return Traits::head(key, meta.prefix_bytes());
  }

  /// Whether `key` begins with the node's prefix, as far as the node's lines tell.
  static bool shares(const NodeT& node, NodeMeta meta, Key key) noexcept {
    if constexpr (!Traits::kExact) {
      const std::size_t bytes = meta.prefix_bytes();
      return bytes == 0 || (bytes <= NodeT::kPrefixInlineBytes && compare(node, meta, key) == 0);
    }
    return true;
  }

  /// shares(), for a prefix of `bytes` bytes that is in the node. For a torn one it may return anything.
  [[nodiscard, gnu::always_inline]] static bool begins(const NodeT& node, std::size_t bytes,
                                                       Key key) noexcept {
    if (bytes <= 8 && key.size() >= 8) [[likely]] {
      const std::uint64_t differs = detail::load_big_endian(&key.front()) ^ node.prefix_word(0);
      return differs >> ((64 - bytes * 8) & 63U) == 0;
    }
    return compare_apart(node, key) == 0;
  }

  /// Whether the node has a loose prefix that `key` lacks: it cannot become an entry as the node is.
  static bool lacks_loose(const NodeT& node, NodeMeta meta, Key key) noexcept {
    return !Traits::kExact && meta.loose_prefix() && !shares(node, meta, key);
  }

  /// The prefix of a node with the entries [first, last), their records or separators safe to read. `high` is
  /// 0 where the fence is infinite.
  template <class E>
  static Prefix of(const E& entries, unsigned first, unsigned last, bool leaf, std::uint64_t low,
                   std::uint64_t high) noexcept {
    Prefix prefix;
    if constexpr (!Traits::kExact) {
      if (low != 0 && high != 0) {
        prefix.sample = Traits::fence_key(low);
        prefix.bytes = common_prefix(prefix.sample, Traits::fence_key(high));
        return prefix;
      }
      const unsigned from = leaf ? first : first + 1;  // an inner node's first bound is the low fence
      if (from < last) {
        prefix.sample = high != 0 ? Traits::fence_key(high) : key_of(entries, last - 1, leaf);
        const Key least = low != 0 ? Traits::fence_key(low) : key_of(entries, from, leaf);
        const std::size_t common = std::min(common_prefix(least, prefix.sample), NodeT::kPrefixInlineBytes);
        prefix.bytes = common > kSlack ? common - kSlack : 0;
        prefix.loose = prefix.bytes > 0;
      }
    }
    return prefix;
  }

  /// The loose prefix of a node whose only separator is `key`, or whose only child's bound is: as long as that of
  /// `beside`, a node at the same edge that holds more keys. Nothing else tells how many bytes later keys share.
  static Prefix of_lone(Key key, NodeMeta beside) noexcept {
    Prefix prefix;
    if constexpr (!Traits::kExact) {
      prefix.sample = key;
      prefix.bytes = beside.loose_prefix() ? std::min(beside.prefix_bytes(), key.size()) : 0;
      prefix.loose = prefix.bytes > 0;
    }
    return prefix;
  }

  /// Stores the prefix in the node's header. The caller adjusts the heads of entries and of the high fence.
  void store(NodeT& node) const noexcept {
    MXKV_ASSERT(!loose || (bytes > 0 && bytes <= NodeT::kPrefixInlineBytes), "a loose prefix is in the node");
    MXKV_ASSERT(bytes <= kMaxKeyBytes, "a prefix is no longer than a key");
    node.store_meta(node.meta().with_prefix(bytes).with_loose_prefix(loose));
    if constexpr (!Traits::kExact) {
      for (unsigned i = 0; bytes > 0 && i < NodeT::kPrefixInlineBytes / 8; ++i) {
        node.store_prefix_word(i, head_of(sample, std::size_t{i} * 8));
      }
    }
  }

  /// The heads of entries [first, last) after this prefix.
  template <class E>
  void rehead(E& entries, unsigned first, unsigned last, bool leaf, std::uint64_t low) const noexcept {
    if constexpr (!Traits::kExact) {
      for (unsigned i = first; i < last; ++i) {
        const bool bound = !leaf && i == first;
        entries.heads[i] = Traits::head(bound ? Traits::fence_key(low) : key_of(entries, i, leaf), bytes);
      }
    }
  }

  /// Whether the node must be, or had better be, laid out anew to take in `key`: at an edge, the key lacks the
  /// loose prefix, or a longer one would tell entries apart whose heads are all the same.
  static bool outgrown(const NodeT& node, NodeMeta meta, Key key) noexcept {
    if constexpr (!Traits::kExact) {
      if (lacks_loose(node, meta, key)) {
        return true;
      }
      return meta.ties() && (meta.high_infinite() || node.low() == 0) &&
             meta.prefix_bytes() + 8 <= NodeT::kPrefixInlineBytes && all_tie(node, meta);
    }
    return false;
  }

 private:
  /// A loose prefix is so many bytes shorter than it could be: keys that count up would outgrow it at once. With two,
  /// decimal numbers outgrow it in each second leaf.
  static constexpr std::size_t kSlack = 3;

  template <class E>
  static Key key_of(const E& entries, unsigned i, bool leaf) noexcept {
    return leaf ? Traits::Record::key(entries.values[i]) : Traits::fence_key(entries.separators[i]);
  }

  /// The place of `key` relative to the keys that begin with the node's prefix, of at most
  /// kPrefixInlineBytes; 0: among them.
  static std::strong_ordering compare(const NodeT& node, NodeMeta meta, Key key) noexcept {
    const std::size_t bytes = std::min(meta.prefix_bytes(), NodeT::kPrefixInlineBytes);
    for (std::size_t i = 0; i < bytes; i += 8) {
      const std::size_t rest = bytes - i;
      const std::uint64_t mask = rest >= 8 ? ~std::uint64_t{0} : ~(~std::uint64_t{0} >> (rest * 8));
      const std::uint64_t mine = node.prefix_word(static_cast<unsigned>(i / 8)) & mask;
      const std::uint64_t its = head_of(key, i) & mask;
      if (its != mine) {
        return its <=> mine;
      }
    }
    return key.size() < bytes ? std::strong_ordering::less : std::strong_ordering::equal;
  }

  [[gnu::noinline]] static std::strong_ordering compare_apart(const NodeT& node, Key key) noexcept {
    return compare(node, node.meta(), key);
  }

  /// Whether all entries have the same head; the first entry of an inner node does not count.
  static bool all_tie(const NodeT& node, NodeMeta meta) noexcept {
    const bool leaf = meta.level() == 0;
    Entries entries;
    node.copy_entries(meta, false, entries);
    const unsigned first = leaf ? 0 : 1;
    return entries.count > first && entries.heads[first] == entries.heads[entries.count - 1];
  }
};

}  // namespace mxkv::index

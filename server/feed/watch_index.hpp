// Finds the spans that hold a key, or that meet another span: an array in the order of the spans' begins, read as a
// balanced tree whose nodes know the greatest end below them.
//
//   spans by begin    0  1  2 [3] 4  5  6        the middle of each part is its root
//   greatest end      of 0..2      of 4..6       a part whose greatest end is not above the key has no hit
//
// A look-up costs O(log n + hits). The array is built anew when spans come or go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/feed/key_span.hpp"

namespace mxkv::server {

/// Thread-safety: one thread at a time.
class WatchIndex {
 public:
  /// A span and the number that look-ups report for it.
  struct Entry {
    KeySpan span;
    std::uint32_t number = 0;
  };

  void build(std::vector<Entry> entries);
  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }

  /// Calls found(number) for each span that has the key.
  template <class Found>
  void find(std::string_view key, const Found& found) const {
    stab(Bound{head_of(key), key}, 0, nodes_.size(), found);
  }
  /// The same for each span that meets `span`, which is not empty.
  template <class Found>
  void find(const KeySpan& span, const Found& found) const {
    for (const Node& node : nodes_) {
      if (node.span.meets(span)) {
        found(node.number);
      }
    }
  }

 private:
  /// A text with its first eight bytes as a number, which decide most comparisons.
  struct Bound {
    std::uint64_t head = 0;
    std::string_view text{};
    [[nodiscard]] bool above(const Bound& other) const noexcept {
      return head != other.head ? head > other.head : text > other.text;
    }
  };
  struct Node {
    std::uint64_t low_head = 0;
    std::uint64_t high_head = 0;
    std::uint64_t most_head = 0;
    bool most_endless = false;
    std::uint32_t number = 0;
    std::uint32_t most = 0;  ///< the node whose end is the greatest below this one, itself included
    KeySpan span;
  };

  [[nodiscard]] static std::uint64_t head_of(std::string_view text) noexcept;
  std::uint32_t settle_most(std::size_t from, std::size_t to);

  template <class Found>
  void stab(const Bound& key, std::size_t from, std::size_t to, const Found& found) const {
    while (from < to) {
      const std::size_t middle = from + (to - from) / 2;
      const Node& node = nodes_[middle];
      if (!node.most_endless && !Bound{node.most_head, nodes_[node.most].span.high}.above(key)) {
        return;
      }
      stab(key, from, middle, found);
      if (Bound{node.low_head, node.span.low}.above(key)) {
        return;
      }
      if (node.span.endless || Bound{node.high_head, node.span.high}.above(key)) {
        found(node.number);
      }
      from = middle + 1;
    }
  }

  std::vector<Node> nodes_;
};

}  // namespace mxkv::server

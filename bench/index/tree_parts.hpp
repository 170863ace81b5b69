// The bytes of our tree by part: visits each node and item. The rest is the other memory of the heaps.
#pragma once

#include <vector>

#include "bench/index/job.hpp"
#include "index/separator.hpp"
#include "index/tree.hpp"

namespace mxkv::bench {

/// Bytes an entry, by part. Only while no worker runs.
template <class Kind>
class TreeParts {
 public:
  using Traits = typename Kind::Traits;
  using NodeT = index::Node<typename Traits::Shape>;

  TreeParts(runtime::Runtime& runtime, const index::Tree<Traits>& tree)
      : runtime_(runtime), worker_(runtime.worker(runtime::WorkerId{0})) {
    const auto* leftmost = node_of(tree.root().word());
    for (unsigned level = leftmost->meta().level();; --level) {
      for (const NodeT* node = leftmost; node != nullptr; node = node_of(node->right())) {
        add(*node, level == 0);
      }
      if (level == 0) {
        return;
      }
      leftmost = node_of(leftmost->value(false, index::Position{0, 0}));
    }
  }

  [[nodiscard]] std::vector<Part> parts(std::uint64_t records) const {
    const std::uint64_t capacity = leaves_ * Traits::Shape::capacity(true);
    const std::uint64_t header = NodeT::kHeaderLines * runtime::kCacheLineBytes;
    const std::uint64_t heads = entries_ * 8;
    const std::uint64_t unused = (capacity - entries_) * 16;
    std::vector<Part> parts;
    std::uint64_t sum = 0;
    const auto add_part = [&parts, &sum, records](const char* name, std::uint64_t bytes) {
      sum += bytes;
      parts.push_back({name, static_cast<double>(bytes) / static_cast<double>(records)});
    };
    add_part("leaves: header lines", leaves_ * header);
    add_part("leaves: heads or keys", heads);
    add_part("leaves: values or pointers", heads);
    add_part("leaves: unused slots", unused);
    add_part("leaves: rest", leaf_bytes_ - leaves_ * header - 2 * heads - unused);
    add_part("inner nodes", inner_bytes_);
    add_part("fences and separators", fence_bytes_);
    add_part("items: keys and values", payload_bytes_);
    add_part("items: header and rounding", item_bytes_ - payload_bytes_);
    const std::uint64_t held = runtime_.node_space().span_bytes() + runtime_.item_space().span_bytes();
    add_part("heaps: free blocks and ends of spans", held - sum);
    std::erase_if(parts, [](const Part& part) { return part.bytes == 0; });
    return parts;
  }

 private:
  static const NodeT* node_of(std::uint64_t word) noexcept {
    return static_cast<const NodeT*>(runtime::TaggedPointer{word}.object());
  }
  void add(const NodeT& node, bool leaf) {
    const std::size_t bytes = worker_.nodes().usable_size(&node);
    (leaf ? leaf_bytes_ : inner_bytes_) += bytes;
    leaves_ += leaf ? 1 : 0;
    if (leaf) {
      add_fence(node.low());
    }
    const index::NodeMeta meta = node.meta();
    for (unsigned block = 0; block < meta.blocks(); ++block) {
      for (unsigned slot = 0; slot < meta.count(block); ++slot) {
        const index::Position at{static_cast<std::uint8_t>(block), static_cast<std::uint8_t>(slot)};
        if (leaf) {
          ++entries_;
          add_item(node.value(true, at));
        }
      }
    }
  }
  void add_fence(std::uint64_t word) {
    if constexpr (!Traits::kExact) {
      if (word != 0) {
        fence_bytes_ += worker_.nodes().usable_size(reinterpret_cast<const void*>(word));
      }
    }
  }
  void add_item(std::uint64_t word) {
    if constexpr (!Traits::kExact) {
      item_bytes_ += worker_.items().usable_size(Traits::Record::item(word));
      payload_bytes_ += Kind::kPayloadBytes;
    }
  }

  runtime::Runtime& runtime_;
  runtime::Worker& worker_;
  std::uint64_t leaves_ = 0;
  std::uint64_t entries_ = 0;
  std::uint64_t leaf_bytes_ = 0;
  std::uint64_t inner_bytes_ = 0;
  std::uint64_t fence_bytes_ = 0;
  std::uint64_t item_bytes_ = 0;
  std::uint64_t payload_bytes_ = 0;
};

template <class Kind>
std::vector<Part> tree_parts(runtime::Runtime& runtime, const index::Tree<typename Kind::Traits>& tree,
                             std::uint64_t records) {
  return TreeParts<Kind>{runtime, tree}.parts(records);
}

}  // namespace mxkv::bench

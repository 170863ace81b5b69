// The meta word of a node: the bits that the data object's header leaves to the index (20 and up).
//
//   bit 20     frozen: on its way out of the tree             bits 26-30  level, 0 for leaves
//   bit 21     the prefix is loose: keys may lack it          bits 32-39  prefix bytes
//   bit 22     the high fence is +infinity                    bits 40-63  entries of six blocks, 4 bits each
//   bits 23-25 blocks in use
//   bit 31     ties: equal heads may be about
// One word, so that a reader of the header line gets a consistent shape with one load.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/assert.hpp"

namespace mxkv::index {

class NodeMeta {
 public:
  static constexpr unsigned kMaxBlocks = 6;
  static constexpr unsigned kMaxSlots = 8;

  constexpr explicit NodeMeta(std::uint64_t word) noexcept : word_(word) {}
  [[nodiscard]] constexpr std::uint64_t word() const noexcept { return word_; }

  [[nodiscard]] constexpr bool high_infinite() const noexcept { return ((word_ >> 22U) & 1U) != 0; }
  [[nodiscard]] constexpr unsigned blocks() const noexcept {
    return static_cast<unsigned>((word_ >> 23U) & 7U);
  }
  [[nodiscard]] constexpr unsigned level() const noexcept {
    return static_cast<unsigned>((word_ >> 26U) & 31U);
  }
  [[nodiscard]] constexpr std::size_t prefix_bytes() const noexcept {
    return static_cast<std::size_t>((word_ >> 32U) & 255U);
  }
  /// Entries of a block. A torn read may give any number: callers clamp it to a block's slots.
  [[nodiscard]] constexpr unsigned count(unsigned block) const noexcept {
    return static_cast<unsigned>((word_ >> (40U + 4U * block)) & 15U);
  }
  [[nodiscard]] constexpr unsigned total() const noexcept {
    const std::uint64_t counts = word_ >> 40U;
    const std::uint64_t pairs = (counts & 0x0F0F0FU) + (counts >> 4U & 0x0F0F0FU);
    return static_cast<unsigned>((pairs + (pairs >> 8U) + (pairs >> 16U)) & 0xFFU);
  }

  /// Whether only the task that unlinks the node may change it (unlink_task.hpp).
  [[nodiscard]] constexpr bool frozen() const noexcept { return ((word_ >> 20U) & 1U) != 0; }
  [[nodiscard]] constexpr NodeMeta with_frozen(bool frozen) const noexcept {
    return set(20U, 1U, frozen ? 1U : 0U);
  }
  /// See prefix.hpp.
  [[nodiscard]] constexpr bool loose_prefix() const noexcept { return ((word_ >> 21U) & 1U) != 0; }
  [[nodiscard]] constexpr NodeMeta with_loose_prefix(bool loose) const noexcept {
    return set(21U, 1U, loose ? 1U : 0U);
  }
  /// Whether it holds so little that its left neighbour could do without it: a leaf without entries, an inner
  /// node with one child.
  [[nodiscard]] constexpr bool thin() const noexcept { return total() <= (level() == 0 ? 0U : 1U); }

  /// Whether two entries may have equal heads. Set when they might, cleared when the node is laid out anew.
  [[nodiscard]] constexpr bool ties() const noexcept { return ((word_ >> 31U) & 1U) != 0; }
  [[nodiscard]] constexpr NodeMeta with_ties(bool ties) const noexcept {
    return set(31U, 1U, ties ? 1U : 0U);
  }

  [[nodiscard]] constexpr NodeMeta with_high_infinite(bool infinite) const noexcept {
    return set(22U, 1U, infinite ? 1U : 0U);
  }
  [[nodiscard]] constexpr NodeMeta with_blocks(unsigned blocks) const noexcept {
    MXKV_DCHECK(blocks > 0 && blocks <= kMaxBlocks, "a node has one to six blocks");
    return set(23U, 7U, blocks);
  }
  [[nodiscard]] constexpr NodeMeta with_level(unsigned level) const noexcept { return set(26U, 31U, level); }
  [[nodiscard]] constexpr NodeMeta with_prefix(std::size_t bytes) const noexcept {
    MXKV_DCHECK(bytes < 256, "a prefix is no longer than a key");
    return set(32U, 255U, bytes);
  }
  /// `counts`: the entries of all blocks, four bits each.
  [[nodiscard]] constexpr NodeMeta with_counts(std::uint64_t counts) const noexcept {
    return set(40U, (std::uint64_t{1} << 24U) - 1, counts);
  }
  [[nodiscard]] constexpr NodeMeta with_one_more(unsigned block) const noexcept {
    MXKV_DCHECK(block < kMaxBlocks && count(block) < kMaxSlots, "a block has up to eight entries");
    return NodeMeta{word_ + (std::uint64_t{1} << (40U + 4U * block))};
  }
  [[nodiscard]] constexpr NodeMeta with_count(unsigned block, unsigned count) const noexcept {
    MXKV_DCHECK(block < kMaxBlocks && count <= kMaxSlots, "a block has up to eight entries");
    return set(40U + 4U * block, 15U, count);
  }

 private:
  [[nodiscard]] constexpr NodeMeta set(unsigned shift, std::uint64_t mask,
                                       std::uint64_t value) const noexcept {
    return NodeMeta{(word_ & ~(mask << shift)) | ((value & mask) << shift)};
  }

  std::uint64_t word_;
};

}  // namespace mxkv::index

// The shared part of all workers' value heaps: the address range, the span tables, one superblock pool a NUMA
// node. One instance for items and chunks and one for index nodes, so that nodes stay dense in huge pages.
//
// Spans are charged to the budget when a heap takes them and refunded when they go back. Some free spans stay
// resident without being charged (pooled_bytes()); the pages of others go back to the system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "runtime/base/assert.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/memory/memory_budget.hpp"
#include "runtime/memory/page_census.hpp"
#include "runtime/memory/page_range.hpp"
#include "runtime/memory/span.hpp"
#include "runtime/memory/superblock_pool.hpp"

namespace mxkv::runtime {

/// Tells a worker that its recollection bin has grown past a size: it should collect() soon. Called on the
/// releasing worker's thread. Thread-safety: any worker.
class BinOwners {
 public:
  virtual ~BinOwners() = default;
  /// Must not allocate from or release to a value heap.
  virtual void wake(WorkerId owner) noexcept = 0;
};

struct ValueSpaceOptions {
  PageOptions pages;
  memory_category category = memory_category::items;  ///< what its spans are charged as
  std::size_t workers = 1;                            ///< most heaps: ids 0 .. workers - 1
  std::size_t reserve_bytes = 0;   ///< address space; 0: twice the budget's limit, and some
  std::size_t left_to_others = 0;  ///< bytes of the budget that this space does not take
  std::size_t bin_wake_bytes = std::size_t{256} << 10U;  ///< size of a bin whose owner is woken
};

/// Lives longer than its heaps. Thread-safety: any thread, unless said otherwise.
class ValueSpace {
 public:
  /// Address space that a space takes, of a budget with this limit and with the default options.
  [[nodiscard]] static std::size_t default_address_bytes(std::size_t limit_bytes) noexcept;
  /// Throws std::system_error when the address space is refused. Start-up only.
  ValueSpace(MemoryBudget& budget, const ValueSpaceOptions& options);
  /// All memory goes back to the system and the budget, blocks still in use included. After the heaps.
  ~ValueSpace();
  ValueSpace(const ValueSpace&) = delete;
  ValueSpace& operator=(const ValueSpace&) = delete;

  /// Start-up only: before a second worker runs.
  void set_bin_owners(BinOwners& owners) noexcept { bin_owners_ = &owners; }

  /// Bytes that the holder of a block may use: at least the bytes asked for. Any thread that holds the block.
  [[nodiscard]] std::size_t usable_size(const void* block) const noexcept {
    return span_of(block)->block_bytes;
  }
  /// The node whose pool a block came from. Any thread that holds the block.
  [[nodiscard]] NumaNodeId node_of(const void* block) const noexcept {
    MXKV_DCHECK(range_.contains(block), "the block is of this space");
    return tables_.superblocks[tables_.span_index(block) / detail::kSpansPerSuperblock].node;
  }
  /// The addresses of this space, for a census of its pages.
  [[nodiscard]] PageCount addresses() const noexcept {
    return {.begin = range_.base(), .bytes = range_.reserved_bytes()};
  }
  /// Whether an address lies in the range of this space.
  [[nodiscard]] bool contains(const void* address) const noexcept { return range_.contains(address); }

  /// Bytes at the end of the budget that this space leaves to other uses. Bytes that replies, input and tasks
  /// have taken of these are not asked for again: they give them back.
  [[nodiscard]] std::size_t left_to_others() const noexcept;
  /// Bytes of spans in use by heaps and large blocks, as charged to the budget.
  [[nodiscard]] std::size_t span_bytes() const noexcept;
  /// Bytes of free spans that may be resident (upper bound).
  [[nodiscard]] std::size_t pooled_bytes() const noexcept;
  /// Bytes of arenas ever taken from the system.
  [[nodiscard]] std::size_t taken_bytes() const noexcept { return range_.taken_bytes(); }
  [[nodiscard]] std::size_t workers() const noexcept { return workers_; }
  /// Arenas that are not bound to their NUMA node.
  [[nodiscard]] std::size_t unbound_arenas() const noexcept { return range_.unbound_arenas(); }

 private:
  friend class ValueHeap;

  [[nodiscard]] detail::Span* span_of(const void* block) const noexcept {
    MXKV_DCHECK(range_.contains(block), "the block is of this space");
    return &tables_.spans[tables_.span_index(block)];
  }
  [[nodiscard]] bool may_take(std::size_t bytes) const noexcept {
    const std::size_t wanted = budget_->used_bytes() + bytes;
    return left_to_others_ == 0 || wanted + left_to_others_ <= budget_->limit_bytes() ||
           wanted + left_to_others() <= budget_->limit_bytes();
  }
  [[nodiscard]] detail::SuperblockPool& pool_of(const detail::Span* span) noexcept;
  [[nodiscard]] detail::SuperblockPool& pool(NumaNodeId node) noexcept { return pools_[node.index()]; }

  MemoryBudget* budget_;
  memory_category category_;
  std::size_t workers_;
  std::size_t bin_wake_bytes_;
  std::size_t left_to_others_;
  BinOwners* bin_owners_ = nullptr;  ///< null: no owner is woken
  PageRange range_;
  PageRange table_range_;  ///< spans, then superblocks; 4 KiB pages placed by first touch
  detail::SpanTables tables_;
  std::deque<detail::SuperblockPool> pools_;
};

}  // namespace mxkv::runtime

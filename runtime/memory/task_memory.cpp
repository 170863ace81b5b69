#include "runtime/memory/task_memory.hpp"

#include <cstring>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/memory/poison.hpp"

namespace mxkv::runtime {

namespace {

// A batch's first block links to the next batch in its second word; the first word links blocks.
void* second_word(void* block) noexcept {
  return static_cast<std::byte*>(block) + sizeof(void*);
}

}  // namespace

ProcessorHeap::ProcessorHeap(PageRange& global, MemoryBudget& budget, NumaNodeId node)
    : global_(&global), budget_(&budget), node_(node) {
  static_assert(std::is_trivially_destructible_v<Slab>);
  slabs_.reset(static_cast<Slab*>(std::calloc(global.reserved_bytes() / kTaskSlabBytes, sizeof(Slab))));
  if (slabs_ == nullptr) {
    throw std::bad_alloc{};
  }
}

ProcessorHeap::~ProcessorHeap() {
  MXKV_ASSERT(!trimming_, "no thread is at it any more");
  budget_->refund(memory_category::tasks, charged_bytes_);
}

ProcessorHeap::Slab& ProcessorHeap::slab_of(const void* block) const noexcept {
  return slabs_[static_cast<std::size_t>(static_cast<const std::byte*>(block) - global_->base()) /
                kTaskSlabBytes];
}

void* ProcessorHeap::take_batch(task_block block) noexcept {
  const std::lock_guard guard(latch_);
  void*& top = batches_[static_cast<std::size_t>(block)];
  void* first = top;
  if (first != nullptr) {
    top = detail::read_link(second_word(first));
    MXKV_ASSERT(free_bytes_.load(std::memory_order_relaxed) >= task_block_bytes(block) * kTaskBatchBlocks,
                "a batch that is taken was counted as free");
    free_bytes_.store(
        free_bytes_.load(std::memory_order_relaxed) - task_block_bytes(block) * kTaskBatchBlocks,
        std::memory_order_relaxed);
  } else {
    first = carve_batch(block);
  }
  blocks_out_[static_cast<std::size_t>(block)] += first == nullptr ? 0 : kTaskBatchBlocks;
  return first;
}

void ProcessorHeap::give_batch(task_block block, void* first) noexcept {
  const std::lock_guard guard(latch_);
  void*& top = batches_[static_cast<std::size_t>(block)];
  detail::write_link(second_word(first), top);
  top = first;
  blocks_out_[static_cast<std::size_t>(block)] -= kTaskBatchBlocks;
  free_bytes_.store(free_bytes_.load(std::memory_order_relaxed) + task_block_bytes(block) * kTaskBatchBlocks,
                    std::memory_order_relaxed);
  given_back_.store(true, std::memory_order_relaxed);
}

void ProcessorHeap::give_loose(task_block block, void* first, std::uint32_t count) noexcept {
  MXKV_ASSERT(count > 0 && count < kTaskBatchBlocks, "whole batches are not loose");
  const std::lock_guard guard(latch_);
  add_loose(block, {first, count});
  given_back_.store(true, std::memory_order_relaxed);
  blocks_out_[static_cast<std::size_t>(block)] -= count;
}

void ProcessorHeap::add_loose(task_block block, const Chain& chain) noexcept {
  Chain& loose = loose_[static_cast<std::size_t>(block)];
  std::uint32_t added = 0;
  for (void* next = chain.first; next != nullptr; ++added) {
    void* const at = std::exchange(next, detail::read_link(next));
    detail::write_link(at, loose.first);
    loose.first = at;
  }
  MXKV_ASSERT(added == chain.count, "a chain has as many blocks as it says");
  loose.count += chain.count;
}

std::size_t ProcessorHeap::blocks_out(task_block block) noexcept {
  const std::lock_guard guard(latch_);
  return blocks_out_[static_cast<std::size_t>(block)];
}

std::byte* ProcessorHeap::take_slab() noexcept {
  std::byte* slab = nullptr;
  if (free_slabs_ != kNone) {
    slab = global_->base() + free_slabs_ * kTaskSlabBytes;
    free_slabs_ = slabs_[free_slabs_].next;
  } else {
    if (arena_.next == arena_.end) {
      void* const arena = global_->take(kHugePageBytes, node_);
      if (arena == nullptr) {
        return nullptr;
      }
      arena_.next = static_cast<std::byte*>(arena);
      arena_.end = arena_.next + kHugePageBytes;
    }
    slab = std::exchange(arena_.next, arena_.next + kTaskSlabBytes);
  }
  MXKV_ASSERT(static_cast<std::size_t>(slab - global_->base()) % kTaskSlabBytes == 0,
              "slabs lie side by side");
  charged_bytes_ += kTaskSlabBytes;
  budget_->charge_unconditionally(memory_category::tasks, kTaskSlabBytes);
  return slab;
}

void* ProcessorHeap::carve_batch(task_block block) noexcept {
  const std::size_t block_bytes = task_block_bytes(block);
  const std::size_t batch_bytes = block_bytes * kTaskBatchBlocks;
  Carving& carving = carving_[static_cast<std::size_t>(block)];
  if (carving.next == nullptr) {
    carving.next = take_slab();
    if (carving.next == nullptr) {
      return nullptr;
    }
    carving.end = carving.next + kTaskSlabBytes;
  }
  MXKV_ASSERT(static_cast<std::size_t>(carving.end - carving.next) >= batch_bytes,
              "a slab in work has a batch");
  std::byte* const first = std::exchange(carving.next, carving.next + batch_bytes);
  // The tail of a slab, less than a batch, is left unused and untouched.
  const bool whole = static_cast<std::size_t>(carving.end - carving.next) < batch_bytes;
  std::atomic<std::uint32_t>& carved = slab_of(first).carved;
  carved.store(carved.load(std::memory_order_relaxed) + kTaskBatchBlocks + (whole ? kWhole : 0),
               std::memory_order_release);
  if (whole) {
    carving = {};
  }
  detail::poison(first, batch_bytes);
  for (std::uint32_t i = 0; i < kTaskBatchBlocks; ++i) {
    std::byte* const at = first + i * block_bytes;
    detail::write_link(at, i + 1 < kTaskBatchBlocks ? at + block_bytes : nullptr);
  }
  return first;
}

/// f may reuse the block that it is called with.
template <std::invocable<void*> F>
void ProcessorHeap::for_each_block(void* batches, const Chain& loose, const F& f) noexcept {
  const auto for_chain = [&f](void* first) {
    for (void* next = first; next != nullptr;) {
      void* const block = std::exchange(next, detail::read_link(next));
      f(block);
    }
  };
  while (batches != nullptr) {
    void* const first = std::exchange(batches, detail::read_link(second_word(batches)));
    for_chain(first);
  }
  for_chain(loose.first);
}

// No other thread sees the free blocks meanwhile. First they are counted, slab by slab; then batches are made
// of blocks whose slab has others in use, and the rest of the slabs goes.
void ProcessorHeap::trim() noexcept {
  std::array<void*, kTaskBlocks> batches;
  std::array<Chain, kTaskBlocks> loose;
  {
    const std::lock_guard guard(latch_);
    if (std::exchange(trimming_, true)) {
      return;
    }
    batches = std::exchange(batches_, {});
    loose = std::exchange(loose_, {});
    free_bytes_.store(0, std::memory_order_relaxed);
    given_back_.store(false, std::memory_order_relaxed);
  }
  for (std::size_t i = 0; i < kTaskBlocks; ++i) {
    for_each_block(batches[i], loose[i], [this](void* block) { ++slab_of(block).free; });
  }
  std::array<void*, kTaskBlocks> kept{};
  std::array<void*, kTaskBlocks> last_kept{};
  std::array<Chain, kTaskBlocks> open{};  // batches that are being made
  std::size_t free_bytes = 0;
  for (std::size_t i = 0; i < kTaskBlocks; ++i) {
    for_each_block(batches[i], loose[i], [&, i](void* block) {
      const Slab& slab = slab_of(block);
      if (slab.carved.load(std::memory_order_acquire) == (slab.free | kWhole)) {
        return;
      }
      detail::write_link(block, open[i].first);
      open[i].first = block;
      if (++open[i].count < kTaskBatchBlocks) {
        return;
      }
      detail::write_link(second_word(block), kept[i]);
      last_kept[i] = kept[i] == nullptr ? block : last_kept[i];
      kept[i] = block;
      open[i] = {};
      free_bytes += kTaskBlockBytes[i] * kTaskBatchBlocks;
    });
  }
  std::uint32_t freed = kNone;
  std::uint32_t last_freed = kNone;
  std::size_t freed_bytes = 0;
  const auto slabs = static_cast<std::uint32_t>(global_->taken_bytes() / kTaskSlabBytes);
  for (std::uint32_t i = 0; i < slabs; ++i) {
    Slab& slab = slabs_[i];
    if (slab.free != 0 && slab.carved.load(std::memory_order_acquire) == (slab.free | kWhole)) {
      global_->discard(global_->base() + i * kTaskSlabBytes, kTaskSlabBytes);
      slab.carved.store(0, std::memory_order_relaxed);
      slab.next = freed;
      last_freed = freed == kNone ? i : last_freed;
      freed = i;
      freed_bytes += kTaskSlabBytes;
    }
    slab.free = 0;
  }
  {
    const std::lock_guard guard(latch_);
    for (std::size_t i = 0; i < kTaskBlocks; ++i) {
      if (kept[i] != nullptr) {
        detail::write_link(second_word(last_kept[i]), batches_[i]);
        batches_[i] = kept[i];
      }
      add_loose(static_cast<task_block>(i), open[i]);
    }
    if (freed != kNone) {
      slabs_[last_freed].next = free_slabs_;
      free_slabs_ = freed;
    }
    MXKV_ASSERT(trimming_ && charged_bytes_ >= freed_bytes, "one thread trims, slabs that were charged");
    charged_bytes_ -= freed_bytes;
    free_bytes += free_bytes_.load(std::memory_order_relaxed);
    free_bytes_.store(free_bytes, std::memory_order_relaxed);
    trimming_ = false;
  }
  budget_->refund(memory_category::tasks, freed_bytes);
}

TaskMemory::TaskMemory(MemoryBudget& budget, PageOptions pages, std::size_t reserve_bytes)
    : range_(reserve_bytes, std::move(pages)) {
  for (std::size_t node = 0; node < range_.node_count(); ++node) {
    heaps_.emplace_back(range_, budget, NumaNodeId(static_cast<NumaNodeId::rep>(node)));
  }
}

std::size_t TaskMemory::blocks_out(task_block block) noexcept {
  std::size_t blocks = 0;
  for (ProcessorHeap& heap : heaps_) {
    blocks += heap.blocks_out(block);
  }
  return blocks;
}

}  // namespace mxkv::runtime

#include "runtime/memory/superblock_pool.hpp"

#include <bit>
#include <mutex>
#include <new>

#include "runtime/base/assert.hpp"
#include "runtime/memory/poison.hpp"

namespace mxkv::runtime::detail {

namespace {

constexpr std::uint32_t kAllFree = UINT32_MAX;
static_assert(kSpansPerSuperblock == 32, "free spans are the bits of a 32-bit word");
static_assert(kSuperblockBytes == kHugePageBytes, "a superblock is one huge page");

/// `count` bits from bit `first` on.
std::uint32_t run_mask(std::uint32_t first, std::uint32_t count) noexcept {
  return static_cast<std::uint32_t>(((std::uint64_t{1} << count) - 1) << first);
}

/// Bits at which a run of at least `count` set bits begins.
std::uint32_t run_starts(std::uint32_t bits, std::uint32_t count) noexcept {
  for (std::uint32_t length = 1; length < count; ++length) {
    bits &= bits >> 1U;
  }
  return bits;
}

}  // namespace

void SuperblockPool::add(std::atomic<std::size_t>& sum, std::size_t bytes) noexcept {
  // Written under the latch only; subtraction is addition of the two's complement.
  sum.store(sum.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
}

void SuperblockPool::enlist(Superblock* superblock) noexcept {
  const auto free = static_cast<std::uint32_t>(std::popcount(superblock->free_spans));
  const std::uint32_t list = superblock->clean ? kCleanList : free;
  superblock->list = static_cast<std::uint8_t>(list);
  lists_[list].push(superblock);
  nonempty_ |= std::uint64_t{1} << list;
  kept_ += list == kSpansPerSuperblock ? 1 : 0;
}

void SuperblockPool::delist(Superblock* superblock) noexcept {
  const std::uint32_t list = superblock->list;
  lists_[list].remove(superblock);
  if (lists_[list].empty()) {
    nonempty_ &= ~(std::uint64_t{1} << list);
  }
  kept_ -= list == kSpansPerSuperblock ? 1 : 0;
}

SuperblockPool::Run SuperblockPool::find_run(std::uint32_t count) noexcept {
  // Lists of superblocks with at least `count` free spans, fullest first.
  std::uint64_t candidates = nonempty_ & ~((std::uint64_t{1} << count) - 1);
  for (; candidates != 0; candidates &= candidates - 1) {
    const auto list = static_cast<std::uint32_t>(std::countr_zero(candidates));
    for (Superblock* superblock = lists_[list].front(); superblock != nullptr;
         superblock = superblock->next) {
      const std::uint32_t starts = run_starts(superblock->free_spans, count);
      if (starts != 0) {
        return {superblock, static_cast<std::uint32_t>(std::countr_zero(starts))};
      }
    }
  }
  return {};
}

bool SuperblockPool::grow() noexcept {
  std::uint32_t superblocks = kArenaSuperblocks;
  void* arena = range_->take(superblocks * kSuperblockBytes, node_);
  if (arena == nullptr) {
    superblocks = 1;  // the last piece of the range may be shorter than an arena
    arena = range_->take(kSuperblockBytes, node_);
  }
  if (arena == nullptr) {
    return false;
  }
  const std::size_t first = tables_->span_index(arena) / kSpansPerSuperblock;
  for (std::uint32_t i = superblocks; i-- > 0;) {
    auto* superblock = new (&tables_->superblocks[first + i]) Superblock{};
    superblock->free_spans = kAllFree;
    superblock->clean = true;
    superblock->node = node_;
    enlist(superblock);
  }
  return true;
}

Span* SuperblockPool::acquire(std::uint32_t count) noexcept {
  MXKV_ASSERT(count >= 1 && count <= kSpansPerSuperblock, "a run of spans fits a superblock");
  const std::lock_guard guard(latch_);
  Run run = find_run(count);
  if (run.superblock == nullptr) {
    if (!grow()) {
      return nullptr;
    }
    run = find_run(count);
  }
  delist(run.superblock);
  if (run.superblock->clean) {
    run.superblock->clean = false;
    add(pooled_bytes_, kSuperblockBytes);
  }
  run.superblock->free_spans &= ~run_mask(run.first, count);
  enlist(run.superblock);
  add(span_bytes_, count * kSpanBytes);
  add(pooled_bytes_, std::size_t{0} - count * kSpanBytes);

  const auto superblock_index = static_cast<std::size_t>(run.superblock - tables_->superblocks);
  const std::size_t index = superblock_index * kSpansPerSuperblock + run.first;
  auto* span = new (&tables_->spans[index]) Span{};
  span->base = tables_->data + index * kSpanBytes;
  span->span_count = static_cast<std::uint16_t>(count);
  poison(span->base, count * kSpanBytes);
  return span;
}

void SuperblockPool::release(Span* span) noexcept {
  const std::size_t index = tables_->span_index(span->base);
  const std::uint32_t count = span->span_count;
  const std::uint32_t mask = run_mask(static_cast<std::uint32_t>(index % kSpansPerSuperblock), count);
  Superblock* const superblock = &tables_->superblocks[index / kSpansPerSuperblock];
  poison(span->base, count * kSpanBytes);
  {
    const std::lock_guard guard(latch_);
    MXKV_ASSERT(superblock->node == node_, "spans go back to their own node");
    MXKV_ASSERT((superblock->free_spans & mask) == 0, "a span is released once");
    delist(superblock);
    superblock->free_spans |= mask;
    add(span_bytes_, std::size_t{0} - count * kSpanBytes);
    add(pooled_bytes_, count * kSpanBytes);
    if (superblock->free_spans != kAllFree || kept_ < kKeptSuperblocks) {
      enlist(superblock);
      return;
    }
  }
  make_clean(superblock);
}

void SuperblockPool::make_clean(Superblock* superblock) noexcept {
  // In no list, hence ours alone: the system call needs no latch.
  const auto index = static_cast<std::size_t>(superblock - tables_->superblocks);
  range_->discard(tables_->data + index * kSuperblockBytes, kSuperblockBytes);
  const std::lock_guard guard(latch_);
  superblock->clean = true;
  enlist(superblock);
  add(pooled_bytes_, std::size_t{0} - kSuperblockBytes);
}

}  // namespace mxkv::runtime::detail

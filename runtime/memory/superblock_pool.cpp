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

/// Bytes of the spans of `mask` that have pages.
std::size_t dirty_bytes(const Superblock& superblock, std::uint32_t mask) noexcept {
  return static_cast<std::size_t>(std::popcount(mask & ~superblock.clean_spans)) * kSpanBytes;
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
  const std::uint32_t list = superblock->clean_spans == kAllFree ? kCleanList : free;
  superblock->list = static_cast<std::uint8_t>(list);
  lists_[list].push(superblock);
  nonempty_ |= std::uint64_t{1} << list;
  kept_ += list == kSpansPerSuperblock ? 1 : 0;
}

void SuperblockPool::delist(Superblock* superblock) noexcept {
  const std::uint32_t list = superblock->list;
  MXKV_ASSERT(list < kLists && (nonempty_ >> list & 1U) != 0, "a superblock is in the list that it names");
  lists_[list].remove(superblock);
  if (lists_[list].empty()) {
    nonempty_ &= ~(std::uint64_t{1} << list);
  }
  MXKV_ASSERT(list != kSpansPerSuperblock || kept_ > 0, "a superblock that is kept was counted");
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
        const bool last = (starts >> superblock->released & 1U) != 0;
        return {superblock,
                last ? superblock->released : static_cast<std::uint32_t>(std::countr_zero(starts))};
      }
    }
  }
  return {};
}

Superblock* SuperblockPool::oldest_free() const noexcept {
  Superblock* superblock = lists_[kSpansPerSuperblock].front();
  MXKV_ASSERT(superblock != nullptr, "a superblock is kept");
  while (superblock->next != nullptr) {  // a few
    superblock = superblock->next;
  }
  return superblock;
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
  MXKV_ASSERT(tables_->span_index(arena) % kSpansPerSuperblock == 0, "an arena is whole superblocks");
  const std::size_t first = tables_->span_index(arena) / kSpansPerSuperblock;
  for (std::uint32_t i = superblocks; i-- > 0;) {
    auto* superblock = new (&tables_->superblocks[first + i]) Superblock{};
    superblock->free_spans = kAllFree;
    superblock->clean_spans = kAllFree;
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
  MXKV_ASSERT(run.superblock != nullptr, "an arena that was just added has a run");
  delist(run.superblock);
  const std::uint32_t mask = run_mask(run.first, count);
  MXKV_ASSERT((run.superblock->free_spans & mask) == mask, "a span is given out once");
  add(pooled_bytes_, std::size_t{0} - dirty_bytes(*run.superblock, mask));
  run.superblock->free_spans &= ~mask;
  run.superblock->clean_spans &= ~mask;
  enlist(run.superblock);
  add(span_bytes_, count * kSpanBytes);

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
  MXKV_ASSERT(count >= 1 && index % kSpansPerSuperblock + count <= kSpansPerSuperblock,
              "a run of spans lies in one superblock");
  const std::uint32_t mask = run_mask(static_cast<std::uint32_t>(index % kSpansPerSuperblock), count);
  Superblock* superblock = &tables_->superblocks[index / kSpansPerSuperblock];
  std::uint32_t without_pages = mask;
  poison(span->base, count * kSpanBytes);
  {
    const std::lock_guard guard(latch_);
    MXKV_ASSERT(superblock->node == node_, "spans go back to their own node");
    MXKV_ASSERT((superblock->free_spans & mask) == 0, "a span is released once");
    MXKV_ASSERT(span_bytes() >= count * kSpanBytes, "what is released was counted");
    delist(superblock);
    superblock->free_spans |= mask;
    superblock->released = static_cast<std::uint8_t>(index % kSpansPerSuperblock);
    enlist(superblock);
    add(span_bytes_, std::size_t{0} - count * kSpanBytes);
    add(pooled_bytes_, count * kSpanBytes);
    if (!spares_too_much()) {
      return;
    }
    if (kept_ > 0) {
      superblock = oldest_free();
      without_pages = kAllFree;
    }
    delist(superblock);
    superblock->free_spans &= ~without_pages;  // ours alone until they are clean
    enlist(superblock);
  }
  make_clean(superblock, without_pages);
}

bool SuperblockPool::spares_too_much() const noexcept {
  return kept_ > kKeptSuperblocks ||
         pooled_bytes() > kKeptSuperblocks * kSuperblockBytes + span_bytes() / kSparePart;
}

void SuperblockPool::make_clean(Superblock* superblock, std::uint32_t mask) noexcept {
  // Not marked as free, hence this thread's alone: the system calls need no latch.
  MXKV_ASSERT(mask != 0, "there is a span to be cleaned");
  const auto index = static_cast<std::size_t>(superblock - tables_->superblocks);
  const auto first = static_cast<std::size_t>(std::countr_zero(mask));
  range_->discard(tables_->data + index * kSuperblockBytes + first * kSpanBytes,
                  static_cast<std::size_t>(std::popcount(mask)) * kSpanBytes);
  const std::lock_guard guard(latch_);
  MXKV_ASSERT((superblock->free_spans & mask) == 0, "nobody else has or takes the spans meanwhile");
  delist(superblock);
  add(pooled_bytes_, std::size_t{0} - dirty_bytes(*superblock, mask));
  superblock->free_spans |= mask;
  superblock->clean_spans |= mask;
  enlist(superblock);
}

}  // namespace mxkv::runtime::detail

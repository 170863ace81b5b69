#include "runtime/memory/value_heap.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "runtime/base/assert.hpp"

namespace mxkv::runtime {

using detail::kFullnessLists;
using detail::kNotListed;
using detail::Span;

ValueHeap::ValueHeap(ValueSpace& space, MemoryAccount& account, WorkerId worker, NumaNodeId node)
    : space_(&space),
      account_(&account),
      pool_(&space.pool(node)),
      worker_(worker),
      outgoing_(std::make_unique<Outgoing[]>(space.workers())) {
  MXKV_ASSERT(worker.index() < space.workers(), "the space was made for this many workers");
  for (ClassState& state : classes_) {
    state.current = &no_span_;
  }
}

Span* ValueHeap::replace_current(std::size_t size_class) noexcept {
  ClassState& state = classes_[size_class];
  collect();
  if (has_block(*state.current)) {
    return state.current;
  }
  if (state.current != &no_span_) {
    MXKV_ASSERT(state.current->live == state.current->capacity(), "a span without a block is full");
    state.current->threshold = state.current->capacity() - 1;  // full: its first release puts it in a list
    state.current = &no_span_;
  }
  for (std::size_t list = kFullnessLists; list-- > 0;) {
    Span* const span = state.partial[list].front();
    if (span != nullptr) {
      MXKV_ASSERT(span->owner == this && has_block(*span), "a span in a list has a free block of this heap");
      state.partial[list].remove(span);
      span->list = kNotListed;
      span->threshold = detail::kNoThreshold;
      state.current = span;
      return span;
    }
  }
  return new_span(size_class);
}

Span* ValueHeap::take_spans(std::uint32_t count) noexcept {
  const std::size_t bytes = count * kSpanBytes;
  if (!space_->may_take(bytes) || !account_->try_charge(space_->category_, bytes)) {
    trim();
    flush_foreign();  // others may be short of just these blocks
    if (!space_->may_take(bytes) || !account_->try_charge(space_->category_, bytes)) {
      return nullptr;
    }
  }
  Span* const span = pool_->acquire(count);
  if (span == nullptr) {
    account_->refund(space_->category_, bytes);
  }
  return span;
}

Span* ValueHeap::new_span(std::size_t size_class) noexcept {
  Span* const span = take_spans(1);
  if (span == nullptr) {
    return nullptr;
  }
  span->owner = this;
  span->size_class = static_cast<std::uint8_t>(size_class);
  span->block_bytes = static_cast<std::uint32_t>(class_bytes(size_class));
  span->bump_end = static_cast<std::uint32_t>(kSpanBytes / span->block_bytes * span->block_bytes);
  classes_[size_class].current = span;
  add(classes_[size_class].spans, 1);
  return span;
}

void ValueHeap::return_span(Span* span) noexcept {
  MXKV_ASSERT(span->live == 0 && span->owner == this, "only an empty span of this heap goes back");
  add(classes_[span->size_class].spans, std::size_t{0} - 1);
  pool_->release(span);
  account_->refund(space_->category_, kSpanBytes);
}

void ValueHeap::reconsider(Span* span) noexcept {
  ClassState& state = classes_[span->size_class];
  if (span->list != kNotListed) {
    state.partial[span->list].remove(span);
  }
  if (span->live == 0) {
    return_span(span);
    return;
  }
  // List l holds spans with l/4 <= live/capacity < (l+1)/4.
  const std::uint32_t capacity = span->capacity();
  const std::uint32_t list = span->live * kFullnessLists / capacity;
  MXKV_ASSERT(list < kFullnessLists, "a span that is looked at again has a free block");
  span->list = static_cast<std::uint8_t>(list);
  span->threshold = list == 0 ? 0 : (list * capacity + kFullnessLists - 1) / kFullnessLists - 1;
  state.partial[list].push(span);
}

void ValueHeap::trim() noexcept {
  for (ClassState& state : classes_) {
    if (state.current != &no_span_ && state.current->live == 0) {
      return_span(state.current);
      state.current = &no_span_;
    }
  }
}

void* ValueHeap::allocate_large(std::size_t bytes) noexcept {
  if (bytes > kLargestValueBytes) {
    add(failed_, 1);
    return nullptr;
  }
  const auto count = static_cast<std::uint32_t>((bytes + kSpanBytes - 1) / kSpanBytes);
  collect();  // small blocks come home at each new span, large ones would never ask for them
  Span* const span = take_spans(count);
  if (span == nullptr) {
    add(failed_, 1);
    return nullptr;
  }
  span->block_bytes = static_cast<std::uint32_t>(count * kSpanBytes);
  detail::unpoison(span->base, span->block_bytes);
  return span->base;
}

void ValueHeap::release_foreign(void* block, Span* span) noexcept {
  if (span->owner == nullptr) {
    const std::size_t bytes = span->block_bytes;
    space_->pool_of(span).release(span);
    account_->refund(space_->category_, bytes);
    return;
  }
  Outgoing& outgoing = outgoing_[span->owner->worker_.index()];
  outgoing.owner = span->owner;
  outgoing.bytes += span->block_bytes;
  detail::poison(block, span->block_bytes);
  add(foreign_frees_, 1);
  outgoing.blocks[outgoing.count] = block;
  if (++outgoing.count == kForeignBatch) {
    send(outgoing);
  }
}

void ValueHeap::send(Outgoing& outgoing) noexcept {
  MXKV_ASSERT(outgoing.owner != nullptr && outgoing.count != 0, "a batch has blocks of somebody");
  MXKV_ASSERT(outgoing.owner != this, "own blocks are at home");
  ValueHeap& owner = *outgoing.owner;
  void* first = nullptr;
  void* const last = outgoing.blocks[0];
  for (std::uint32_t from = 0; from < outgoing.count;) {
    void* const head = outgoing.blocks[from++];
    const std::uint32_t others = std::min(others_of(*space_->span_of(head)), outgoing.count - from);
    write_group(head, first, std::span{outgoing.blocks}.subspan(from, others));
    first = head;
    from += others;
  }
  const bool wake = owner.bin_.push(first, last, outgoing.bytes, space_->bin_wake_bytes_);
  outgoing.owner = nullptr;
  outgoing.count = 0;
  outgoing.bytes = 0;
  if (wake && space_->bin_owners_ != nullptr) {
    space_->bin_owners_->wake(owner.worker_);
  }
}

void ValueHeap::flush_foreign() noexcept {
  for (std::size_t worker = 0; worker < space_->workers(); ++worker) {
    if (outgoing_[worker].count != 0) {
      send(outgoing_[worker]);
    }
  }
}

std::uint32_t ValueHeap::others_of(const Span& span) noexcept {
  return std::min(span.block_bytes / static_cast<std::uint32_t>(sizeof(void*)), kForeignBatch) - 1;
}

// A head holds a link, the addresses of others, and a null address if there is room for more.
void ValueHeap::write_group(void* head, void* next, std::span<void* const> others) noexcept {
  const std::uint32_t room = others_of(*space_->span_of(head));
  const std::size_t bytes = (1 + room) * sizeof(void*);
  std::array<void*, kForeignBatch> words;
  words[0] = next;
  std::copy(others.begin(), others.end(), words.begin() + 1);
  if (others.size() < room) {
    words[1 + others.size()] = nullptr;
  }
  detail::unpoison(head, bytes);
  std::memcpy(head, static_cast<const void*>(words.data()),
              (1 + std::min<std::size_t>(room, others.size() + 1)) * sizeof(void*));
  detail::poison(head, bytes);
}

std::size_t ValueHeap::collect() noexcept {
  std::size_t blocks = 0;
  std::array<void*, kForeignBatch> words;
  for (void* head = bin_.take_all(); head != nullptr; head = words[0]) {
    Span* const span = space_->span_of(head);
    const std::uint32_t room = others_of(*span);
    const std::size_t bytes = (1 + room) * sizeof(void*);
    detail::unpoison(head, bytes);
    std::memcpy(static_cast<void*>(words.data()), head, bytes);
    detail::poison(head, bytes);
    std::uint32_t others = 0;
    while (others < room && words[1 + others] != nullptr) {
      prefetch_read(words[1 + others++]);
    }
    if (words[0] != nullptr) {
      prefetch_read(words[0]);
    }
    release_own(head, span);
    for (std::uint32_t i = 1; i <= others; ++i) {
      release_own(words[i], space_->span_of(words[i]));
    }
    blocks += 1 + others;
  }
  if (blocks != 0) {
    add(collected_, blocks);
  }
  return blocks;
}

ValueClassStats ValueHeap::class_stats(std::size_t size_class) const noexcept {
  const ClassState& state = classes_[size_class];
  return {class_bytes(size_class), state.live_blocks.load(std::memory_order_relaxed),
          state.spans.load(std::memory_order_relaxed)};
}

ValueHeapStats ValueHeap::stats() const noexcept {
  ValueHeapStats sum;
  for (std::size_t size_class = 0; size_class < kSizeClasses; ++size_class) {
    const ValueClassStats stats = class_stats(size_class);
    sum.live_bytes += stats.live_blocks * stats.block_bytes;
    sum.span_bytes += stats.spans * kSpanBytes;
  }
  sum.foreign_frees = foreign_frees_.load(std::memory_order_relaxed);
  sum.collected = collected_.load(std::memory_order_relaxed);
  sum.failed = failed_.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace mxkv::runtime

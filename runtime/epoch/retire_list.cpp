#include "runtime/epoch/retire_list.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"
#include "runtime/base/cache_line.hpp"

namespace mxkv::runtime {

namespace {
/// No worker has touched the objects for an epoch: they have left the caches.
constexpr std::uint64_t kFetchedAhead = 8;
}  // namespace

RetireList::~RetireList() {
  MXKV_ASSERT(head_ == nullptr, "a retire list is reclaimed before it goes");
}

void RetireList::begin_block(std::uint64_t stamp) {
  MXKV_DCHECK(tail_ == nullptr || tail_->stamp <= stamp, "stamps rise: the oldest goes first");
  auto* block = static_cast<Block*>(blocks_.allocate_retire_block());
  block->next = nullptr;
  block->stamp = stamp;
  block->before = retired_bytes_;
  block->count = 0;
  (tail_ == nullptr ? head_ : tail_->next) = block;
  tail_ = block;
}

std::size_t RetireList::reclaim(std::uint64_t horizon, ReclaimBound most, const ReclaimFunction* functions,
                                Worker& worker) {
  std::size_t freed = 0;
  const std::size_t freed_before = freed_bytes_;
  const auto object_of = [](std::uint64_t entry) { return reinterpret_cast<void*>(entry & kAddressMask); };
  while (freed < most.objects && freed_bytes_ - freed_before < most.bytes && any_below(horizon)) {
    Block* block = head_;
    head_ = block->next;
    if (head_ == nullptr) {
      tail_ = nullptr;
    }
    freed_bytes_ = head_ == nullptr ? retired_bytes_ : head_->before;
    MXKV_ASSERT(block->count > 0 && block->count <= Block::kCapacity && entries_ >= block->count,
                "a block counts its entries");
    entries_ -= block->count;
    for (std::uint64_t i = 0; i < std::min(kFetchedAhead, block->count); ++i) {
      prefetch_read(object_of(block->entries[i]));
    }
    for (std::uint64_t i = 0; i < block->count; ++i) {
      if (i + kFetchedAhead < block->count) {
        prefetch_read(object_of(block->entries[i + kFetchedAhead]));
      }
      const std::uint64_t entry = block->entries[i];
      functions[entry >> kKindShift](worker, object_of(entry));
    }
    freed += block->count;
    blocks_.release_retire_block(block);
  }
  return freed;
}

}  // namespace mxkv::runtime

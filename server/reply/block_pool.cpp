#include "server/reply/block_pool.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace mxkv::server {

BlockPool::~BlockPool() {
  while (free_blocks_ != nullptr) {
    free_block(std::exchange(free_blocks_, free_blocks_->next));
  }
  while (free_owned_ != nullptr) {
    Segment* const segment = std::exchange(free_owned_, free_owned_->next);
    segment->~Segment();
    ::operator delete(segment);
  }
}

Segment* BlockPool::new_block(std::size_t bytes) {
  const std::size_t whole = std::max(kBlockBytes, bytes + sizeof(Segment));
  void* const memory = ::operator new(whole);
  auto* const block = new (memory) Segment;
  block->begin = block->end = block->data();
  block->limit = static_cast<char*>(memory) + whole;
  block->charged = account_->try_charge(category_, whole);
  if (!block->charged) {
    budget_->charge_unconditionally(category_, whole);
  }
  return block;
}

void BlockPool::free_block(Segment* block) noexcept {
  const std::size_t whole = block_bytes(*block);
  if (block->charged) {
    account_->refund(category_, whole);
  } else {
    budget_->refund(category_, whole);
  }
  block->~Segment();
  ::operator delete(block);
}

Segment* BlockPool::take_owned(const char* data, std::size_t bytes, OwnerRef owner) {
  Segment* segment = free_owned_;
  if (segment != nullptr) {
    free_owned_ = segment->next;
  } else {
    segment = new (::operator new(sizeof(Segment))) Segment;
  }
  segment->next = nullptr;
  segment->begin = data;
  // The bytes are only ever read; `end` is writable for the sake of blocks.
  segment->end = const_cast<char*>(data) + bytes;
  segment->limit = segment->end;
  segment->owner = owner;
  segment->owned = true;
  return segment;
}

Segment* BlockPool::take_slice(Segment& block, char* begin) {
  Segment* const slice = take_owned(begin, 0, {});
  slice->limit = block.limit;
  slice->slice_of = &block;
  return slice;
}

void BlockPool::give_rest(Segment* segment) noexcept {
  if (!segment->owned) {
    free_block(segment);
    return;
  }
  if (segment->owner.release != nullptr) {
    segment->owner.release(segment->owner.context, segment->owner.object);
  }
  segment->owner = {};
  segment->slice_of = nullptr;
  segment->next = free_owned_;
  free_owned_ = segment;
}

}  // namespace mxkv::server

#include "server/reply/block_pool.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

namespace {

// For bytes that are only read; `end` is not const, since blocks write there.
void point_at(Segment& segment, std::string_view bytes) noexcept {
  segment.begin = bytes.data();
  segment.end = const_cast<char*>(bytes.data()) + bytes.size();
  segment.limit = segment.end;
}

void next_piece(Segment& segment) noexcept {
  const std::string_view piece = segment.owner.piece(segment.owner.object, segment.next_piece++);
  MXKV_ASSERT(!piece.empty() && piece.size() <= segment.behind, "pieces are as long as the whole");
  point_at(segment, piece);
  segment.behind -= piece.size();
}

}  // namespace

void Segment::consume(std::size_t bytes) noexcept {
  for (;;) {
    const std::size_t part = std::min(bytes, static_cast<std::size_t>(end - begin));
    begin += part;
    bytes -= part;
    if (begin != end || behind == 0) {
      break;
    }
    server::next_piece(*this);
  }
  MXKV_DCHECK(bytes == 0, "no more is consumed than there is");
}

BlockPool::~BlockPool() {
  while (blocks_.first != nullptr) {
    free_block(std::exchange(blocks_.first, blocks_.first->next));
  }
  while (small_blocks_.first != nullptr) {
    free_block(std::exchange(small_blocks_.first, small_blocks_.first->next));
  }
  while (headers_.first != nullptr) {
    free_header(std::exchange(headers_.first, headers_.first->next));
  }
}

bool BlockPool::charge(std::size_t bytes) noexcept {
  if (account_->try_charge(category_, bytes)) {
    return true;
  }
  budget_->charge_unconditionally(category_, bytes);
  return false;
}

void BlockPool::refund(bool charged, std::size_t bytes) noexcept {
  if (charged) {
    account_->refund(category_, bytes);
  } else {
    budget_->refund(category_, bytes);
  }
}

Segment* BlockPool::new_block(std::size_t whole) {
  MXKV_ASSERT(whole > sizeof(Segment), "a block has room behind its header");
  void* const memory = ::operator new(whole);
  auto* const block = new (memory) Segment;
  block->begin = block->end = block->data();
  block->limit = static_cast<char*>(memory) + whole;
  block->charged = charge(whole);
  share_.take(whole);
  if (share_.overflows() && overflow_ != nullptr) [[unlikely]] {
    overflow_->overflowed();
  }
  return block;
}

void BlockPool::free_block(Segment* block) noexcept {
  refund(block->charged, block_bytes(*block));
  block->~Segment();
  ::operator delete(block);
}

Segment* BlockPool::new_header() {
  share_.take(kOwnedBytes);
  if (Segment* const segment = headers_.first; segment != nullptr) {
    MXKV_ASSERT(segment->owned && !segment->refers(), "a free header refers to nothing");
    headers_.first = segment->next;
    --headers_.count;
    segment->next = nullptr;
    return segment;
  }
  auto* const segment = new (::operator new(sizeof(Segment))) Segment;
  segment->charged = charge(kOwnedBytes);
  segment->owned = true;
  return segment;
}

void BlockPool::free_header(Segment* segment) noexcept {
  refund(segment->charged, kOwnedBytes);
  segment->~Segment();
  ::operator delete(segment);
}

Segment* BlockPool::take_owned(const char* data, std::size_t bytes, OwnerRef owner) {
  Segment* const segment = new_header();
  point_at(*segment, {data, bytes});
  segment->owner = owner;
  return segment;
}

Segment* BlockPool::take_owned_pieces(std::size_t bytes, OwnerRef owner) {
  MXKV_ASSERT(bytes > 0 && owner.piece != nullptr, "there is a first piece");
  Segment* const segment = new_header();
  segment->owner = owner;
  segment->behind = bytes;
  segment->next_piece = 0;
  next_piece(*segment);
  return segment;
}

Segment* BlockPool::take_slice(Segment& block, char* begin) {
  MXKV_ASSERT(begin >= block.data() && begin <= block.limit, "a slice lies in its block");
  Segment* const slice = take_owned(begin, 0, {});
  slice->limit = block.limit;
  slice->slice_of = &block;
  return slice;
}

void BlockPool::give_header(Segment* segment) noexcept {
  MXKV_ASSERT(segment->owned, "a block is no header");
  if (segment->refers()) {
    segment->owner.release(segment->owner.context, segment->owner.object);
  }
  share_.give(kOwnedBytes);
  if (headers_.count >= kFreeSegments) {
    free_header(segment);
    return;
  }
  segment->owner = {};
  segment->slice_of = nullptr;
  segment->behind = 0;
  segment->next = headers_.first;
  headers_.first = segment;
  ++headers_.count;
}

void BlockPool::give_rest(Segment* segment) noexcept {
  if (segment->owned) {
    give_header(segment);
    return;
  }
  const std::size_t whole = block_bytes(*segment);
  if (whole == kSmallBlockBytes && small_blocks_.count < kFreeSmallBlocks) {
    give_free(small_blocks_, segment, whole);
    return;
  }
  share_.give(whole);
  free_block(segment);
}

}  // namespace mxkv::server

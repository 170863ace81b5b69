#include "server/reply/output_buffer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

void OutputBuffer::link(Segment* segment) noexcept {
  (head_ == nullptr ? head_ : tail_->next) = segment;
  tail_ = segment;
}

void OutputBuffer::make_room(std::size_t most) {
  if (block_ != nullptr && tail_->owned && static_cast<std::size_t>(block_->limit - filled_) >= most) {
    ++block_->users;
    Segment* const slice = pool_->take_slice(*block_, filled_);
    link(slice);
    return;
  }
  block_ = pool_->take_reply_block(most);
  block_->users = 1;
  filled_ = block_->data();
  link(block_);
}

void OutputBuffer::drop_first() noexcept {
  Segment* const first = std::exchange(head_, head_->next);
  Segment* const block = block_of(*first);
  if (first->owned) {
    pool_->give(first);
  }
  if (block != nullptr) {
    leave(block);
  }
}

void OutputBuffer::leave(Segment* block) noexcept {
  MXKV_ASSERT(block->users > 0, "a block stays as long as parts of it");
  if (--block->users == 0) {
    if (block == block_) {
      block_ = nullptr;
    }
    pool_->give(block);
  }
}

void OutputBuffer::append(std::string_view bytes) {
  if (char* const to = room_for(bytes.size()); to != nullptr && !bytes.empty()) [[likely]] {
    std::memcpy(to, bytes.data(), bytes.size());
    commit(to + bytes.size());
    return;
  }
  while (!bytes.empty()) {
    char* const to = reserve(1);
    const std::size_t part = std::min(bytes.size(), tail_->room());
    std::memcpy(to, bytes.data(), part);
    commit(to + part);
    bytes.remove_prefix(part);
  }
}

std::size_t OutputBuffer::gather(std::span<iovec> pieces, std::size_t most) const noexcept {
  std::size_t count = 0;
  const auto add = [&](const char* begin, std::size_t bytes) {
    bytes = std::min(bytes, most);
    if (bytes > 0) {
      pieces[count++] = {const_cast<char*>(begin), bytes};
      most -= bytes;
    }
  };
  for (const Segment* segment = head_; segment != nullptr && count < pieces.size(); segment = segment->next) {
    add(segment->begin, static_cast<std::size_t>(segment->end - segment->begin));
    std::size_t behind = segment->behind;
    for (std::uint32_t i = segment->next_piece; behind > 0 && count < pieces.size(); ++i) {
      const std::string_view piece = segment->owner.piece(segment->owner.object, i);
      add(piece.data(), piece.size());
      behind -= piece.size();
    }
  }
  return count;
}

void OutputBuffer::consume(std::size_t bytes) noexcept {
  MXKV_ASSERT(bytes <= unsent_, "no more was sent than there is");
  unsent_ -= bytes;
  sent_ += bytes;
  while (head_ != nullptr) {
    const std::size_t part = std::min(bytes, head_->unsent());
    head_->consume(part);
    referenced_ -= head_->refers() ? part : 0;
    bytes -= part;
    if (head_->unsent() > 0) {
      return;
    }
    MXKV_ASSERT(head_->next != nullptr || unsent_ == 0, "what is unsent is in the list");
    // An empty last block is dropped, too: an idle connection holds no memory.
    drop_first();
  }
  tail_ = nullptr;
}

// Only if all bytes are in one own block and in slices of others, as with a client that asks for large values
// or for ranges: there it gains the most.
bool OutputBuffer::gains_by_compacting() const noexcept {
  std::size_t bytes = 0;
  bool gains = false;
  for (Segment* segment = head_; segment != nullptr; segment = segment->next) {
    if (Segment* const block = block_of(*segment); block != nullptr) {
      if (block == segment && block != block_) {
        return false;
      }
      bytes += segment->unsent();
      if (bytes > BlockPool::kSmallBlockRoom) {
        return false;  // without a look at the rest of a long output
      }
      gains |= static_cast<std::size_t>(block->limit - block->data()) > BlockPool::kSmallBlockRoom;
    }
  }
  return gains;
}

void OutputBuffer::compact() {
  if (!gains_by_compacting()) {
    return;
  }
  Segment* const old = block_;
  Segment* const snug = pool_->take_snug_block(BlockPool::kSmallBlockRoom);
  char* to = snug->data();
  for (Segment** link = &head_; *link != nullptr; link = &(*link)->next) {
    Segment* const segment = *link;
    Segment* const block = block_of(*segment);
    if (block == nullptr) {
      continue;
    }
    Segment* const moved = segment == old ? snug : segment;
    char* const begin = to;
    to = std::copy(segment->begin, static_cast<const char*>(segment->end), to);
    moved->begin = begin;
    moved->end = to;
    moved->limit = snug->limit;
    ++snug->users;
    if (segment == old) {
      snug->next = old->next;
      *link = snug;
      tail_ = tail_ == old ? snug : tail_;
    } else {
      moved->slice_of = snug;
    }
    leave(block);
  }
  MXKV_ASSERT(to <= snug->limit, "the bytes fit where they were moved");
  MXKV_ASSERT(block_ == nullptr, "the last block goes with its last part");
  block_ = snug;
  filled_ = to;
}

void OutputBuffer::clear() noexcept {
  while (head_ != nullptr) {
    drop_first();
  }
  MXKV_ASSERT(block_ == nullptr, "the last block goes with its last part");
  tail_ = nullptr;
  unsent_ = 0;
  referenced_ = 0;
}

}  // namespace mxkv::server

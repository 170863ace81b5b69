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
  block_ = pool_->take_block(most);
  block_->users = 1;
  filled_ = block_->data();
  link(block_);
}

void OutputBuffer::drop_first() noexcept {
  Segment* const first = std::exchange(head_, head_->next);
  Segment* const block = first->owned ? first->slice_of : first;
  if (first->owned) {
    pool_->give(first);
  }
  if (block != nullptr && --block->users == 0) {
    if (block == block_) {
      block_ = nullptr;
    }
    pool_->give(block);
  }
}

void OutputBuffer::append(std::string_view bytes) {
  while (!bytes.empty()) {
    char* const to = reserve(1);
    const std::size_t part = std::min(bytes.size(), tail_->room());
    std::memcpy(to, bytes.data(), part);
    commit(to + part);
    bytes.remove_prefix(part);
  }
}

std::size_t OutputBuffer::gather(std::span<iovec> pieces) const noexcept {
  std::size_t count = 0;
  for (const Segment* segment = head_; segment != nullptr && count < pieces.size(); segment = segment->next) {
    if (segment->unsent() > 0) {
      pieces[count++] = {const_cast<char*>(segment->begin), segment->unsent()};
    }
  }
  return count;
}

void OutputBuffer::consume(std::size_t bytes) noexcept {
  MXKV_ASSERT(bytes <= unsent_, "no more was sent than there is");
  unsent_ -= bytes;
  while (head_ != nullptr) {
    const std::size_t part = std::min(bytes, head_->unsent());
    head_->begin += part;
    bytes -= part;
    if (head_->unsent() > 0) {
      return;
    }
    // An empty last block goes, too: an idle connection holds no memory.
    drop_first();
  }
  tail_ = nullptr;
}

void OutputBuffer::clear() noexcept {
  while (head_ != nullptr) {
    drop_first();
  }
  tail_ = nullptr;
  unsent_ = 0;
}

}  // namespace mxkv::server

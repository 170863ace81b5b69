// Bytes of one connection that were read and not yet used: the beginning of a line, or requests that a paused
// session has not taken yet. Most connections hold no bytes, and then no memory.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/reply/block_pool.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only.
class InputBuffer {
 public:
  explicit InputBuffer(BlockPool& pool) noexcept : pool_(&pool) {}
  ~InputBuffer() { clear(); }
  InputBuffer(const InputBuffer&) = delete;
  InputBuffer& operator=(const InputBuffer&) = delete;

  [[nodiscard]] bool empty() const noexcept { return block_ == nullptr; }
  [[nodiscard]] std::string_view view() const noexcept {
    return empty() ? std::string_view{} : std::string_view{block_->begin, block_->unsent()};
  }

  /// Adds bytes at the end. May move the held bytes, so earlier views become invalid.
  void append(const char* data, std::size_t bytes) {
    if (bytes == 0) {
      return;
    }
    if (block_ == nullptr) {
      block_ = pool_->take_snug_block(bytes);
    } else if (block_->room() < bytes) {
      grow(bytes);
    }
    MXKV_ASSERT(block_->room() >= bytes, "what is held fits its block");
    std::memcpy(block_->end, data, bytes);
    block_->end += bytes;
  }

  /// Memory that append() of so many bytes would take, without subtracting the memory that it gives back.
  [[nodiscard]] std::size_t needs(std::size_t bytes) const noexcept {
    if (bytes == 0 || (block_ != nullptr && (block_->room() >= bytes || moves_down(bytes)))) {
      return 0;
    }
    const std::size_t room = block_ == nullptr ? bytes : grown(bytes);
    return room <= BlockPool::kSmallBlockRoom ? BlockPool::kSmallBlockBytes
                                              : std::max(BlockPool::kBlockBytes, room + sizeof(Segment));
  }

  /// Drops the first `bytes`.
  void consume(std::size_t bytes) noexcept {
    if (bytes == 0) {
      return;
    }
    MXKV_ASSERT(block_ != nullptr && bytes <= block_->unsent(), "no more is used than is held");
    block_->begin += bytes;
    if (block_->unsent() == 0) {
      clear();
    }
  }

  void clear() noexcept {
    if (block_ != nullptr) {
      pool_->give(std::exchange(block_, nullptr));
    }
  }

 private:
  /// Whether there is room enough once the held bytes are moved to the block's begin.
  [[nodiscard]] bool moves_down(std::size_t bytes) const noexcept {
    return block_->unsent() + bytes <= static_cast<std::size_t>(block_->limit - block_->data()) / 2;
  }
  /// Room of the next block. The size doubles each time, so that a long line that arrives in pieces is copied
  /// only a constant number of times.
  [[nodiscard]] std::size_t grown(std::size_t bytes) const noexcept { return 2 * (block_->unsent() + bytes); }
  void grow(std::size_t bytes) {
    const std::size_t held = block_->unsent();
    if (moves_down(bytes)) {
      std::memmove(block_->data(), block_->begin, held);
      block_->begin = block_->data();
      block_->end = block_->data() + held;
      return;
    }
    Segment* const larger = pool_->take_snug_block(grown(bytes));
    std::memcpy(larger->data(), block_->begin, held);
    larger->end += held;
    pool_->give(std::exchange(block_, larger));
  }

  BlockPool* pool_;
  Segment* block_ = nullptr;
};

}  // namespace mxkv::server

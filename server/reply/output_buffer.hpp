// The unsent output of one connection: a list of segments, filled at its end, sent from its front.
//
// Small replies are written straight into the last block. A large value is a segment of its own that refers
// to the item; what follows it goes on in the rest of the block before it, as a slice, so that replies of
// large values do not take a block each. Nothing is ever moved.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <string_view>

#include "server/reply/block_pool.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only.
class OutputBuffer {
 public:
  explicit OutputBuffer(BlockPool& pool) noexcept : pool_(&pool) {}
  ~OutputBuffer() { clear(); }
  OutputBuffer(const OutputBuffer&) = delete;
  OutputBuffer& operator=(const OutputBuffer&) = delete;

  /// Room for `most` bytes in one piece; valid until the next call of any function but commit().
  [[nodiscard]] char* reserve(std::size_t most) {
    if (tail_ == nullptr || tail_->room() < most) [[unlikely]] {
      make_room(most);
    }
    return tail_->end;
  }
  /// As reserve(), with all the room that the block has.
  [[nodiscard]] std::span<char> reserve_all(std::size_t least) {
    char* const begin = reserve(least);
    return {begin, tail_->room()};
  }
  /// The bytes up to `end` of what reserve() gave were filled.
  void commit(char* end) noexcept {
    unsent_ += static_cast<std::size_t>(end - tail_->end);
    tail_->end = filled_ = end;
  }
  void append(std::string_view bytes);
  /// Bytes that stay where they are until they were sent; `owner` is released then.
  void append_owned(const char* data, std::size_t bytes, OwnerRef owner) {
    append_segment(pool_->take_owned(data, bytes, owner));
  }
  /// Takes over an owned segment.
  void append_segment(Segment* segment) noexcept {
    link(segment);
    unsent_ += segment->unsent();
  }

  [[nodiscard]] std::size_t unsent_bytes() const noexcept { return unsent_; }
  /// Fills `pieces` with the first unsent bytes. Returns how many pieces; 0: nothing to send.
  [[nodiscard]] std::size_t gather(std::span<iovec> pieces) const noexcept;
  /// The first `bytes` of what gather() gave were sent.
  void consume(std::size_t bytes) noexcept;
  /// Drops everything.
  void clear() noexcept;

 private:
  void link(Segment* segment) noexcept;
  void make_room(std::size_t most);
  void drop_first() noexcept;

  BlockPool* pool_;
  Segment* head_ = nullptr;
  Segment* tail_ = nullptr;
  Segment* block_ = nullptr;  ///< the last one; `users` counts it and its slices in the list
  char* filled_ = nullptr;    ///< up to where it is
  std::size_t unsent_ = 0;
};

}  // namespace mxkv::server

// The unsent output of one connection: a list of segments, filled at its end, sent from its front.
//
// Small replies are written straight into the last block. A large value is one segment that refers to the
// item, and visits its pieces one after the other. Later output continues in the rest of the block before the
// value, as a slice, so that replies of large values do not take a block each. A long reply that was written
// elsewhere is a slice of its block. Bytes are moved only if a client does not read: compact() puts the rest
// into as little memory as possible.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <string_view>

#include "runtime/base/assert.hpp"
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
  /// The same if the last block has so much room, else null.
  [[nodiscard]] char* room_for(std::size_t most) const noexcept {
    return tail_ != nullptr && tail_->room() >= most ? tail_->end : nullptr;
  }
  /// As reserve(), with all the room of the block.
  [[nodiscard]] std::span<char> reserve_all(std::size_t least) {
    char* const begin = reserve(least);
    return {begin, tail_->room()};
  }
  /// The room from reserve() was filled up to `end`.
  void commit(char* end) noexcept {
    MXKV_DCHECK(end >= tail_->end && end <= tail_->limit, "no more is filled than was reserved");
    unsent_ += static_cast<std::size_t>(end - tail_->end);
    tail_->end = filled_ = end;
  }
  void append(std::string_view bytes);
  /// Appends bytes that stay in place until they are sent; then `owner` is released.
  void append_owned(const char* data, std::size_t bytes, OwnerRef owner) {
    append_segment(pool_->take_owned(data, bytes, owner));
  }
  /// The same for all pieces of `owner`, which have `bytes` together, more than 0.
  void append_pieces(std::size_t bytes, OwnerRef owner) {
    append_segment(pool_->take_owned_pieces(bytes, owner));
  }
  /// Takes over an owned segment.
  void append_segment(Segment* segment) noexcept {
    MXKV_ASSERT(segment->owned && segment->next == nullptr, "a segment is in one list");
    link(segment);
    unsent_ += segment->unsent();
    referenced_ += segment->unsent();
  }

  /// Appends bytes in another user's block, and takes over one of its users.
  void append_slice(Segment& block, char* begin, std::size_t bytes) {
    Segment* const slice = pool_->take_slice(block, begin);
    slice->end = slice->limit = begin + bytes;
    link(slice);
    unsent_ += bytes;
  }

  [[nodiscard]] std::size_t unsent_bytes() const noexcept { return unsent_; }
  /// Unsent bytes that are not in the buffer's blocks.
  [[nodiscard]] std::size_t referenced_bytes() const noexcept { return referenced_; }
  /// Bytes sent so far; wraps around.
  [[nodiscard]] std::size_t sent_bytes() const noexcept { return sent_; }
  /// Bytes written so far, without dropped ones; wraps around.
  [[nodiscard]] std::size_t end() const noexcept { return sent_ + unsent_; }
  /// Fills `pieces` with the first unsent bytes, at most `most`. Returns the number of pieces; 0: nothing to
  /// send.
  [[nodiscard]] std::size_t gather(std::span<iovec> pieces,
                                   std::size_t most = ~std::size_t{0}) const noexcept;
  /// Calls visit(std::string_view) for all unsent bytes, in order; none may belong to an owner in pieces.
  /// Another worker may call this while the owner worker does not use the buffer.
  template <class Visit>
  void each_piece(const Visit& visit) const {
    for (const Segment* segment = head_; segment != nullptr; segment = segment->next) {
      MXKV_ASSERT(segment->behind == 0, "what is visited lies in one piece");
      visit(std::string_view{segment->begin, static_cast<std::size_t>(segment->end - segment->begin)});
    }
  }
  /// The first `bytes` from gather() were sent.
  void consume(std::size_t bytes) noexcept;
  /// Drops all output.
  void clear() noexcept;
  /// The client does not read: moves the bytes of a mostly empty block to a small one.
  void compact();

 private:
  void link(Segment* segment) noexcept;
  void make_room(std::size_t most);
  void drop_first() noexcept;
  [[nodiscard]] bool gains_by_compacting() const noexcept;
  void leave(Segment* block) noexcept;
  [[nodiscard]] static Segment* block_of(Segment& segment) noexcept {
    return segment.owned ? segment.slice_of : &segment;
  }

  BlockPool* pool_;
  Segment* head_ = nullptr;
  Segment* tail_ = nullptr;
  Segment* block_ = nullptr;  ///< its own last block; `users` counts it and its slices in the list
  char* filled_ = nullptr;    ///< how far that block is filled
  std::size_t unsent_ = 0;
  std::size_t referenced_ = 0;
  std::size_t sent_ = 0;
};

}  // namespace mxkv::server

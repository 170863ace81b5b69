// The unsent output of one connection: a list of segments, filled at its end, sent from its front.
//
// Small replies are written straight into the last block. A large value is one segment that refers to the
// item, and visits its pieces one after the other. What follows it goes on in the rest of the block before it,
// as a slice, so that replies of large values do not take a block each. A long reply that was written
// elsewhere is a slice of the block that it is in. Nothing is moved but the rest of a client that does not
// read: compact() puts it into as little memory as will hold it.
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
  /// The same if there is so much without further ado, else null.
  [[nodiscard]] char* room_for(std::size_t most) const noexcept {
    return tail_ != nullptr && tail_->room() >= most ? tail_->end : nullptr;
  }
  /// As reserve(), with all the room that the block has.
  [[nodiscard]] std::span<char> reserve_all(std::size_t least) {
    char* const begin = reserve(least);
    return {begin, tail_->room()};
  }
  /// The bytes up to `end` of what reserve() gave were filled.
  void commit(char* end) noexcept {
    MXKV_DCHECK(end >= tail_->end && end <= tail_->limit, "no more is filled than was reserved");
    unsent_ += static_cast<std::size_t>(end - tail_->end);
    tail_->end = filled_ = end;
  }
  void append(std::string_view bytes);
  /// Bytes that stay where they are until they were sent; `owner` is released then.
  void append_owned(const char* data, std::size_t bytes, OwnerRef owner) {
    append_segment(pool_->take_owned(data, bytes, owner));
  }
  /// The same of all pieces of `owner`, of `bytes` together, more than none.
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

  /// Takes over bytes in a block of another, and with them one of its users.
  void append_slice(Segment& block, char* begin, std::size_t bytes) {
    Segment* const slice = pool_->take_slice(block, begin);
    slice->end = slice->limit = begin + bytes;
    link(slice);
    unsent_ += bytes;
  }

  [[nodiscard]] std::size_t unsent_bytes() const noexcept { return unsent_; }
  /// Of the unsent bytes, those that are somewhere else.
  [[nodiscard]] std::size_t referenced_bytes() const noexcept { return referenced_; }
  /// Bytes that were ever sent; wraps around.
  [[nodiscard]] std::size_t sent_bytes() const noexcept { return sent_; }
  /// Bytes that were ever written, but for dropped ones; wraps around.
  [[nodiscard]] std::size_t end() const noexcept { return sent_ + unsent_; }
  /// Fills `pieces` with the first unsent bytes, `most` of them at most. Returns how many pieces; 0: nothing to
  /// send.
  [[nodiscard]] std::size_t gather(std::span<iovec> pieces,
                                   std::size_t most = ~std::size_t{0}) const noexcept;
  /// Calls visit(std::string_view) for all unsent bytes, in order; none may be an owner's in pieces. Also for
  /// others than the owner worker, while that does nothing with it.
  template <class Visit>
  void each_piece(const Visit& visit) const {
    for (const Segment* segment = head_; segment != nullptr; segment = segment->next) {
      MXKV_ASSERT(segment->behind == 0, "what is visited lies in one piece");
      visit(std::string_view{segment->begin, static_cast<std::size_t>(segment->end - segment->begin)});
    }
  }
  /// The first `bytes` of what gather() gave were sent.
  void consume(std::size_t bytes) noexcept;
  /// Drops everything.
  void clear() noexcept;
  /// The client does not take what there is: moves the bytes of a block that is mostly empty to a small one.
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
  Segment* block_ = nullptr;  ///< the last one of its own; `users` counts it and its slices in the list
  char* filled_ = nullptr;    ///< up to where it is
  std::size_t unsent_ = 0;
  std::size_t referenced_ = 0;
  std::size_t sent_ = 0;
};

}  // namespace mxkv::server

// Writes many small pieces of one reply without asking the queue for each. A writer takes all the room of a
// block, and commits the written bytes when the room is used up, or at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/assert.hpp"
#include "server/reply/reply_queue.hpp"

namespace mxkv::server {

/// Between reserve() and flush() no other caller may use the queue. Thread-safety: owner worker only.
class ReplyWriter {
 public:
  ReplyWriter(ReplyQueue* queue, std::uint32_t ticket) noexcept : queue_(queue), ticket_(ticket) {}
  ~ReplyWriter() { flush(); }
  ReplyWriter(const ReplyWriter&) = delete;
  ReplyWriter& operator=(const ReplyWriter&) = delete;

  /// Room for up to `most` (at most ReplyQueue::kMostReserved) bytes; commit() says how many were written.
  [[nodiscard]] char* reserve(std::size_t most) {
    if (static_cast<std::size_t>(limit_ - at_) < most) [[unlikely]] {
      flush();
      const std::span<char> room = queue_->reserve_all(ticket_, most);
      begin_ = at_ = room.data();
      limit_ = begin_ + room.size();
    }
    return at_;
  }
  /// Bytes that reserve() could give without a call.
  [[nodiscard]] std::size_t room() const noexcept { return static_cast<std::size_t>(limit_ - at_); }
  void commit(char* end) noexcept {
    MXKV_DCHECK(end >= at_ && end <= limit_, "no more is filled than was reserved");
    at_ = end;
  }

  /// Commits the written bytes: then the queue may be used.
  void flush() noexcept {
    if (begin_ != nullptr) {
      queue_->commit(ticket_, at_);
      begin_ = at_ = limit_ = nullptr;
    }
  }

 private:
  ReplyQueue* queue_;
  std::uint32_t ticket_;
  char* begin_ = nullptr;  ///< of the room; null: it has none
  char* at_ = nullptr;
  char* limit_ = nullptr;
};

}  // namespace mxkv::server

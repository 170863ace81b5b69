// The replies of one connection: they leave in the order of the requests, whenever they are written.
//
// Each request opens a ticket. The oldest open ticket writes straight into the connection's output. A younger
// one is staged in a block. When its turn comes, in the same batch as a rule, short pieces are copied, and
// long ones stay where they are as slices of the output. Replies come nearly in order, so most never touch the
// staging.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/base/assert.hpp"
#include "server/reply/output_buffer.hpp"
#include "server/reply/sparse_ring.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only. Tickets wrap around; fewer than 2^31 are open at once.
class ReplyQueue {
 public:
  static constexpr std::size_t kMostReserved = std::size_t{64} << 10U;

  explicit ReplyQueue(BlockPool& pool) noexcept : pool_(&pool), output_(pool), staged_(pool) {}
  ~ReplyQueue() { clear(); }
  ReplyQueue(const ReplyQueue&) = delete;
  ReplyQueue& operator=(const ReplyQueue&) = delete;

  /// The ticket of the next reply.
  [[nodiscard]] std::uint32_t open() noexcept {
    const std::uint32_t ticket = next_++;
    next_ += static_cast<std::uint32_t>(next_ == kUnusedTicket);
    return ticket;
  }

  /// Whether the next so many tickets are one number after the other.
  [[nodiscard]] bool opens_in_row(std::size_t tickets) const noexcept {
    return kUnusedTicket - next_ > tickets;
  }
  /// The first of so many tickets in a row.
  [[nodiscard]] std::uint32_t open_row(std::size_t tickets) noexcept {
    MXKV_DCHECK(opens_in_row(tickets), "an unused number is passed over");
    const std::uint32_t first = next_;
    next_ += static_cast<std::uint32_t>(tickets);
    return first;
  }

  /// So many of the last ones were not used after all.
  void take_back(std::size_t tickets) noexcept {
    MXKV_ASSERT(next_ - oldest_ >= tickets, "only open tickets are taken back");
    next_ -= static_cast<std::uint32_t>(tickets);
    next_ -= static_cast<std::uint32_t>(next_ == kUnusedTicket);
  }

  /// Room in one piece for up to `most` (at most kMostReserved) further bytes of an open reply. Valid until
  /// commit() of the same ticket, which must follow before any other call.
  [[nodiscard]] char* reserve(std::uint32_t ticket, std::size_t most) {
    MXKV_DCHECK(most <= kMostReserved, "long replies are written in parts");
    return ticket == oldest_ ? output_.reserve(most) : stage(ticket, most);
  }
  /// As reserve(), with all the room of the piece, which is `least` at least.
  [[nodiscard]] std::span<char> reserve_all(std::uint32_t ticket, std::size_t least) {
    MXKV_DCHECK(least <= kMostReserved, "long replies are written in parts");
    if (ticket == oldest_) {
      return output_.reserve_all(least);
    }
    char* const begin = stage(ticket, least);
    return {begin, stage_block_->room()};
  }
  /// The reply's bytes up to `end` are written. May follow with further reserve() and commit().
  void commit(std::uint32_t ticket, char* end) noexcept {
    if (ticket == oldest_) [[likely]] {
      output_.commit(end);
    } else {
      commit_staged(ticket, end);
    }
  }
  /// reserve() for a whole reply in the usual case: the ticket is the oldest, no other is staged, and the output
  /// has so much room. Else null. Only close_next() may follow.
  [[nodiscard]] char* reserve_next(std::uint32_t ticket, std::size_t most) const noexcept {
    return ticket == oldest_ && staged_.empty() ? output_.room_for(most) : nullptr;
  }
  /// commit() and close() of it.
  void close_next(char* end) noexcept {
    MXKV_DCHECK(oldest_ != next_ && staged_.empty(), "the reply of an open ticket has room");
    output_.commit(end);
    if (++oldest_ == kUnusedTicket) [[unlikely]] {
      ++oldest_;
    }
  }
  /// commit() and close() in one, of what one reserve() was enough for.
  void close_whole(std::uint32_t ticket, char* end) {
    if (ticket == oldest_) {
      output_.commit(end);
      close(ticket);
    } else {
      commit_staged(ticket, end).closed = true;
    }
  }
  /// What precedes the bytes of close_row() in their block.
  static constexpr std::size_t kBeforeRow = 32;
  /// The replies of so many tickets in a row were written elsewhere: `bytes` from `begin` on, in a block that they
  /// have for themselves, of the same pool. Takes it over. None of these tickets was written to before.
  void close_row(std::uint32_t first, std::uint32_t tickets, Segment& block, char* begin, std::size_t bytes);
  /// Copies bytes of any length into the reply.
  void append(std::uint32_t ticket, std::string_view bytes);
  /// Sends bytes from where they are; `owner` is released when they were sent, or never will be.
  void append_owned(std::uint32_t ticket, const char* data, std::size_t bytes, OwnerRef owner);
  /// The same of all pieces of `owner`, of `bytes` together, more than none.
  void append_pieces(std::uint32_t ticket, std::size_t bytes, OwnerRef owner);
  /// The reply is complete.
  void close(std::uint32_t ticket) {
    MXKV_ASSERT(oldest_ != next_, "only an open reply is closed");
    if (ticket == oldest_) [[likely]] {
      advance();
      if (staged_.find(oldest_, oldest_) != nullptr) [[unlikely]] {
        follow_up();
      }
    } else {
      entry(ticket).closed = true;
    }
  }

  /// What open() would return.
  [[nodiscard]] std::uint32_t next_ticket() const noexcept { return next_; }
  /// Whether the reply of a ticket, and all before it, have gone to the output.
  [[nodiscard]] bool is_past(std::uint32_t ticket) const noexcept {
    return static_cast<std::int32_t>(oldest_ - ticket) > 0;
  }
  /// Whether all before a ticket that is open have gone to the output.
  [[nodiscard]] bool is_oldest(std::uint32_t ticket) const noexcept { return ticket == oldest_; }
  /// Whether all tickets are closed.
  [[nodiscard]] bool all_closed() const noexcept { return oldest_ == next_; }
  /// Bytes that wait to be sent, staged ones included.
  [[nodiscard]] std::size_t unsent_bytes() const noexcept { return output_.unsent_bytes() + staged_bytes_; }
  /// Of these, those that are somewhere else: large values.
  [[nodiscard]] std::size_t referenced_bytes() const noexcept {
    return output_.referenced_bytes() + staged_referenced_;
  }
  [[nodiscard]] std::size_t copied_bytes() const noexcept { return unsent_bytes() - referenced_bytes(); }
  /// Bytes that were ever written, and replies that were completed with all before them; both wrap around.
  [[nodiscard]] std::size_t written_bytes() const noexcept { return output_.sent_bytes() + unsent_bytes(); }
  [[nodiscard]] std::uint32_t completed() const noexcept { return oldest_; }
  /// What may be sent now.
  [[nodiscard]] OutputBuffer& output() noexcept { return output_; }
  /// Drops all replies, open ones too.
  void clear() noexcept;

 private:
  static constexpr std::uint32_t kUnusedTicket = ~std::uint32_t{0};  // ReplyAddress::kNoTicket

  /// A staged part of a reply; its bytes, or its owned segment, follow.
  struct Piece {
    Piece* next;
    Segment* block;
    Segment* owned;  ///< a value by reference, else null
    std::size_t bytes;
    [[nodiscard]] char* data() noexcept { return reinterpret_cast<char*>(this + 1); }
  };
  static_assert(sizeof(Piece) == kBeforeRow);
  struct Staged {
    Piece* last = nullptr;  ///< its `next` is the first
    bool started = false;
    bool closed = false;
    std::uint32_t more = 0;  ///< tickets behind it that are closed, and whose bytes are among its own
    friend bool operator==(const Staged& a, const Staged& b) noexcept { return a.started == b.started; }
  };

  void advance(std::uint32_t tickets = 1) noexcept {
    oldest_ += tickets;
    oldest_ += static_cast<std::uint32_t>(oldest_ == kUnusedTicket);
  }
  [[nodiscard]] Staged& entry(std::uint32_t ticket);
  [[nodiscard]] Piece* add_piece(std::uint32_t ticket, std::size_t room);
  [[nodiscard]] char* stage(std::uint32_t ticket, std::size_t most);
  Staged& commit_staged(std::uint32_t ticket, char* end) noexcept;
  void follow_up();
  void hand_over(Piece& piece);
  void release(Piece* piece) noexcept;
  void uncount(const Piece& piece) noexcept;
  void leave_stage_block() noexcept;
  void stage_owned(std::uint32_t ticket, Segment* segment);

  BlockPool* pool_;
  std::uint32_t oldest_ = 0;  ///< open, or next_ if none is
  std::uint32_t next_ = 0;
  OutputBuffer output_;
  SparseRing<Staged> staged_;       ///< tickets younger than the oldest that were written or closed
  Segment* stage_block_ = nullptr;  ///< where pieces are added
  std::size_t staged_bytes_ = 0;
  std::size_t staged_referenced_ = 0;  ///< of these
};

}  // namespace mxkv::server

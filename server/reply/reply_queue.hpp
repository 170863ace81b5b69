// The replies of one connection. They may be written in any order, but leave in the order of the requests.
//
// Each request opens a ticket. The oldest open ticket writes straight into the connection's output. A younger
// one is staged in a block. When its turn comes, usually in the same batch, short pieces are copied to the
// output, and long ones become slices of it. Most replies come in order, and are never staged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/base/assert.hpp"
#include "runtime/base/paths.hpp"
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

  /// Whether the next `tickets` tickets have consecutive numbers.
  [[nodiscard]] bool opens_in_row(std::size_t tickets) const noexcept {
    return kUnusedTicket - next_ > tickets;
  }
  /// The first of `tickets` tickets with consecutive numbers.
  [[nodiscard]] std::uint32_t open_row(std::size_t tickets) noexcept {
    MXKV_DCHECK(opens_in_row(tickets), "an unused number is passed over");
    const std::uint32_t first = next_;
    next_ += static_cast<std::uint32_t>(tickets);
    return first;
  }

  /// Takes back the last `tickets` tickets, which were not used.
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
  /// As reserve(), with all the room of the piece, at least `least`.
  [[nodiscard]] std::span<char> reserve_all(std::uint32_t ticket, std::size_t least) {
    MXKV_DCHECK(least <= kMostReserved, "long replies are written in parts");
    if (ticket == oldest_) {
      return output_.reserve_all(least);
    }
    char* const begin = stage(ticket, least);
    return {begin, stage_block_->room()};
  }
  /// The reply is written up to `end`. More reserve() and commit() may follow.
  void commit(std::uint32_t ticket, char* end) noexcept {
    if (ticket == oldest_) [[likely]] {
      output_.commit(end);
    } else {
      commit_staged(ticket, end);
    }
  }
  /// reserve() for a whole reply in the usual case: the ticket is the oldest, no other is staged, and the
  /// output has room. Else null. Only close_next() may follow.
  [[nodiscard]] char* reserve_next(std::uint32_t ticket, std::size_t most) const noexcept {
    return ticket == oldest_ && staged_.empty() ? output_.room_for(most) : nullptr;
  }
  /// commit() and close() after reserve_next().
  void close_next(char* end) noexcept {
    MXKV_DCHECK(oldest_ != next_ && staged_.empty(), "the reply of an open ticket has room");
    output_.commit(end);
    if (++oldest_ == kUnusedTicket) [[unlikely]] {
      ++oldest_;
    }
  }
  /// commit() and close() for `tickets` consecutive tickets, whose replies have the room of one reserve_all() for the
  /// first of them.
  void close_row(std::uint32_t first, std::uint32_t tickets, char* end) {
    MXKV_DCHECK(tickets > 0 && next_ - first >= tickets, "a row has open tickets");
    if (first != oldest_) {
      MXKV_PATH(row_early);
      Staged& row = commit_staged(first, end);
      row.closed = true;
      row.more = tickets - 1;
      return;
    }
    MXKV_PATH(row_next);
    output_.commit(end);
    advance(tickets);
    if (staged_.find(oldest_, oldest_) != nullptr) [[unlikely]] {
      follow_up();
    }
  }
  /// commit() and close() in one, for a reply that one reserve() had room for.
  void close_whole(std::uint32_t ticket, char* end) {
    if (ticket == oldest_) {
      output_.commit(end);
      close(ticket);
    } else {
      commit_staged(ticket, end).closed = true;
    }
  }
  /// Copies bytes of any length into the reply.
  void append(std::uint32_t ticket, std::string_view bytes);
  /// Sends bytes from their place; `owner` is released when they were sent, or dropped.
  void append_owned(std::uint32_t ticket, const char* data, std::size_t bytes, OwnerRef owner);
  /// The same for all pieces of `owner`, which have `bytes` together, more than 0.
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

  /// The ticket that open() would return.
  [[nodiscard]] std::uint32_t next_ticket() const noexcept { return next_; }
  /// Whether the reply of a ticket, and all before it, have gone to the output.
  [[nodiscard]] bool is_past(std::uint32_t ticket) const noexcept {
    return static_cast<std::int32_t>(oldest_ - ticket) > 0;
  }
  /// Whether all replies before an open ticket have gone to the output.
  [[nodiscard]] bool is_oldest(std::uint32_t ticket) const noexcept { return ticket == oldest_; }
  /// Whether all tickets are closed.
  [[nodiscard]] bool all_closed() const noexcept { return oldest_ == next_; }
  /// Unsent bytes, with staged ones.
  [[nodiscard]] std::size_t unsent_bytes() const noexcept { return output_.unsent_bytes() + staged_bytes_; }
  /// Unsent bytes of large values, which are sent from their items.
  [[nodiscard]] std::size_t referenced_bytes() const noexcept {
    return output_.referenced_bytes() + staged_referenced_;
  }
  [[nodiscard]] std::size_t copied_bytes() const noexcept { return unsent_bytes() - referenced_bytes(); }
  /// Bytes written so far, and replies completed together with all before them; both wrap around.
  [[nodiscard]] std::size_t written_bytes() const noexcept { return output_.sent_bytes() + unsent_bytes(); }
  [[nodiscard]] std::uint32_t completed() const noexcept { return oldest_; }
  /// The output that may be sent now.
  [[nodiscard]] OutputBuffer& output() noexcept { return output_; }
  /// Drops all replies, also of open tickets.
  void clear() noexcept;

 private:
  static constexpr std::uint32_t kUnusedTicket = ~std::uint32_t{0};  // ReplyAddress::kNoTicket

  /// A staged part of a reply; its bytes follow, or it has an owned segment.
  struct Piece {
    Piece* next;
    Segment* block;
    Segment* owned;  ///< a value by reference, or null
    std::size_t bytes;
    [[nodiscard]] char* data() noexcept { return reinterpret_cast<char*>(this + 1); }
  };
  struct Staged {
    Piece* last = nullptr;  ///< the last piece, whose `next` is the first
    bool started = false;
    bool closed = false;
    std::uint32_t more = 0;  ///< closed tickets behind it whose bytes are in its pieces
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
  std::uint32_t oldest_ = 0;  ///< open, or next_ if no ticket is
  std::uint32_t next_ = 0;
  OutputBuffer output_;
  SparseRing<Staged> staged_;       ///< tickets younger than the oldest that were written or closed
  Segment* stage_block_ = nullptr;  ///< pieces are added to it
  std::size_t staged_bytes_ = 0;
  std::size_t staged_referenced_ = 0;  ///< of staged_bytes_
};

}  // namespace mxkv::server

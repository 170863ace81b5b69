#include "server/reply/reply_queue.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "runtime/base/paths.hpp"

namespace mxkv::server {

namespace {
constexpr std::size_t kStagedPart = 4096;
/// Longer pieces become slices: a header is cheaper than a copy, and short pieces should not keep a block.
constexpr std::size_t kHandedOver = 2048;
constexpr std::size_t round_up(std::size_t bytes, std::size_t to) noexcept {
  return (bytes + to - 1) / to * to;
}
}  // namespace

ReplyQueue::Staged& ReplyQueue::entry(std::uint32_t ticket) {
  MXKV_ASSERT(!is_past(ticket) && ticket != next_, "a reply is written before it is closed");
  if (Staged* const found = staged_.find(ticket, oldest_)) {
    return *found;
  }
  return staged_.put(ticket, oldest_, Staged{nullptr, true, false, 0});
}

// The pieces of all tickets share blocks. `users` counts the pieces in a block, plus one while pieces are
// added to it.
ReplyQueue::Piece* ReplyQueue::add_piece(std::uint32_t ticket, std::size_t room) {
  Staged& reply = entry(ticket);
  const std::size_t whole = sizeof(Piece) + room;
  if (stage_block_ == nullptr || stage_block_->room() < whole) {
    leave_stage_block();
    stage_block_ = pool_->take_reply_block(whole);
    stage_block_->users = 1;
  }
  ++stage_block_->users;
  auto* const piece = new (stage_block_->end) Piece{nullptr, stage_block_, nullptr, 0};
  stage_block_->end += sizeof(Piece);
  if (reply.last == nullptr) {
    piece->next = piece;
  } else {
    piece->next = std::exchange(reply.last->next, piece);
  }
  reply.last = piece;
  return piece;
}

char* ReplyQueue::stage(std::uint32_t ticket, std::size_t most) {
  return add_piece(ticket, most)->data();
}

ReplyQueue::Staged& ReplyQueue::commit_staged(std::uint32_t ticket, char* end) noexcept {
  Staged* const reply = staged_.find(ticket, oldest_);
  MXKV_ASSERT(reply != nullptr && reply->last != nullptr, "what is committed was reserved");
  Piece& piece = *reply->last;
  MXKV_ASSERT(end >= piece.data() && end <= piece.block->limit, "no more is filled than was reserved");
  piece.bytes = static_cast<std::size_t>(end - piece.data());
  staged_bytes_ += piece.bytes;
  const std::size_t used = round_up(piece.bytes, alignof(Piece));
  stage_block_->end += std::min(used, stage_block_->room());
  return *reply;
}

void ReplyQueue::append(std::uint32_t ticket, std::string_view bytes) {
  if (ticket == oldest_) {
    output_.append(bytes);
    return;
  }
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kStagedPart);
    char* const to = reserve(ticket, part.size());
    std::memcpy(to, part.data(), part.size());
    commit(ticket, to + part.size());
    bytes.remove_prefix(part.size());
  }
}

void ReplyQueue::append_owned(std::uint32_t ticket, const char* data, std::size_t bytes, OwnerRef owner) {
  if (ticket == oldest_) {
    output_.append_owned(data, bytes, owner);
    return;
  }
  stage_owned(ticket, pool_->take_owned(data, bytes, owner));
}

void ReplyQueue::append_pieces(std::uint32_t ticket, std::size_t bytes, OwnerRef owner) {
  if (ticket == oldest_) {
    output_.append_pieces(bytes, owner);
  } else {
    stage_owned(ticket, pool_->take_owned_pieces(bytes, owner));
  }
}

void ReplyQueue::stage_owned(std::uint32_t ticket, Segment* segment) {
  Piece* const piece = add_piece(ticket, 0);
  piece->owned = segment;
  piece->bytes = segment->unsent();
  staged_bytes_ += piece->bytes;
  staged_referenced_ += piece->bytes;
}

void ReplyQueue::uncount(const Piece& piece) noexcept {
  MXKV_ASSERT(piece.block->users > 0 && piece.bytes <= staged_bytes_, "a piece is released once");
  staged_bytes_ -= piece.bytes;
  staged_referenced_ -= piece.owned != nullptr ? piece.bytes : 0;
}

void ReplyQueue::release(Piece* piece) noexcept {
  uncount(*piece);
  Segment* const block = piece->block;
  if (--block->users == 0) {
    pool_->give(block);
  }
}

// Moves a piece to the output: by a copy, or as a slice of its block.
void ReplyQueue::hand_over(Piece& piece) {
  if (piece.owned == nullptr && piece.bytes >= kHandedOver) {
    output_.append_slice(*piece.block, piece.data(), piece.bytes);
    uncount(piece);
    return;
  }
  if (piece.owned != nullptr) {
    output_.append_segment(piece.owned);
  } else {
    output_.append({piece.data(), piece.bytes});
  }
  release(&piece);
}

// If slices of the block are in the output, it is freed with them.
void ReplyQueue::leave_stage_block() noexcept {
  if (Segment* const block = std::exchange(stage_block_, nullptr); block != nullptr && --block->users == 0) {
    pool_->give(block);
  }
}

// The oldest ticket has moved on: moves its staged pieces to the output, and the pieces of complete replies
// behind it.
// output.
void ReplyQueue::follow_up() {
  while (oldest_ != next_) {
    if (staged_.find(oldest_, oldest_) == nullptr) {
      return;
    }
    const Staged reply = staged_.take(oldest_);
    Piece* next = reply.last == nullptr ? nullptr : std::exchange(reply.last->next, nullptr);
    while (next != nullptr) {
      Piece* const piece = std::exchange(next, next->next);
      hand_over(*piece);
    }
    if (staged_.empty()) {
      leave_stage_block();
    }
    if (!reply.closed) {
      return;  // the reply continues in the output itself
    }
    advance(1 + reply.more);
  }
}

void ReplyQueue::clear() noexcept {
  for (; oldest_ != next_ && !staged_.empty(); advance()) {
    if (staged_.find(oldest_, oldest_) == nullptr) {
      continue;
    }
    const Staged reply = staged_.take(oldest_);
    Piece* next = reply.last == nullptr ? nullptr : std::exchange(reply.last->next, nullptr);
    while (next != nullptr) {
      Piece* const piece = std::exchange(next, next->next);
      if (piece->owned != nullptr) {
        pool_->give(piece->owned);
      }
      release(piece);
    }
  }
  leave_stage_block();
  MXKV_ASSERT(staged_bytes_ == 0 && staged_.empty(), "nothing is staged for no reply");
  oldest_ = next_;
  output_.clear();
}

}  // namespace mxkv::server

// All connections of one worker as the store sees them: replies, and the end of operations, by address.
//
// A connection's entry outlives its socket until the last of its operations ended: their replies are dropped,
// but they still run, and its writes still commit in order. So an address stays good as long as it is used.
//
// What the store does with an address, on the home worker only:
//   reads, ranges    [reply: find(), reserve .. commit, close], then finished(address)
//   writes           before anything takes effect: if (!commit_turn(address, seq)) { await_commit(..);
//                    return step::parked; } and the task is spawned again when its turn comes; once it has
//                    come it stays until finished_write(address, seq), which every write ends with, also one
//                    without effect (such a one may end before its turn).
//
// Where replies grow far beyond the pool's share, whatever estimates said before, the connection that has
// most of them is silenced: what it has is dropped, what is to come is not written, and its owner closes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/base/assert.hpp"
#include "server/reply/block_pool.hpp"
#include "server/reply/commit_order.hpp"
#include "server/reply/reply_address.hpp"
#include "server/reply/reply_queue.hpp"
#include "server/reply/request_order.hpp"

namespace mxkv::server {

/// One connection. Its owner is the session; the store has it by address.
struct ConnectionState {
  ConnectionState(BlockPool& output, FenceTablePool& tables) noexcept
      : replies(output), fence(tables), commits(output) {}

  ReplyQueue replies;
  RequestOrder fence;
  CommitOrder commits;
  void* session = nullptr;                ///< null: closed
  ConnectionState* next_dirty = nullptr;  ///< list of those that a reply was written to
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  std::uint32_t ended = 0;      ///< operations that ever ended; wraps around
  bool dirty = false;           ///< in the list
  bool wants_resume = false;    ///< the session has requests that wait for operations to end
  bool resuming = false;        ///< inside the resume hook
  bool resume_again = false;    ///< an operation ended inside the resume hook
  bool deaf = true;             ///< closed or silenced: no replies are written
  bool stuck = false;           ///< the client does not take what there is
  bool silenced = false;        ///< its replies had to go; to be closed
  std::uint32_t resume_at = 0;  ///< resume when so few are in flight, whatever ended
};

/// How the directory reaches those above it.
struct DirectoryHooks {
  void* spawner = nullptr;
  void (*spawn)(void* spawner, runtime::MxTask* task) = nullptr;  ///< a parked task's turn has come
  void (*resume)(void* session) = nullptr;                        ///< waiting requests may start
};

/// Thread-safety: owner worker only.
class ConnectionTable {
 public:
  ConnectionTable(std::uint16_t worker, BlockPool& output) noexcept : output_(&output), worker_(worker) {
    output.set_overflow(
        this, [](void* directory) noexcept { static_cast<ConnectionTable*>(directory)->silence(); });
  }
  ConnectionTable(const ConnectionTable&) = delete;
  ConnectionTable& operator=(const ConnectionTable&) = delete;

  // --- For the store ---

  /// Where to write the reply; null if nobody waits for one: noreply, or the connection is closed.
  [[nodiscard]] ReplyQueue* find(const ReplyAddress& address) noexcept {
    ConnectionState& entry = *entries_[address.connection];
    MXKV_DCHECK(entry.generation == address.generation, "an entry outlives its operations");
    if (drops_) [[unlikely]] {
      drop_silenced();  // here no reply is being written
    }
    if (!address.wants_reply() || entry.deaf) [[unlikely]] {
      return nullptr;
    }
    mark_dirty(entry);
    return &entry.replies;
  }
  /// Writes a whole short reply and closes it.
  void reply(const ReplyAddress& address, std::string_view text);
  /// An operation that is not a write ended: its reply is closed, its pin left.
  void finished(const ReplyAddress& address) {
    ended(*entries_[address.connection], FenceClaim{address.fence});
  }
  /// The same for a write, in place of finished().
  void finished_write(const ReplyAddress& address, CommitSeq seq);
  /// Whether a write may take effect now.
  [[nodiscard]] bool commit_turn(const ReplyAddress& address, CommitSeq seq) const noexcept {
    return entries_[address.connection]->commits.is_turn(seq);
  }
  /// Keeps the task of a write whose turn has not come, and spawns it when it has.
  void await_commit(const ReplyAddress& address, CommitSeq seq, runtime::MxTask* task) {
    entries_[address.connection]->commits.park(seq, task);
  }
  /// Calls f(task) for each write of this connection that waits for its turn.
  template <class F>
  void for_each_awaiting(const ReplyAddress& address, const F& f) {
    entries_[address.connection]->commits.for_each_parked(f);
  }

  // --- For sessions ---

  /// Start-up only.
  void set_hooks(DirectoryHooks hooks) noexcept { hooks_ = hooks; }

  /// A new connection.
  [[nodiscard]] ConnectionState& open(void* session);
  /// Drops the unsent replies and those to come. The entry is gone when its last operation ended.
  void close(ConnectionState& entry) noexcept;
  /// The address of the next request, without a ticket and a claim.
  [[nodiscard]] ReplyAddress address(const ConnectionState& entry) const noexcept {
    return {entry.index, entry.generation, ReplyAddress::kNoTicket, worker_, 0};
  }
  void mark_dirty(ConnectionState& entry) noexcept {
    if (!entry.dirty) {
      entry.dirty = true;
      entry.next_dirty = dirty_;
      dirty_ = &entry;
    }
  }
  /// Takes one connection off the list of those that a reply was written to; null: none is left.
  [[nodiscard]] ConnectionState* next_dirty() noexcept;
  /// What replies may take, and take.
  [[nodiscard]] MemoryShare& share() noexcept { return output_->share(); }
  /// Whether a value should wait for the next round, since its worker's share is full. Where nothing else
  /// waits to be sent and all before it have left it need not: so each client that reads gets on, and with it
  /// the share.
  [[nodiscard]] bool waits_for_room(ReplyQueue& queue, std::uint32_t ticket) noexcept {
    return share().is_full() && (!queue.is_oldest(ticket) || queue.output().unsent_bytes() != 0);
  }
  /// Operations on ranges that are in flight: each may write a page of replies.
  [[nodiscard]] std::size_t ranges_in_flight() const noexcept { return ranges_; }
  void began_range() noexcept { ++ranges_; }
  /// Connections with operations in flight, closed ones included.
  [[nodiscard]] std::size_t entries() const noexcept { return entries_.size() - free_.size(); }

 private:
  void ended(ConnectionState& entry, FenceClaim claim) {
    if (claim.noted() && claim.kind() == operation_kind::range) [[unlikely]] {
      --ranges_;
    }
    const bool freed = entry.fence.finish(claim);
    ++entry.ended;
    if (entry.session == nullptr || entry.wants_resume) [[unlikely]] {
      follow_end(entry, freed);
    }
  }
  void follow_end(ConnectionState& entry, bool freed);
  void resume(ConnectionState& entry);
  void recycle(ConnectionState& entry) noexcept;
  void silence() noexcept;
  void drop_silenced() noexcept;

  BlockPool* output_;
  DirectoryHooks hooks_;
  FenceTablePool tables_;
  std::vector<std::unique_ptr<ConnectionState>> entries_;
  std::vector<std::uint32_t> free_;
  ConnectionState* dirty_ = nullptr;
  std::size_t ranges_ = 0;
  std::uint16_t worker_;
  bool drops_ = false;  ///< some entries were silenced and have still their replies
};

}  // namespace mxkv::server

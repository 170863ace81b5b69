// All connections of one worker as the store sees them: replies, and the end of operations, by address.
//
// A connection's entry outlives its socket until the last of its operations ended. Their replies are dropped,
// but they still run, and writes still commit in order. So an address stays good as long as it is used.
//
// What the store does with an address, on the home worker only:
//   reads, ranges    [reply: find(), reserve .. commit, close], then finished(address);
//                    or, where reserve_next() gives room, answer_next(), which does both
//   writes           before anything takes effect: if (!commit_turn(address, seq)) { await_commit(..);
//                    return step::parked; } and the task is spawned again when its turn comes; once it has
//                    come it stays until finished_write(address, seq), which every write ends with, also one
//                    without effect (such a one may end before its turn).
//
// Replies may grow far beyond the pool's share, whatever estimates said before. Then the connection that has
// most of them is silenced: its replies are dropped, later ones are not written, and its owner closes it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/assert.hpp"
#include "server/reply/block_pool.hpp"
#include "server/reply/commit_order.hpp"
#include "server/reply/reply_address.hpp"
#include "server/reply/reply_queue.hpp"
#include "server/reply/request_order.hpp"

namespace mxkv::server {

/// What a connection belongs to. Thread-safety: owner worker only.
class ConnectionOwner {
 public:
  ConnectionOwner() = default;
  ConnectionOwner(const ConnectionOwner&) = delete;
  ConnectionOwner& operator=(const ConnectionOwner&) = delete;

  /// Operations ended that its requests wait for. Only while ConnectionState::wants_resume.
  virtual void resume() = 0;
  /// Who it is, for what people read; empty: not known.
  [[nodiscard]] virtual std::string client_name() const { return {}; }
  /// Whether its output before `end`, a count of bytes ever written, has left: the server holds none of it back. What
  /// the client does not take has left, too.
  [[nodiscard]] virtual bool has_left(std::size_t /*end*/) const { return true; }
  /// It calls itself so. False: that is no name.
  [[nodiscard]] virtual bool take_name(std::string_view /*name*/) { return true; }
  /// It has said who it is.
  virtual void logged_in(const std::string& /*user*/) {}

 protected:
  ~ConnectionOwner() = default;
};

/// Whether replies to a connection are written.
enum class connection_phase : std::uint8_t {
  closed,    ///< it has no owner
  open,      ///< they are
  silenced,  ///< its replies had to go; it is to be closed
  cut,       ///< a reply of it cannot be given; it is to be closed
};

/// Where a connection's owner is resumed, so that this does not run inside itself.
enum class resume_phase : std::uint8_t {
  outside,
  inside,
  again,  ///< inside, and an operation ended meanwhile
};

/// One connection. Its owner has it by reference; the store has it by address.
struct ConnectionState {
  ConnectionState(BlockPool& output, OrderTablePool& tables) noexcept
      : replies(output), order(tables), commits(output) {}

  ReplyQueue replies;
  RequestOrder order;
  CommitOrder commits;
  ConnectionOwner* owner = nullptr;       ///< null: closed
  ConnectionState* next_dirty = nullptr;  ///< list of connections that a reply was written to
  std::uint32_t index = 0;
  std::uint32_t generation = 0;    ///< how often it was opened
  std::uint32_t ended = 0;         ///< operations that ever ended; wraps around
  std::uint64_t read_bytes = 0;    ///< ever
  std::uint64_t asked_ns = 0;      ///< when the input under way came, by the monotonic clock; 0: not known
  std::atomic<int> descriptor{0};  ///< of the socket, for who watches on other workers; relaxed
  connection_phase phase = connection_phase::closed;
  resume_phase resuming = resume_phase::outside;
  bool dirty = false;           ///< in the list
  bool wants_resume = false;    ///< its requests wait for operations to end
  bool stuck = false;           ///< the client does not take what there is
  bool by_peer = false;         ///< another node of the cluster: what it asks is never sent on
  bool takes_stale = false;     ///< reads may be answered by a replica, a little later than they were true
  bool awaits_disk = false;     ///< what was written since its last turn to send may tell what is not on disk
  std::uint32_t resume_at = 0;  ///< resume when so few are in flight, whatever ended
};

/// The socket of an address, for who watches; 0: of none. Any thread: it may be the next connection's by now.
[[nodiscard]] inline int descriptor_of(const ReplyAddress& address) noexcept {
  return address.connection == nullptr ? 0 : address.connection->descriptor.load(std::memory_order_relaxed);
}

/// Where tasks go whose turn to commit has come. Thread-safety: owner worker only.
class TaskSpawner {
 public:
  TaskSpawner() = default;
  TaskSpawner(const TaskSpawner&) = delete;
  TaskSpawner& operator=(const TaskSpawner&) = delete;

  virtual void spawn(runtime::MxTask* task) = 0;

 protected:
  ~TaskSpawner() = default;
};

/// Thread-safety: owner worker only.
class ConnectionTable final : private PoolOverflow {
 public:
  ConnectionTable(std::uint16_t worker, BlockPool& output) noexcept : output_(&output), worker_(worker) {
    output.set_overflow(this);
  }
  ConnectionTable(const ConnectionTable&) = delete;
  ConnectionTable& operator=(const ConnectionTable&) = delete;

  // --- For the store ---

  /// Where to write the reply; null if none is wanted: noreply, or the connection is closed.
  [[nodiscard]] ReplyQueue* find(const ReplyAddress& address) noexcept {
    MXKV_DCHECK(address.worker == worker_, "replies are written on the home worker");
    ConnectionState& entry = *address.connection;
    if (drops_) [[unlikely]] {
      drop_silenced();  // here no reply is being written
    }
    if (!address.wants_reply() || entry.phase != connection_phase::open) [[unlikely]] {
      return nullptr;
    }
    mark_dirty(entry);
    return &entry.replies;
  }
  /// Room for the whole reply in the usual case: the connection is open, the reply the next to leave, and the
  /// last block has room, so that no memory is asked for. Else null, and nothing happened. Only answer_next()
  /// may follow.
  [[nodiscard, gnu::always_inline]] char* reserve_next(const ReplyAddress& address,
                                                       std::size_t most) noexcept {
    ConnectionState& entry = *address.connection;
    return entry.phase == connection_phase::open ? entry.replies.reserve_next(address.ticket, most) : nullptr;
  }
  /// The reply is complete up to `end`, and an operation that is not a write has ended.
  [[gnu::always_inline]] void answer_next(const ReplyAddress& address, char* end) {
    ConnectionState& entry = *address.connection;
    mark_dirty(entry);
    entry.replies.close_next(end);
    if (OrderClaim{address.claim}.tracked() || entry.wants_resume) [[unlikely]] {
      end_rarer(address);
      return;
    }
    static_cast<void>(entry.order.finish_untracked(OrderClaim{address.claim}.kind()));
    ++entry.ended;
  }
  /// The same for a reply that is not the next, or finds no room there: null, where a value has to wait, or none
  /// is wanted. Only answer_early() may follow.
  [[nodiscard, gnu::noinline]] char* reserve_early(const ReplyAddress& address, std::size_t most);
  [[gnu::noinline]] void answer_early(const ReplyAddress& address, char* end);
  /// A block for replies in a row that another worker writes, with so much room at least; null: the share is to be
  /// spared. answer_row() or give_back() follows.
  [[nodiscard]] Segment* lend_block(std::size_t least) {
    return share().is_short() ? nullptr : output_->take_reply_block(least);
  }
  void give_back(Segment& block) noexcept { output_->give(&block); }
  /// So many reads that started together ended, and their replies are in a block that was lent. See
  /// ReplyQueue::close_row().
  void answer_row(const ReplyAddress& first, std::uint32_t reads, Segment& block, char* begin,
                  std::size_t bytes);
  /// answer_next() of a write.
  [[gnu::always_inline]] void answer_next_write(const ReplyAddress& address, char* end, CommitSeq seq) {
    ConnectionState& entry = *address.connection;
    mark_dirty(entry);
    entry.replies.close_next(end);
    if (OrderClaim{address.claim}.tracked() || entry.wants_resume || !entry.commits.end_alone(seq))
        [[unlikely]] {
      finished_write(address, seq);
      return;
    }
    static_cast<void>(entry.order.finish_untracked(OrderClaim{address.claim}.kind()));
    ++entry.ended;
  }
  /// The reply tells, or will, what may not be on disk yet.
  void await_disk(const ReplyAddress& address) noexcept {
    ConnectionState& entry = *address.connection;
    if (entry.phase == connection_phase::open) {
      entry.awaits_disk = true;
      mark_dirty(entry);
    }
  }
  /// Writes a whole short reply and closes it.
  void reply(const ReplyAddress& address, std::string_view text);
  /// A reply cannot be given, and none in its place would be understood: the connection is to be closed. The
  /// operation ends as others do.
  void cut(const ReplyAddress& address) noexcept {
    ConnectionState& entry = *address.connection;
    if (entry.phase == connection_phase::open) {
      entry.phase = connection_phase::cut;
      mark_dirty(entry);
    }
  }
  /// An operation that is not a write ended: its reply is closed, its pin left.
  void finished(const ReplyAddress& address) {
    ConnectionState& entry = *address.connection;
    if (OrderClaim{address.claim}.tracked() || entry.owner == nullptr || entry.wants_resume) [[unlikely]] {
      end_rarer(address);
      return;
    }
    static_cast<void>(entry.order.finish(OrderClaim{address.claim}));
    ++entry.ended;
  }
  /// The same for a write, in place of finished().
  void finished_write(const ReplyAddress& address, CommitSeq seq);
  /// Whether a write may take effect now.
  [[nodiscard]] bool commit_turn(const ReplyAddress& address, CommitSeq seq) const noexcept {
    return address.connection->commits.is_turn(seq);
  }
  /// Keeps the task of a write whose turn has not come, and spawns it when it has.
  void await_commit(const ReplyAddress& address, CommitSeq seq, runtime::MxTask* task) {
    address.connection->commits.park(seq, task);
  }
  /// Calls f(task) for each write of this connection that waits for its turn.
  template <class F>
  void for_each_awaiting(const ReplyAddress& address, const F& f) {
    address.connection->commits.for_each_parked(f);
  }

  // --- For sessions ---

  /// Start-up only; `spawner` outlives this.
  void set_spawner(TaskSpawner& spawner) noexcept { spawner_ = &spawner; }

  /// A new connection.
  [[nodiscard]] ConnectionState& open(ConnectionOwner& owner);
  /// Drops the unsent replies and those to come. The entry is gone when its last operation ended.
  void close(ConnectionState& entry) noexcept;
  /// The address of the next request, without a ticket and a claim.
  [[nodiscard]] ReplyAddress address(ConnectionState& entry) const noexcept {
    return {&entry, ReplyAddress::kNoTicket, worker_, 0};
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
  /// Whether one is left on that list.
  [[nodiscard]] bool any_dirty() const noexcept { return dirty_ != nullptr; }
  /// What replies may take, and take.
  [[nodiscard]] MemoryShare& share() noexcept { return output_->share(); }
  /// For what is written here and goes to another worker's connection.
  [[nodiscard]] BlockPool& pool() noexcept { return *output_; }
  /// Whether a value should wait for the next round, since its worker's share is full. It need not where it is
  /// the next to be sent and nothing else is unsent: so each client that reads gets on, and with it the share.
  [[nodiscard]] bool waits_for_room(ReplyQueue& queue, std::uint32_t ticket) noexcept {
    return share().is_full() && (!queue.is_oldest(ticket) || queue.output().unsent_bytes() != 0);
  }
  /// Operations on ranges that are in flight: each may write a page of replies.
  [[nodiscard]] std::size_t ranges_in_flight() const noexcept { return ranges_; }
  void began_range() noexcept { ++ranges_; }
  /// Connections with operations in flight, closed ones included.
  [[nodiscard]] std::size_t entries() const noexcept { return entries_.size() - free_.size(); }

 private:
  void ended(ConnectionState& entry, OrderClaim claim) {
    if (claim.tracked() && claim.kind() == operation_kind::range) [[unlikely]] {
      MXKV_ASSERT(ranges_ > 0, "a range ends once");
      --ranges_;
    }
    const bool freed = entry.order.finish(claim);
    ++entry.ended;
    if (entry.owner == nullptr || entry.wants_resume) [[unlikely]] {
      follow_end(entry, freed);
    }
  }
  [[gnu::noinline]] void end_rarer(const ReplyAddress& address);
  void follow_end(ConnectionState& entry, bool freed);
  void resume(ConnectionState& entry);
  void recycle(ConnectionState& entry) noexcept;
  void overflowed() noexcept override;
  void drop_silenced() noexcept;

  BlockPool* output_;
  TaskSpawner* spawner_ = nullptr;
  OrderTablePool tables_;
  std::vector<std::unique_ptr<ConnectionState>> entries_;
  std::vector<std::uint32_t> free_;
  ConnectionState* dirty_ = nullptr;
  std::size_t ranges_ = 0;
  std::uint16_t worker_;
  bool drops_ = false;  ///< some entries were silenced and have still their replies
};

}  // namespace mxkv::server

// All connections of one worker as the store sees them: replies, and the end of operations, by address.
//
// A connection's entry outlives its socket until the last of its operations has ended. The replies of these
// operations are dropped, but they still run, and writes still commit in order. So an address stays valid as
// long as it is used.
//
// Whoever writes a reply says what it has seen (seen.hpp): what may be lost marks the connection, and at the end of the
// round its owner holds the output back until that is on disk.
//
// The store uses an address on the home worker only:
//   reads, ranges    [reply: find(), reserve .. commit, close], then finished(address);
//                    or, if reserve_next() gives room, answer_next(), which does both
//   writes           before any effect: if (!commit_turn(address, seq)) { await_commit(..); return step::parked; }
//                    The task is spawned again when its turn comes. The turn stays until
//                    finished_write(address, seq), with which every write ends, also one without effect (such a
//                    write may end before its turn).
//
// Replies may still grow far beyond the pool's share, if estimates were wrong. Then the connection with the
// most bytes of replies is silenced: its replies are dropped, later ones are not written, and its owner
// closes it. A walk over all connections finds those with the most, and its list serves many blocks. The next walk
// waits until the last one is paid for: by new blocks, and by the connections of its list that were silenced.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/assert.hpp"
#include "server/reply/begun_changes.hpp"
#include "server/reply/block_pool.hpp"
#include "server/reply/commit_order.hpp"
#include "server/reply/connection_life.hpp"
#include "server/reply/reply_address.hpp"
#include "server/reply/reply_queue.hpp"
#include "server/reply/request_order.hpp"
#include "server/reply/seen.hpp"

namespace mxkv::server {

/// The owner of a connection, a session. Thread-safety: owner worker only.
class ConnectionOwner {
 public:
  ConnectionOwner() = default;
  ConnectionOwner(const ConnectionOwner&) = delete;
  ConnectionOwner& operator=(const ConnectionOwner&) = delete;

  /// Operations have ended that its requests wait for. Only while ConnectionState::wants_resume.
  virtual void resume() = 0;
  /// The client's name for operators; empty: unknown.
  [[nodiscard]] virtual std::string client_name() const { return {}; }
  /// Whether the server has released all output before `end`, a count of bytes ever written. Output that only
  /// waits for the client to read it counts as released.
  [[nodiscard]] virtual bool has_left(std::size_t /*end*/) const { return true; }
  /// Sets the client's name. Returns false if the name is invalid.
  [[nodiscard]] virtual bool take_name(std::string_view /*name*/) { return true; }
  /// The client has logged in as `user`.
  virtual void logged_in(const std::string& /*user*/) {}

 protected:
  ~ConnectionOwner() = default;
};

/// Whether a connection's owner is in resume(), which must not recurse.
enum class resume_phase : std::uint8_t {
  outside,
  inside,
  again,  ///< inside, and an operation ended meanwhile
};

/// One connection. Its owner refers to it directly, the store by address.
struct ConnectionState {
  ConnectionState(BlockPool& output, OrderTablePool& tables) noexcept
      : replies(output), order(tables), commits(output) {}

  ReplyQueue replies;
  RequestOrder order;
  CommitOrder commits;
  ConnectionOwner* owner = nullptr;       ///< null: closed
  ConnectionState* next_dirty = nullptr;  ///< list of connections with newly written replies
  std::uint32_t index = 0;
  std::uint32_t generation = 0;    ///< number of times it was opened
  std::uint32_t ended = 0;         ///< operations that have ended so far; wraps around
  std::uint64_t read_bytes = 0;    ///< so far
  std::uint64_t asked_ns = 0;      ///< arrival of the current input, by the monotonic clock; 0: unknown
  std::atomic<int> descriptor{0};  ///< of the socket, for watchers on other workers; relaxed
  ConnectionLife life;
  resume_phase resuming = resume_phase::outside;
  bool dirty = false;           ///< in the list
  bool wants_resume = false;    ///< its requests wait for operations to end
  bool stuck = false;           ///< the client does not read its replies
  bool by_peer = false;         ///< another node of the cluster: its requests are never forwarded
  bool takes_stale = false;     ///< a replica may answer reads, with data that may be a little old
  bool awaits_disk = false;     ///< output since its last turn to send may show data that is not on disk
  std::uint32_t resume_at = 0;  ///< resume when so few operations are in flight, whichever has ended
};

/// The socket of an address, for watchers; 0: none. Any thread: a later connection may already have the
/// entry.
[[nodiscard]] inline int descriptor_of(const ReplyAddress& address) noexcept {
  return address.connection == nullptr ? 0 : address.connection->descriptor.load(std::memory_order_relaxed);
}

/// Spawns tasks whose turn to commit has come. Thread-safety: owner worker only.
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

  /// The queue for the reply; null if none is wanted: noreply, or the connection is closed. A later reply may tell of
  /// the success of a request without one, so that one counts as seen, too.
  [[nodiscard]] ReplyQueue* find(const ReplyAddress& address, Seen seen) noexcept {
    MXKV_DCHECK(address.worker == worker_, "replies are written on the home worker");
    ConnectionState& entry = *address.connection;
    if (seen.must_wait()) [[unlikely]] {
      await_disk(entry);
    }
    if (silenced_ != nullptr) [[unlikely]] {
      drop_silenced();  // safe here, as no reply is being written
    }
    if (!address.wants_reply() || !entry.life.answers()) [[unlikely]] {
      return nullptr;
    }
    mark_dirty(entry);
    return &entry.replies;
  }
  /// Adds to what a reply has seen that is being written: before the task's step ends.
  void show(const ReplyAddress& address, Seen seen) noexcept {
    if (seen.must_wait()) [[unlikely]] {
      await_disk(*address.connection);
    }
  }
  /// Whether a reply is wanted. It gives no room for one.
  [[nodiscard]] static bool is_wanted(const ReplyAddress& address) noexcept {
    return address.wants_reply() && address.connection->life.answers();
  }
  /// Room for the whole reply in the usual case: the connection is open, the reply need not wait for the disk and is
  /// the next to leave, and the last block has room, so nothing is allocated. Else null, and nothing happened. Only
  /// answer_next() may follow.
  [[nodiscard, gnu::always_inline]] char* reserve_next(const ReplyAddress& address, Seen seen,
                                                       std::size_t most) noexcept {
    if (seen.must_wait()) [[unlikely]] {
      return nullptr;
    }
    ConnectionState& entry = *address.connection;
    return entry.life.answers() ? entry.replies.reserve_next(address.ticket, most) : nullptr;
  }
  /// Completes the reply up to `end`, and ends an operation that is not a write.
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
  /// The same for a reply that is not the next, or has no room there. Null: a value has to wait for room, or
  /// no reply is wanted, or it must wait for the disk. Only answer_early() may follow.
  [[nodiscard, gnu::always_inline]] char* reserve_early(const ReplyAddress& address, Seen seen,
                                                        std::size_t most) {
    return seen.must_wait() ? nullptr : early_room(address, most);
  }
  [[gnu::noinline]] void answer_early(const ReplyAddress& address, char* end);
  /// Room for the replies of `first` and of the tickets after it, at least `least` bytes; empty: a value has to wait
  /// for room, or no reply is wanted. close_row() must follow before any other call.
  [[nodiscard]] std::span<char> reserve_row(const ReplyAddress& first, Seen seen, std::size_t least);
  /// The room has the replies of `requests` requests up to `end`, each complete. finished_row() follows for them.
  void close_row(const ReplyAddress& first, std::uint32_t requests, char* end);
  /// finished() for `reads` reads that started together.
  void finished_row(const ReplyAddress& first, std::uint32_t reads);
  /// finished_write() for the first `writes` writes, from `seq` on, of those that started together. It is their turn.
  void finished_row(const ReplyAddress& first, CommitSeq seq, std::uint32_t writes);
  /// answer_next() for a write.
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
  /// Writes a whole short reply and closes it.
  void reply(const ReplyAddress& address, Seen seen, std::string_view text);
  /// A reply is impossible, and the client would misunderstand any other: the connection will be closed. The
  /// operation ends as usual.
  void cut(const ReplyAddress& address) noexcept {
    ConnectionState& entry = *address.connection;
    if (entry.life.answers()) {
      entry.life.cut();
      mark_dirty(entry);
    }
  }
  /// Ends an operation that is not a write: its reply is closed, and it has no pin.
  void finished(const ReplyAddress& address) {
    ConnectionState& entry = *address.connection;
    if (OrderClaim{address.claim}.tracked() || entry.owner == nullptr || entry.wants_resume) [[unlikely]] {
      end_rarer(address);
      return;
    }
    static_cast<void>(entry.order.finish(OrderClaim{address.claim}));
    ++entry.ended;
  }
  /// The same for a write, instead of finished().
  void finished_write(const ReplyAddress& address, CommitSeq seq);
  /// Whether a write may take effect now.
  [[nodiscard]] bool commit_turn(const ReplyAddress& address, CommitSeq seq) const noexcept {
    return address.connection->commits.is_turn(seq);
  }
  /// Parks the task of a write whose turn has not come, and spawns it when it comes.
  void await_commit(const ReplyAddress& address, CommitSeq seq, runtime::MxTask* task) {
    address.connection->commits.park(seq, task);
  }
  /// Calls f(task) for each write of this connection that waits for its turn.
  template <class F>
  void for_each_awaiting(const ReplyAddress& address, const F& f) {
    address.connection->commits.for_each_parked(f);
  }

  // --- For the store of a cluster's node ---

  /// Start-up only; `begun` outlives this: counts the changes of mark_changes().
  void count_changes(BegunChanges& begun) noexcept { begun_ = &begun; }
  /// Begins operations that change this node's data, in the same step that saw that they may. Returns the address
  /// to pass on; `changes`: for so many operations.
  [[nodiscard]] ReplyAddress mark_changes(ReplyAddress address, std::size_t changes = 1) noexcept {
    if (begun_ != nullptr) [[likely]] {
      address.claim = OrderClaim{address.claim}.marked(begun_->begin(changes)).stored();
    }
    return address;
  }
  /// Takes back the last `changes` of them, which did not start.
  void take_back_changes(const ReplyAddress& marked, std::size_t changes) noexcept {
    if (begun_ != nullptr) [[likely]] {
      begun_->end(OrderClaim{marked.claim}.mark(), changes);
    }
  }

  // --- For sessions ---

  /// Start-up only; `spawner` outlives this.
  void set_spawner(TaskSpawner& spawner) noexcept { spawner_ = &spawner; }

  /// A new connection.
  [[nodiscard]] ConnectionState& open(ConnectionOwner& owner);
  /// Drops unsent and later replies. The entry is freed when its last operation has ended.
  void close(ConnectionState& entry) noexcept;
  /// An address for the next request, without ticket and claim.
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
  /// Takes one connection off the list of those with new replies; null: the list is empty.
  [[nodiscard]] ConnectionState* next_dirty() noexcept;
  /// Whether the list is not empty.
  [[nodiscard]] bool any_dirty() const noexcept { return dirty_ != nullptr; }
  /// The share of memory for replies.
  [[nodiscard]] MemoryShare& share() noexcept { return output_->share(); }
  /// For output that is written here for another worker's connection.
  [[nodiscard]] BlockPool& pool() noexcept { return *output_; }
  /// Whether a value should wait for the next round, since its worker's share is full. It need not if no reply is
  /// wanted, or if it is the next to be sent and nothing else is unsent: so every client that reads makes progress,
  /// and the share is freed.
  [[nodiscard]] bool waits_for_room(const ReplyAddress& address) noexcept {
    return share().is_full() && is_wanted(address) &&
           (is_behind(address) || address.connection->replies.output().unsent_bytes() != 0);
  }
  /// Whether a reply is wanted, and replies before it are missing.
  [[nodiscard]] static bool is_behind(const ReplyAddress& address) noexcept {
    return is_wanted(address) && !address.connection->replies.is_oldest(address.ticket);
  }
  /// Range operations in flight: each may write a page of replies.
  [[nodiscard]] std::size_t ranges_in_flight() const noexcept { return ranges_; }
  void began_range() noexcept { ++ranges_; }
  /// How often all connections were looked at for those with the most bytes of replies.
  [[nodiscard]] std::uint64_t walks() const noexcept { return walks_; }
  /// Connections that are open or have operations in flight.
  [[nodiscard]] std::size_t entries() const noexcept { return entries_.size() - free_.size(); }

 private:
  /// Connections that a walk keeps.
  static constexpr std::size_t kMostListed = 64;
  /// Connections that a block pays for: to look at them costs about as much as to fill it.
  static constexpr std::size_t kWalkOfBlock = 64;
  /// A connection that a walk found, and how many bytes of replies it had.
  struct Hoarder {
    std::size_t bytes = 0;
    ConnectionState* entry = nullptr;
  };

  void ended(ConnectionState& entry, OrderClaim claim) {
    if (claim.tracked()) [[unlikely]] {
      if (claim.mark() != 0) {
        begun_->end(claim.mark());
        claim = claim.unmarked();
      }
      if (claim.tracked() && claim.kind() == operation_kind::range) {
        MXKV_ASSERT(ranges_ > 0, "a range ends once");
        --ranges_;
      }
    }
    const bool freed = entry.order.finish(claim);
    ++entry.ended;
    if (entry.owner == nullptr || entry.wants_resume) [[unlikely]] {
      follow_end(entry, freed);
    }
  }
  [[gnu::noinline]] void end_rarer(const ReplyAddress& address);
  [[nodiscard, gnu::noinline]] char* early_room(const ReplyAddress& address, std::size_t most);
  /// A reply of the connection shows, or will show, data that may not be on disk yet.
  [[gnu::noinline, gnu::cold]] void await_disk(ConnectionState& entry) noexcept;
  void follow_end(ConnectionState& entry, bool freed);
  void resume(ConnectionState& entry);
  void recycle(ConnectionState& entry) noexcept;
  void overflowed() noexcept override;
  [[nodiscard]] ConnectionState* next_hoarder() noexcept;
  void list_hoarders() noexcept;
  void drop_silenced() noexcept;

  BlockPool* output_;
  TaskSpawner* spawner_ = nullptr;
  BegunChanges* begun_ = nullptr;  ///< null: no cluster
  OrderTablePool tables_;
  std::vector<std::unique_ptr<ConnectionState>> entries_;
  std::vector<std::uint32_t> free_;
  ConnectionState* dirty_ = nullptr;
  std::size_t ranges_ = 0;
  std::uint16_t worker_;
  ConnectionState* silenced_ = nullptr;          ///< its replies are not freed yet
  std::array<Hoarder, kMostListed> hoarders_{};  ///< of the last walk, the one with the most last
  std::size_t listed_ = 0;                       ///< of these, not yet silenced
  std::size_t unpaid_ = 0;                       ///< connections of the last walk that no block has paid for
  std::uint64_t walks_ = 0;
};

}  // namespace mxkv::server

// The owner of a shard, and which messages of its log count: a pure function of the log.
//
// The log is the lock. The first node that claims the next term owns the shard; each of its messages carries
// the term and a sequence number, and counts only if it is the next one of the newest term. So later messages
// of an ousted owner are void for all readers, wherever they land, and no node has to be asked: all readers
// of the log reach the same verdict on each message. Time has no part in this: shard.hpp decides when to
// claim, and when to serve. But the owner's lease is part of the log: a new owner waits for the lease that
// the former owner stated, not for its own.
#pragma once

#include <algorithm>
#include <cstdint>

#include "server/cluster/message.hpp"

namespace mxkv::server {

/// The effect of a message at its place in the log.
enum class message_effect : std::uint8_t {
  opens,    ///< its node owns the shard from here on
  counts,   ///< the owner's next message: a beat, a group, or a part of one
  yields,   ///< the same, and the last one of its term
  repeats,  ///< the owner's, and was there before
  none,     ///< void: from a node that is not the owner, a claim that came too late, or behind a gap
};

/// Thread-safety: a value.
class ShardState {
 public:
  /// Takes the log's next message. The caller skips messages with a flaw.
  message_effect take(const Message& message) noexcept;

  [[nodiscard]] std::uint64_t term() const noexcept { return term_; }      ///< 0: no node has claimed it yet
  [[nodiscard]] std::uint64_t owner() const noexcept { return owner_; }    ///< 0: none
  [[nodiscard]] std::uint64_t sequence() const noexcept { return next_; }  ///< of the owner's next message
  /// The node that the owner left it to; 0: it has not.
  [[nodiscard]] std::uint64_t left_to() const noexcept { return left_to_; }
  /// The lease that the owner stated last.
  [[nodiscard]] std::uint64_t lease_ns() const noexcept { return lease_ns_; }
  /// The longest lease of earlier owners that may still run, because this owner is not known to serve yet. 0:
  /// none.
  [[nodiscard]] std::uint64_t lease_before_ns() const noexcept { return lease_before_ns_; }
  /// When this much time has passed since the owner's last message that counts, no node serves the shard.
  [[nodiscard]] std::uint64_t longest_lease_ns() const noexcept {
    return std::max(lease_ns_, lease_before_ns_);
  }

  /// No group is incomplete: reading of the log can begin here.
  [[nodiscard]] bool whole() const noexcept { return parts_ == 0; }

  /// The state that was stored, at a place where no group was incomplete.
  [[nodiscard]] static ShardState restored(std::uint64_t term, std::uint64_t owner, std::uint64_t sequence,
                                           std::uint64_t left_to, std::uint64_t lease_ns,
                                           std::uint64_t lease_before_ns) noexcept {
    ShardState state;
    state.term_ = term;
    state.owner_ = owner;
    state.next_ = sequence;
    state.left_to_ = left_to;
    state.lease_ns_ = lease_ns;
    state.lease_before_ns_ = lease_before_ns;
    return state;
  }

  friend bool operator==(const ShardState&, const ShardState&) = default;

 private:
  std::uint64_t term_ = 0;
  std::uint64_t owner_ = 0;
  std::uint64_t next_ = 1;
  std::uint64_t left_to_ = 0;
  std::uint64_t lease_ns_ = 0;
  std::uint64_t lease_before_ns_ = 0;
  std::uint64_t epoch_ = 0;  ///< of the group whose parts are arriving
  std::uint32_t parts_ = 0;  ///< of that group; 0: none is arriving
  std::uint32_t part_ = 0;   ///< the next part
};

}  // namespace mxkv::server

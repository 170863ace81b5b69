// Who owns a shard, and which messages of its log count: a pure function of the log.
//
// The log is the lock. An owner is whoever was the first to claim the next term; each of its messages carries the term
// and a sequence number, and counts only where it is the next one of the newest term. So what an owner that was ousted
// still appends is void for everybody, wherever it lands, and nobody has to be asked: all readers of the log come to
// the same verdict on each message. Time has no part in it: when to claim, and when to serve, is the business of
// shard.hpp. But which lease an owner reads by is part of the log: a node that takes over waits for the lease that the
// owner told, not for one of its own.
#pragma once

#include <algorithm>
#include <cstdint>

#include "server/cluster/message.hpp"

namespace mxkv::server {

/// What a message does at its place in the log.
enum class message_effect : std::uint8_t {
  opens,    ///< its node owns the shard from here on
  counts,   ///< next one of the owner: a beat, a group, or a part of one
  yields,   ///< the same, and the last one of its term
  repeats,  ///< the owner's, and was there before
  none,  ///< of somebody who is not the owner, a claim that came too late, or behind a gap: as if it were not there
};

/// Thread-safety: a value.
class ShardState {
 public:
  /// The next message of the log. What parse_message() found a flaw in is left out.
  message_effect take(const Message& message) noexcept;

  [[nodiscard]] std::uint64_t term() const noexcept { return term_; }      ///< 0: nobody has claimed it yet
  [[nodiscard]] std::uint64_t owner() const noexcept { return owner_; }    ///< 0: nobody
  [[nodiscard]] std::uint64_t sequence() const noexcept { return next_; }  ///< of the owner's next message
  /// Whom the owner left it to; 0: it has not.
  [[nodiscard]] std::uint64_t left_to() const noexcept { return left_to_; }
  /// By which the owner reads, as it told last.
  [[nodiscard]] std::uint64_t lease_ns() const noexcept { return lease_ns_; }
  /// Of owners before this one, the longest lease that may still run: this one is not known to serve yet. 0: none.
  [[nodiscard]] std::uint64_t lease_before_ns() const noexcept { return lease_before_ns_; }
  /// Nobody serves the shard when so much time has passed since the owner's last message that counts.
  [[nodiscard]] std::uint64_t longest_lease_ns() const noexcept {
    return std::max(lease_ns_, lease_before_ns_);
  }

  /// No part of a group is waiting for the next one: a place to take the log up from.
  [[nodiscard]] bool whole() const noexcept { return parts_ == 0; }

  /// One that was whole, as it told of itself.
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
  std::uint64_t epoch_ = 0;  ///< of the group whose parts are coming
  std::uint32_t parts_ = 0;  ///< of that group; 0: none is coming
  std::uint32_t part_ = 0;   ///< the next one of them
};

}  // namespace mxkv::server

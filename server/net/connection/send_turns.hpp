// How much the connections of one worker send in a round.
//
// The kernel copies all that is sent, so a round that sends much is long, and all requests that arrive meanwhile
// wait for its end. Therefore the long outputs of all connections together may send kOfRound bytes a round. A
// connection whose output is left over waits in a queue. Behind the connections with new replies, those in the
// queue go on in their order, kOfTurn bytes each. Short output leaves at once and does not count: a client with
// small requests never waits for others' large replies.
//
// A connection that had no turn since it last had nothing to send is in a queue of its own, which goes first, as
// in FQ-CoDel (RFC 8290, section 4.2): a single reply of up to kOfTurn bytes does not wait for those that stream.
// One turn of kOldEvery is the other queue's, so that new ones never stop it.
//
// Many clients that do not read their replies show why: until their sockets are full, each takes as much as one
// round lets it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

class Connection;

/// Thread-safety: owner worker only.
class SendTurns {
 public:
  static constexpr std::size_t kOfRound = std::size_t{512} << 10U;
  static constexpr std::size_t kOfTurn = std::size_t{128} << 10U;
  static constexpr unsigned kOldEvery = 4;
  static constexpr unsigned kMostTurns = 64;  ///< of a round, so that turns without output end it, too
  /// Output up to this length is short.
  static constexpr std::size_t kShort = std::size_t{16} << 10U;

  /// Called before a round sends anything.
  void begin_round() noexcept { left_ = kOfRound; }
  /// How many bytes a connection with long output may send now; a connection that sends whole TLS records may
  /// exceed this by a part of one.
  [[nodiscard]] std::size_t allowed() const noexcept {
    if (!any_waits()) {
      return left_;
    }
    return serves_ ? std::min(left_, kOfTurn) : 0;
  }
  /// The connection sent so many bytes of long output.
  void sent(std::size_t bytes) noexcept { left_ -= std::min(left_, bytes); }

  /// The connection, which is not in the queue, has output left over.
  void wait(Connection& connection) { (serves_ ? old_ : new_).push_back(&connection); }
  [[nodiscard]] bool any_waits() const noexcept { return !new_.empty() || !old_.empty(); }
  /// Calls go_on(connection) for those in the queue, until the round's bytes are used up. Each has left the queue
  /// when it is called, and may wait again.
  template <class F>
  void serve(const F& go_on) {
    MXKV_ASSERT(!serves_, "a turn to send has no turns within it");
    serves_ = true;
    for (unsigned served = 0; any_waits() && left_ > 0 && served < kMostTurns; ++served) {
      const bool takes_old = new_.empty() || (!old_.empty() && turns_ % kOldEvery == 0);
      std::deque<Connection*>& queue = takes_old ? old_ : new_;
      Connection& next = *queue.front();
      queue.pop_front();
      ++turns_;
      go_on(next);
    }
    serves_ = false;
  }
  /// Calls leave(connection) for all in the queues, and empties them.
  template <class F>
  void clear(const F& leave) {
    for (std::deque<Connection*>* const queue : {&new_, &old_}) {
      for (Connection* const connection : *queue) {
        leave(*connection);
      }
      queue->clear();
    }
  }

 private:
  std::deque<Connection*> new_;  ///< had no turn yet
  std::deque<Connection*> old_;
  std::size_t left_ = kOfRound;
  unsigned turns_ = 0;  ///< wraps around
  bool serves_ = false;
};

}  // namespace mxkv::server

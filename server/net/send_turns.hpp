// How much the connections of one worker send in a round.
//
// The kernel copies all that is sent, so a round that sends much is long, and all requests that arrive meanwhile
// wait for its end. Therefore the long outputs of all connections together may send kOfRound bytes a round. A
// connection whose output is left over waits in a queue. Behind the connections with new replies, those in the
// queue go on in their order, kOfTurn bytes each. Short output leaves at once and does not count: a client with
// small requests never waits for others' large replies.
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
  /// Output up to this length is short.
  static constexpr std::size_t kShort = std::size_t{16} << 10U;

  /// Called before a round sends anything.
  void begin_round() noexcept { left_ = kOfRound; }
  /// How many bytes a connection with long output may send now; a connection that sends whole TLS records may
  /// exceed this by a part of one.
  [[nodiscard]] std::size_t allowed() const noexcept {
    if (queue_.empty()) {
      return left_;
    }
    return serves_queue_ ? std::min(left_, kOfTurn) : 0;
  }
  /// The connection sent so many bytes of long output.
  void sent(std::size_t bytes) noexcept { left_ -= std::min(left_, bytes); }

  /// The connection, which is not in the queue, has output left over.
  void wait(Connection& connection) { queue_.push_back(&connection); }
  [[nodiscard]] bool any_waits() const noexcept { return !queue_.empty(); }
  /// Calls go_on(connection) for those in the queue, until the round's bytes are used up. Each has left the queue
  /// when it is called, and may wait again.
  template <class F>
  void serve(const F& go_on) {
    MXKV_ASSERT(!serves_queue_, "a turn to send has no turns within it");
    serves_queue_ = true;
    while (!queue_.empty() && left_ > 0) {
      Connection& next = *queue_.front();
      queue_.pop_front();
      go_on(next);
    }
    serves_queue_ = false;
  }
  /// Calls leave(connection) for all in the queue, and empties it.
  template <class F>
  void clear(const F& leave) {
    for (Connection* const connection : queue_) {
      leave(*connection);
    }
    queue_.clear();
  }

 private:
  std::deque<Connection*> queue_;
  std::size_t left_ = kOfRound;
  bool serves_queue_ = false;
};

}  // namespace mxkv::server

// The life of one connection: one word with named states, and a function for each transition.
//
//   closed --> serving <--> leaving           to another worker, as soon as the connection rests
//              serving <--> greeting          the TLS handshake is under way
//              serving, leaving --> draining  the daemon ends
//   serving, leaving, draining --> silenced, cut
//   any but closed --> closed                 also when another worker takes the connection over
//
// What a session reads next is a state of its own (server/net/session/session_state.hpp).
#pragma once

#include <cstdint>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

/// Each has a bit of its own, so that a question about several of them is one test.
enum class life_stage : std::uint8_t {
  closed = 1,     ///< it has no owner here
  greeting = 2,   ///< nothing is read for the session before the handshake has ended
  serving = 4,    ///< requests are read until the client leaves
  leaving = 8,    ///< it goes to another worker as soon as it rests
  draining = 16,  ///< the daemon ends: requests that have arrived are answered
  silenced = 32,  ///< its replies were dropped for lack of memory; it will be closed
  cut = 64,       ///< a reply is impossible; it will be closed
};

[[nodiscard]] constexpr unsigned bit_of(life_stage stage) noexcept {
  return static_cast<unsigned>(stage);
}

/// Each transition asserts the stage before it. Thread-safety: owner worker only.
class ConnectionLife {
 public:
  [[nodiscard]] life_stage current() const noexcept { return stage_; }
  [[nodiscard]] bool is(life_stage stage) const noexcept { return stage_ == stage; }
  /// Whether replies are written.
  [[nodiscard]] bool answers() const noexcept { return is_any_of(kAnswering); }

  void begin() noexcept { move(bit_of(life_stage::closed), life_stage::serving); }
  /// The client has to finish a handshake first.
  void greet() noexcept { move(bit_of(life_stage::serving), life_stage::greeting); }
  void end_greeting() noexcept { move(bit_of(life_stage::greeting), life_stage::serving); }
  void leave() noexcept { move(bit_of(life_stage::serving), life_stage::leaving); }
  /// It does not leave after all.
  void stay() noexcept { move(bit_of(life_stage::leaving), life_stage::serving); }
  void drain() noexcept {
    move(bit_of(life_stage::serving) | bit_of(life_stage::leaving), life_stage::draining);
  }
  void silence() noexcept { move(kAnswering, life_stage::silenced); }
  void cut() noexcept { move(kAnswering, life_stage::cut); }
  void end() noexcept {
    MXKV_ASSERT(stage_ != life_stage::closed, "a connection is closed once");
    stage_ = life_stage::closed;
  }

 private:
  static constexpr unsigned kAnswering =
      bit_of(life_stage::serving) | bit_of(life_stage::leaving) | bit_of(life_stage::draining);

  [[nodiscard]] bool is_any_of(unsigned stages) const noexcept { return (bit_of(stage_) & stages) != 0; }
  void move(unsigned from, life_stage to) noexcept {
    MXKV_ASSERT(is_any_of(from), "a connection leaves a stage that it is in");
    stage_ = to;
  }

  life_stage stage_ = life_stage::closed;
};

}  // namespace mxkv::server

// The state of a session: what it reads next, or sends. One word with named states, and a function for each
// transition.
//
//   new         opening
//   reading     line  keys  value  value_end  swallowing  batch  login  credentials  binary  binary_login
//   streaming   dump  report  watch
//   draining    draining  refused: nothing more is taken; requests that started are still answered
//
// Blocks (values, and blocks that are swallowed) are read after a line, after a line of a batch, or before
// login. The state to return to, `home`, is kept beside the state: line, batch, login, or one of the binary
// protocol. The first bytes of a connection decide which protocol its client speaks.
#pragma once

#include <cstdint>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

enum class session_state : std::uint8_t {
  opening,       ///< the client has not said anything yet
  line,          ///< the next line is a request
  keys,          ///< in a line of many keys
  value,         ///< a value is being received
  value_end,     ///< the end of line behind a value
  swallowing,    ///< a block that is dropped
  batch,         ///< the next line belongs to a batch
  login,         ///< the client has to log in
  credentials,   ///< the block with user and password
  binary,        ///< the next request is one of the binary protocol
  binary_login,  ///< the same, but the client has to log in
  dump,          ///< a dump is being sent page by page
  report,        ///< a reply to an administration command is being sent page by page
  watch,         ///< lines for a watcher are sent
  draining,      ///< the client left, or ended the session
  refused,       ///< the client got an error: no memory for its input
};

/// Each transition asserts the state before it. Thread-safety: owner worker only.
class SessionState {
 public:
  [[nodiscard]] session_state current() const noexcept { return state_; }
  [[nodiscard]] bool is(session_state state) const noexcept { return state_ == state; }
  /// Whether requests, or parts of them, are still taken.
  [[nodiscard]] bool takes_input() const noexcept {
    return state_ != session_state::draining && state_ != session_state::refused;
  }
  /// Whether the client has still to log in. True also in the middle of a block.
  [[nodiscard]] bool before_login() const noexcept {
    return home_ == session_state::login || home_ == session_state::binary_login;
  }
  /// Whether the client speaks the binary protocol.
  [[nodiscard]] bool speaks_binary() const noexcept {
    return home_ == session_state::binary || home_ == session_state::binary_login;
  }
  /// Whether the next request may be of any kind and has not begun.
  [[nodiscard]] bool between_requests() const noexcept {
    return state_ == session_state::line || state_ == session_state::binary;
  }
  /// Whether it goes on without further input: with the keys of a line, or with pages of a reply.
  [[nodiscard]] bool takes_without_input() const noexcept {
    return state_ == session_state::keys || state_ == session_state::dump || state_ == session_state::report;
  }
  /// Whether the next bytes begin a line of a client that has logged in, if they are text.
  [[nodiscard]] bool expects_line() const noexcept {
    return state_ == session_state::line ||
           (state_ == session_state::opening && home_ == session_state::line);
  }

  /// The session is new, and its client has to log in.
  void require_login() noexcept {
    leave(session_state::opening);
    home_ = session_state::login;
  }
  /// The client speaks the text protocol.
  void begin_text() noexcept {
    leave(session_state::opening);
    state_ = home_;
  }
  void begin_credentials() noexcept { move(session_state::login, session_state::credentials); }
  void admit() noexcept {
    leave(session_state::credentials);
    state_ = home_ = session_state::line;
  }
  void reject() noexcept { move(session_state::credentials, session_state::login); }

  /// The client speaks the binary protocol.
  void begin_binary() noexcept {
    leave(session_state::opening);
    state_ = home_ = before_login() ? session_state::binary_login : session_state::binary;
  }
  void admit_binary() noexcept {
    MXKV_ASSERT(state_ == home_ && speaks_binary(), "between two requests");
    state_ = home_ = session_state::binary;
  }
  void reject_binary() noexcept {
    MXKV_ASSERT(state_ == home_ && speaks_binary(), "between two requests");
    state_ = home_ = session_state::binary_login;
  }

  void begin_keys() noexcept { move(session_state::line, session_state::keys); }
  void end_keys() noexcept { move(session_state::keys, session_state::line); }

  void begin_value() noexcept {
    MXKV_ASSERT(state_ == home_ && !before_login(), "a value follows a line");
    state_ = session_state::value;
  }
  /// All bytes of the value came.
  void fill_value() noexcept { move(session_state::value, session_state::value_end); }
  /// The value and its end of line came.
  void end_value() noexcept {
    MXKV_ASSERT(state_ == session_state::value || state_ == session_state::value_end, "a value ends once");
    state_ = home_;
  }
  /// The rest of a block is to be dropped.
  void begin_swallowing() noexcept {
    MXKV_ASSERT(state_ == home_ || state_ == session_state::value, "a block follows a line, or is a value");
    state_ = session_state::swallowing;
  }
  void end_swallowing() noexcept {
    leave(session_state::swallowing);
    state_ = home_;
  }

  void begin_batch() noexcept {
    leave(session_state::line);
    state_ = home_ = session_state::batch;
  }
  void end_batch() noexcept {
    leave(session_state::batch);
    state_ = home_ = session_state::line;
  }

  void begin_dump() noexcept { move(session_state::line, session_state::dump); }
  void end_dump() noexcept { move(session_state::dump, session_state::line); }
  void begin_report() noexcept {
    MXKV_ASSERT(between_requests(), "a report is the reply to a request");
    state_ = session_state::report;
  }
  void end_report() noexcept {
    leave(session_state::report);
    state_ = home_;
  }
  void begin_watch() noexcept { move(session_state::line, session_state::watch); }

  /// Nothing more is taken.
  void drain() noexcept {
    MXKV_ASSERT(takes_input(), "a session drains once");
    state_ = session_state::draining;
  }
  void refuse() noexcept {
    MXKV_ASSERT(takes_input(), "a session that drains holds no input to be refused");
    state_ = session_state::refused;
  }

 private:
  void leave([[maybe_unused]] session_state from) const noexcept {
    MXKV_ASSERT(state_ == from, "a session leaves the state that it is in");
  }
  void move(session_state from, session_state to) noexcept {
    leave(from);
    state_ = to;
  }

  session_state state_ = session_state::opening;
  session_state home_ = session_state::line;
};

}  // namespace mxkv::server

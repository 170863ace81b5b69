// A connection's session, which can only be changed in steps, and every step is settled.
//
// A step may end the session, pause it, or leave something to send. Code that changes the session therefore has to ask for
// a step. The step puts the connection on its worker's list of connections to look at, and Connection::settle() decides at
// the end of the round what becomes of it. Reading needs no step: everything else sees a const session. So no step can
// forget to look for the end.
#pragma once

#include <optional>
#include <utility>

#include "server/net/session/session.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only.
class SteppedSession {
 public:
  /// `arguments`: see Session's constructors.
  template <class... Arguments>
  explicit SteppedSession(SessionHost& host, Arguments&&... arguments)
      : directory_(host.directory), session_(std::in_place, host, std::forward<Arguments>(arguments)...) {}

  [[nodiscard]] const Session* operator->() const noexcept { return &*session_; }
  [[nodiscard]] const Session& operator*() const noexcept { return *session_; }
  /// To change the session; settle() follows at the end of the round.
  [[nodiscard]] Session& step() noexcept {
    directory_.mark_dirty(session_->entry());
    return *session_;
  }
  /// To change the session where nothing can end: in settle() itself, and while the connection begins or
  /// leaves.
  [[nodiscard]] Session& unsettled() noexcept { return *session_; }
  /// The connection is closed.
  void end() noexcept { session_.reset(); }
  [[nodiscard]] bool ended() const noexcept { return !session_.has_value(); }

 private:
  ConnectionTable& directory_;
  std::optional<Session> session_;
};

}  // namespace mxkv::server

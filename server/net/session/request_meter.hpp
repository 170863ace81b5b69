// How many requests a session may take now: its allowance of this turn, and the rates of its user and its address.
//
// The session checks its rates when it asks how many requests it may take, once a turn. It draws the requests
// and bytes of the turn then, and when the turn ends. A session without room pauses; it gets no error.
#pragma once

#include <cstdint>

#include "server/net/session/request_allowance.hpp"
#include "server/net/session/session_core.hpp"
#include "server/net/users/usage.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only.
class RequestMeter {
 public:
  /// How many requests may be taken now. 0: the session's pauses say why.
  [[nodiscard]] std::uint32_t allowed(SessionCore& core) noexcept {
    const std::uint32_t left = allowance_.left(core.host->turn);
    return left != 0 ? left : renew(core);
  }
  /// Whether a request may be taken. If so, counts it.
  [[nodiscard]] bool may_take(SessionCore& core) noexcept {
    if (allowed(core) == 0) [[unlikely]] {
      return false;
    }
    allowance_.take(1);
    return true;
  }
  [[nodiscard]] RequestAllowance& allowance() noexcept { return allowance_; }
  [[nodiscard]] const RequestAllowance& allowance() const noexcept { return allowance_; }

  /// Sets the usage of its address, or reviews whether there are rates; null: the address is not counted.
  void meter(SessionCore& core, Usage* client) noexcept;
  /// The session's user has changed.
  void review(SessionCore& core) noexcept { meter(core, client_); }
  /// Called after bytes came that the session may not have looked at yet.
  void charge_input(SessionCore& core) {
    if (metered_) [[unlikely]] {
      charge(core);
      if (core.state.takes_input() && !core.pauses.has(pause::rate) && rate_room(core) == 0) {
        wait_for_rate(core);
      }
    }
  }
  /// Whether lines may be pushed to the client now, which count by their bytes. If not, the session waits for its rates.
  [[nodiscard]] bool may_push(SessionCore& core) {
    if (metered_) [[unlikely]] {
      charge(core);
      if (!core.pauses.has(pause::rate) && rate_room(core) == 0) {
        wait_for_rate(core);
      }
    }
    return !core.pauses.has(pause::rate);
  }
  /// The worker has taken the session out of the list of those that wait for their rates. False: there is no
  /// room yet, and the session is in it again.
  [[nodiscard]] bool rate_has_room(SessionCore& core);
  /// Called at the end of a round in which the session got replies.
  void end_round(SessionCore& core) noexcept {
    if (allowance_.promises()) {
      allowance_.keep_promise(core.load(), core.host->directory.share());
    }
    if (metered_) [[unlikely]] {
      charge(core);
    }
  }

 private:
  [[nodiscard]] std::uint32_t renew(SessionCore& core) noexcept;
  /// How many requests the rates allow now.
  [[nodiscard]] std::uint32_t rate_room(const SessionCore& core) const noexcept;
  void wait_for_rate(SessionCore& core);
  void charge(SessionCore& core) noexcept;

  RequestAllowance allowance_;
  bool metered_ = false;            ///< there are rates
  Usage* client_ = nullptr;         ///< of its address
  std::uint64_t charged_read_ = 0;  ///< of all bytes ever read, and written
  std::uint64_t charged_written_ = 0;
};

}  // namespace mxkv::server

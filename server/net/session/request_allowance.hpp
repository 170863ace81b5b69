// How many requests a session may take before it asks for memory again.
//
// An allowance is as large as the room for replies within the unsent bytes that the connection and the worker
// may have. Earlier replies tell how long the next ones are. Within an allowance a request costs one
// comparison. The worker's share of memory gets a promise for all requests that are allowed or in flight.
//
// A connection may have a quarter of the open part of the share. So many connections that do not read divide
// it between themselves, and some always remains for the next one. A connection that owes nothing may always
// take one request.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "config/options.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/session/pauses.hpp"
#include "server/net/session/reply_estimate.hpp"
#include "server/reply/memory_share.hpp"
#include "server/reply/reply_queue.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only.
class RequestAllowance {
 public:
  static constexpr std::size_t kMostWaiting = 64;  ///< requests that wait for their order
  /// To make a text of statistics of so many bytes takes about as long as a request.
  static constexpr std::size_t kBytesOfRequest = 256;

  /// The requests that a connection has under way.
  struct Load {
    std::size_t in_flight;
    std::size_t waiting;  ///< for their order
    [[nodiscard]] std::size_t coming() const noexcept { return in_flight + waiting; }
  };

  /// How many requests of `turn` may be taken before asking again.
  [[nodiscard]] std::uint32_t left(std::uint64_t turn) noexcept {
    if (turn_ != turn) {
      turn_ = turn;
      before_ += taken_;
      taken_ = granted_ = extra_ = 0;
    }
    MXKV_DCHECK(taken_ <= granted_, "no more is taken than was granted");
    return granted_ - taken_;
  }
  /// Counts requests of the turn that was passed to left().
  void take(std::uint32_t requests) noexcept {
    taken_ += requests;
    MXKV_ASSERT(taken_ <= granted_, "no more is taken than was granted");
  }
  /// The last request counted was not whole: counts it back.
  void put_back() noexcept {
    MXKV_ASSERT(taken_ > 0, "only what was taken is put back");
    --taken_;
  }

  /// Grants the next requests, or says why there are none: returns the reasons of kOfAllowance that now hold.
  /// `before`: the reasons that held so far. `most`: an additional limit.
  [[nodiscard]] Pauses renew(const config::LimitOptions& limits, const ReplyQueue& replies, Load load,
                             MemoryShare& share, Pauses before,
                             std::uint32_t most = ~std::uint32_t{0}) noexcept;
  /// Promises memory for the requests under way, and for no others.
  void keep_promise(Load load, MemoryShare& share) noexcept;
  /// The connection has no more replies.
  void end(MemoryShare& share) noexcept {
    share.break_promise(promised_);
    promised_ = 0;
  }

  /// The last request made a text of `bytes`: uses up as much of the turn as so many more requests.
  void spend(std::size_t bytes) noexcept {
    extra_ += static_cast<std::uint32_t>(std::min<std::size_t>(bytes / kBytesOfRequest, kMostExtra));
    granted_ = taken_;  // the next one asks again
  }

  /// Requests taken in this turn since the last call.
  [[nodiscard]] std::uint32_t take_uncharged() noexcept {
    const std::uint32_t count = taken_ - std::min(charged_, taken_);
    charged_ = taken_;
    return count;
  }
  /// Called when the count of the turn may have begun anew: keeps the charged count within it.
  void begin_charging() noexcept { charged_ = std::min(charged_, taken_); }

  /// Requests ever taken, including refused ones and those that start no operation. Wraps around.
  [[nodiscard]] std::uint32_t taken() const noexcept { return before_ + taken_; }
  [[nodiscard]] bool promises() const noexcept { return promised_ != 0; }
  /// A session with too many requests in flight resumes when only so many are left.
  [[nodiscard]] std::uint32_t resume_at() const noexcept { return resume_at_; }

 private:
  static constexpr std::size_t kMostExtra = std::size_t{1} << 20U;  ///< more than any turn has

  [[nodiscard]] std::size_t memory_of(std::size_t requests) const noexcept;

  std::uint64_t turn_ = ~std::uint64_t{0};
  std::uint32_t before_ = 0;   ///< taken in the turns before
  std::uint32_t taken_ = 0;    ///< in this turn, including those taken
  std::uint32_t granted_ = 0;  ///< of this turn, those taken included
  std::uint32_t extra_ = 0;    ///< in this turn, for long texts
  std::uint32_t resume_at_ = 0;
  std::uint32_t charged_ = 0;  ///< requests already charged; only for sessions with rates
  ReplyEstimate estimate_;
  std::size_t promised_ = 0;  ///< bytes of the worker's share
};

}  // namespace mxkv::server

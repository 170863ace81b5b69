// How many requests a session may take before it asks for memory again.
//
// An allowance is as large as the room for replies in what the connection and the worker may leave unsent;
// earlier replies tell how long the next ones are. Within an allowance a request costs one comparison. What
// is allowed or in flight is promised to the worker's share of memory.
//
// A connection may have a quarter of what is open of the share. So many that do not read divide it between
// themselves, and some is always left for the next one. One that owes nothing may always take one request.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "config/options.hpp"
#include "runtime/base/assert.hpp"
#include "server/net/pauses.hpp"
#include "server/net/reply_estimate.hpp"
#include "server/reply/memory_share.hpp"
#include "server/reply/reply_queue.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only.
class RequestAllowance {
 public:
  static constexpr std::size_t kMostWaiting = 64;  ///< requests that wait for their order
  /// A text of statistics of so many bytes takes about as long to make as a request.
  static constexpr std::size_t kBytesOfRequest = 256;

  /// What a connection has under way.
  struct Load {
    std::size_t in_flight;
    std::size_t waiting;  ///< for their order
    [[nodiscard]] std::size_t coming() const noexcept { return in_flight + waiting; }
  };

  /// How many requests of `turn` may be taken without asking again.
  [[nodiscard]] std::uint32_t left(std::uint64_t turn) noexcept {
    if (turn_ != turn) {
      turn_ = turn;
      before_ += taken_;
      taken_ = granted_ = extra_ = 0;
    }
    MXKV_DCHECK(taken_ <= granted_, "no more is taken than was granted");
    return granted_ - taken_;
  }
  /// Counts requests of the turn that left() was asked for.
  void take(std::uint32_t requests) noexcept {
    taken_ += requests;
    MXKV_ASSERT(taken_ <= granted_, "no more is taken than was granted");
  }
  /// What was counted last was not a whole request.
  void put_back() noexcept {
    MXKV_ASSERT(taken_ > 0, "only what was taken is put back");
    --taken_;
  }

  /// Grants the next requests, or says why there are none: returns the new reasons of kOfAllowance, of which
  /// `before` hold so far. `most`: what else allows.
  [[nodiscard]] Pauses renew(const config::LimitOptions& limits, const ReplyQueue& replies, Load load,
                             MemoryShare& share, Pauses before,
                             std::uint32_t most = ~std::uint32_t{0}) noexcept;
  /// Promises what is under way, and nothing for requests that were granted and not taken.
  void keep_promise(Load load, MemoryShare& share) noexcept;
  /// The connection has no replies any more.
  void end(MemoryShare& share) noexcept {
    share.break_promise(promised_);
    promised_ = 0;
  }

  /// The request that was taken last made a text of `bytes`: it uses up as much of the turn as so many more requests.
  void spend(std::size_t bytes) noexcept {
    extra_ += static_cast<std::uint32_t>(std::min<std::size_t>(bytes / kBytesOfRequest, kMostExtra));
    granted_ = taken_;  // the next one asks again
  }

  /// Requests that were taken since the last call, in this turn.
  [[nodiscard]] std::uint32_t take_uncharged() noexcept {
    const std::uint32_t count = taken_ - std::min(charged_, taken_);
    charged_ = taken_;
    return count;
  }
  /// No request of this turn was charged.
  void begin_charging() noexcept { charged_ = std::min(charged_, taken_); }

  /// Requests that were ever taken, those that start no operation and those that are refused, too. Wraps around.
  [[nodiscard]] std::uint32_t taken() const noexcept { return before_ + taken_; }
  [[nodiscard]] bool promises() const noexcept { return promised_ != 0; }
  /// A session that has too much in flight goes on when so few are.
  [[nodiscard]] std::uint32_t resume_at() const noexcept { return resume_at_; }

 private:
  static constexpr std::size_t kMostExtra = std::size_t{1} << 20U;  ///< more than any turn has

  [[nodiscard]] std::size_t memory_of(std::size_t requests) const noexcept;

  std::uint64_t turn_ = ~std::uint64_t{0};
  std::uint32_t before_ = 0;   ///< taken in the turns before
  std::uint32_t taken_ = 0;    ///< in this turn
  std::uint32_t granted_ = 0;  ///< of this turn, those taken included
  std::uint32_t extra_ = 0;    ///< of this turn, for long texts
  std::uint32_t resume_at_ = 0;
  std::uint32_t charged_ = 0;  ///< of those taken; only of a session with rates
  ReplyEstimate estimate_;
  std::size_t promised_ = 0;  ///< bytes of the worker's share
};

}  // namespace mxkv::server

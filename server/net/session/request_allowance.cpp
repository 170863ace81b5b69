#include "server/net/session/request_allowance.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

std::size_t RequestAllowance::memory_of(std::size_t requests) const noexcept {
  return requests * estimate_.memory() + (requests > 1 ? BlockPool::kBlockBytes : 0);
}

Pauses RequestAllowance::renew(const config::LimitOptions& limits, const ReplyQueue& replies, Load load,
                               MemoryShare& share, Pauses before, std::uint32_t most) noexcept {
  MXKV_ASSERT(taken_ >= granted_, "an allowance is renewed when it is used up");
  estimate_.update(replies.completed(), replies.written_bytes());
  keep_promise(load, share);
  const std::size_t unsent = replies.unsent_bytes();
  const std::size_t part = share.open() / 4;
  const std::size_t most_unsent = std::min<std::size_t>(limits.output_high_water, part);
  // Once a limit was reached, half of it must be free again, so that the pause does not begin and end with
  // each request.
  const auto below = [before](pause reason, std::size_t value, std::size_t limit) {
    return value < (before.has(reason) ? (limit + 1) / 2 : limit);
  };
  resume_at_ = limits.pipeline / 2;
  const std::uint32_t used = taken_ + extra_;
  if (used >= limits.requests_per_turn) {
    return pause::turn;
  }
  if (load.waiting >= kMostWaiting || !below(pause::in_flight, load.in_flight, limits.pipeline)) {
    return pause::in_flight;
  }
  if (unsent != 0 && !below(pause::output, unsent, most_unsent)) {
    return pause::output;
  }
  const std::size_t room = estimate_.known()
                               ? (most_unsent - std::min(most_unsent, unsent)) / estimate_.bytes()
                               : part / estimate_.memory();
  if (room + 1 <= load.in_flight) {
    resume_at_ = static_cast<std::uint32_t>(std::min<std::size_t>(resume_at_, room));
    return pause::in_flight;
  }
  const std::size_t allowed =
      std::min({std::size_t{most}, std::size_t{limits.requests_per_turn} - used,
                std::size_t{limits.pipeline} - load.in_flight, room + 1 - load.in_flight});
  MXKV_ASSERT(allowed > 0, "an allowance is for one request at least");
  granted_ = taken_ + static_cast<std::uint32_t>(allowed);
  const std::size_t promise = memory_of(allowed);
  promised_ += promise;
  share.promise(promise);
  return {};
}

void RequestAllowance::keep_promise(Load load, MemoryShare& share) noexcept {
  share.break_promise(promised_);
  promised_ = memory_of(load.coming());
  share.promise(promised_);
  granted_ = taken_;
}

}  // namespace mxkv::server

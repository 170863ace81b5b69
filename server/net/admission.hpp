// Which connections may begin what takes much memory and lasts as long as their clients please: large values, handshakes.
//
// Each kind has a room. A connection that finds it full waits. Clients that begin and send nothing more would otherwise
// keep everyone out, so a holder that stalls loses its place as soon as another connection waits for it: the worker says
// which ones stall (Connection::stalls).
//
// Small ones go first, by powers of two. Among those of a size the order is that of arrival, until one has waited for
// kCrowdedNs: then the last goes first. A burst that is longer than the room can serve in that time would make everyone
// wait; so it keeps clients that come later out no longer than one place takes to become free.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

class ConnectionOwner;

/// One room of one worker. Thread-safety: owner worker only.
class Admission {
 public:
  static constexpr std::uint64_t kCrowdedNs = 100'000'000;
  /// A holder stalls that nothing came from for so long: more than a lost packet costs, which TCP sends again after 200 ms.
  static constexpr std::uint64_t kStallsNs = 250'000'000;
  /// A value stalls, too, that came more slowly on the whole.
  static constexpr std::uint64_t kNsOfByte = 15'000;
  /// How often the worker looks for holders that stall, while connections wait.
  static constexpr std::uint64_t kLookEveryNs = 25'000'000;

  struct Waiter {
    ConnectionOwner* owner;
    std::uint64_t bytes;
    std::uint64_t since_ns;
  };

  /// Whether there is room for so many bytes more. One alone may have more than all.
  [[nodiscard]] bool admits(std::uint64_t bytes, std::uint64_t room) const noexcept {
    return held_ == 0 || held_ + bytes <= room;
  }
  void take(ConnectionOwner& owner, std::uint64_t bytes) {
    held_ += bytes;
    holders_.emplace_back(&owner, bytes);
  }
  [[nodiscard]] bool holds(const ConnectionOwner& owner) const noexcept {
    return std::ranges::find(holders_, &owner, &std::pair<ConnectionOwner*, std::uint64_t>::first) !=
           holders_.end();
  }
  /// Gives back what the owner took, if anything.
  void give(const ConnectionOwner& owner) noexcept {
    const auto at = std::ranges::find(holders_, &owner, &std::pair<ConnectionOwner*, std::uint64_t>::first);
    if (at != holders_.end()) {
      MXKV_ASSERT(at->second <= held_, "the room counts what its holders took");
      held_ -= at->second;
      *at = holders_.back();
      holders_.pop_back();
      changed_ = true;
    }
  }

  /// The owner waits; one that does already keeps its place.
  void wait(ConnectionOwner& owner, std::uint64_t bytes, std::uint64_t now_ns) {
    if (std::ranges::find(waiters_, &owner, &Waiter::owner) == waiters_.end()) {
      waiters_.push_back({&owner, bytes, now_ns});
      changed_ = true;
    }
  }
  /// The owner waits no more, if it did.
  void forget(const ConnectionOwner& owner) noexcept {
    std::erase_if(waiters_, [&owner](const Waiter& one) { return one.owner == &owner; });
  }
  /// The one that goes first of those that wait; none: nobody does.
  [[nodiscard]] std::optional<Waiter> next(std::uint64_t now_ns) const noexcept {
    std::optional<Waiter> first;
    for (const Waiter& one : waiters_) {  // in the order in which they came
      const std::uint64_t size = std::bit_floor(one.bytes);
      const std::uint64_t least = first ? std::bit_floor(first->bytes) : ~std::uint64_t{0};
      if (size < least || (size == least && now_ns - waiters_.front().since_ns > kCrowdedNs)) {
        first = one;
      }
    }
    return first;
  }

  /// Whether it is worth a look at those that wait: there is more room, another one waits, or time has passed.
  [[nodiscard]] bool due(std::uint64_t now_ns) noexcept {
    if (waiters_.empty() || (!changed_ && now_ns < next_look_ns_)) {
      return false;
    }
    changed_ = false;
    next_look_ns_ = now_ns + kLookEveryNs;
    return true;
  }
  [[nodiscard]] std::size_t waiting() const noexcept { return waiters_.size(); }
  [[nodiscard]] std::uint64_t held() const noexcept { return held_; }
  /// Calls f(owner) for each that holds some of the room.
  template <class F>
  void for_each_holder(const F& f) const {
    for (const auto& [owner, bytes] : holders_) {
      f(*owner);
    }
  }

 private:
  std::uint64_t held_ = 0;
  std::vector<std::pair<ConnectionOwner*, std::uint64_t>> holders_;
  std::vector<Waiter> waiters_;
  std::uint64_t next_look_ns_ = 0;
  bool changed_ = false;
};

}  // namespace mxkv::server

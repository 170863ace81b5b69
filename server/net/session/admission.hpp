// Decides which connections may begin operations that take much memory and last as long as their clients
// please: large values and handshakes.
//
// Each kind of operation has a room of its own. A connection that finds the room full waits. Clients that
// begin and then send nothing would keep all others out, so a holder that stalls loses its place as soon as
// another connection waits for it. The worker decides which holders stall (Connection::stalls).
//
// Small operations go first, by powers of two of their size. Within a size, the oldest waiter goes first,
// until one waiter has waited for kCrowdedNs: from then on the newest goes first. If a burst needs more than
// that time, serving it in order would make everyone wait. This way a client that comes after the burst waits
// only until one place becomes free.
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
  /// A holder stalls if its client sent nothing for so long. A lost packet costs less: TCP sends it again
  /// after 200 ms.
  static constexpr std::uint64_t kStallsNs = 250'000'000;
  /// A holder also stalls if its value came more slowly than this, on average.
  static constexpr std::uint64_t kNsOfByte = 15'000;
  /// How often the worker looks for stalled holders while connections wait.
  static constexpr std::uint64_t kLookEveryNs = 25'000'000;

  struct Waiter {
    ConnectionOwner* owner;
    std::uint64_t bytes;
    std::uint64_t since_ns;
  };

  /// Whether the room has so many bytes left. A single holder may take more than the whole room.
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
  /// Gives back the bytes that the owner took, if any.
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

  /// The owner waits. An owner that waits already keeps its place.
  void wait(ConnectionOwner& owner, std::uint64_t bytes, std::uint64_t now_ns) {
    if (std::ranges::find(waiters_, &owner, &Waiter::owner) == waiters_.end()) {
      waiters_.push_back({&owner, bytes, now_ns});
      changed_ = true;
    }
  }
  /// The owner stops waiting, if it waited.
  void forget(const ConnectionOwner& owner) noexcept {
    std::erase_if(waiters_, [&owner](const Waiter& one) { return one.owner == &owner; });
  }
  /// The waiter that goes first; none: nobody waits.
  [[nodiscard]] std::optional<Waiter> next(std::uint64_t now_ns) const noexcept {
    std::optional<Waiter> first;
    for (const Waiter& one : waiters_) {  // in order of arrival
      const std::uint64_t size = std::bit_floor(one.bytes);
      const std::uint64_t least = first ? std::bit_floor(first->bytes) : ~std::uint64_t{0};
      if (size < least || (size == least && now_ns - waiters_.front().since_ns > kCrowdedNs)) {
        first = one;
      }
    }
    return first;
  }

  /// Whether the worker should look at the waiters: bytes were given back, a new waiter came, or time has
  /// passed.
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
  /// Calls f(owner) for each holder.
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

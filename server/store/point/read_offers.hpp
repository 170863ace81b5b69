// Decides when a worker offers reads of a deep pipeline to others.
//
// It offers only if many reads are at hand, and another worker is idle: parked, or took an offer a moment ago
// and looks for more. If offers fail, it pauses for a while. They fail if no worker takes them, or if home
// has to answer the reads after all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/base/cache_line.hpp"

namespace mxkv::server {

/// Whether to offer reads: never, while others are idle, or whenever there are enough. As
/// config::read_offering.
enum class read_offering : std::uint8_t { off, idle, always };

struct ReadOfferOptions {
  read_offering mode = read_offering::off;
  std::uint32_t kept = 64;   ///< reads of a round that stay with their worker
  std::uint32_t least = 16;  ///< offers are only made of so many reads that start together
  std::uint32_t row = 32;    ///< reads of one offered task, at most kMostInRow
};

/// One worker's record of its offers. Thread-safety: owner worker only.
class alignas(runtime::kCacheLineBytes) ReadOffers {
 public:
  static constexpr std::uint32_t kMostInRow = 32;
  static constexpr std::uint32_t kLeastInRow = 8;  ///< fewer are not worth a message
  static constexpr std::size_t kMostWaiting = 16;  ///< offers that no worker has taken yet

  /// Whether to offer now. `parked`: tells whether another worker is parked.
  template <class Parked>
  [[nodiscard]] bool wanted(const Parked& parked) {
    if (pause_ != 0) {
      --pause_;
      return false;
    }
    if (hope_ != 0) {
      --hope_;
      return true;
    }
    return parked();
  }
  /// How many of the `reads` that came now may be offered. The first `kept` of a round stay here.
  [[nodiscard]] std::size_t beyond(std::uint32_t kept, std::size_t reads, std::uint64_t now_ns) noexcept {
    if (now_ns != round_ns_) {
      round_ns_ = now_ns;
      at_hand_ = 0;
    }
    const std::size_t before = at_hand_;
    at_hand_ += reads;
    return at_hand_ - std::clamp<std::size_t>(kept, before, at_hand_);
  }
  /// The most reads that one offer may have, if its replies have `room` bytes.
  [[nodiscard]] std::uint32_t row(std::uint32_t wanted, std::size_t room) const noexcept {
    return static_cast<std::uint32_t>(std::min<std::size_t>(wanted, room / reply_bytes_));
  }
  /// Bytes to reserve for so many replies.
  [[nodiscard]] std::size_t room_for(std::uint32_t replies) const noexcept { return replies * reply_bytes_; }
  /// An offer came home, answered by another worker.
  void taken() noexcept {
    hope_ = kHope;
    kept_ = 0;
  }
  /// No other worker took an offer.
  void kept() noexcept {
    if (++kept_ == kPatience) {
      kept_ = 0;
      pause_ = kPause;
    }
  }
  /// Learns the size of replies: `replies` of them had `bytes` bytes.
  void note_replies(std::uint32_t replies, std::size_t bytes) noexcept {
    const std::size_t average = bytes / replies + kMargin;
    reply_bytes_ = average >= reply_bytes_ ? average : reply_bytes_ - (reply_bytes_ - average) / 8;
  }
  /// The taker could not answer all reads of an offer.
  void cut() noexcept { pause_ = kPause; }

 private:
  static constexpr std::uint32_t kHope = 8;       ///< offers without a look for parked workers, after one was
                                                  ///< taken
  static constexpr std::uint32_t kPatience = 32;  ///< offers that no other worker took, in turn
  static constexpr std::uint32_t kPause = 64;     ///< times that nothing is offered
  static constexpr std::size_t kMargin = 64;

  std::uint32_t hope_ = 0;
  std::uint32_t pause_ = 0;
  std::uint32_t kept_ = 0;
  std::uint64_t round_ns_ = 0;  ///< when it began
  std::size_t at_hand_ = 0;     ///< reads that came in the round
  std::size_t reply_bytes_ = 192;
};

}  // namespace mxkv::server

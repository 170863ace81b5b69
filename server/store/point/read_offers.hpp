// When a worker offers reads of a deep pipeline to others.
//
// Only where many are at hand, and somebody has nothing to do: is parked, or took what was offered a moment ago, and
// looks for more. Where offers come to nothing, be it that nobody takes them, or that the answers have to be written
// at home after all, there are none for a while.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace mxkv::server {

/// Whether reads are offered: never, while others are idle, or whenever there are enough. As config::read_offering.
enum class read_offering : std::uint8_t { off, idle, always };

struct ReadOfferOptions {
  read_offering mode = read_offering::off;
  std::uint32_t kept = 64;   ///< reads of a round that stay with their worker
  std::uint32_t least = 16;  ///< reads that start together of which some are offered
  std::uint32_t row = 32;    ///< reads of an offered task; kMostInRow at most
};

/// What one worker knows of its offers. Thread-safety: owner worker only.
class ReadOffers {
 public:
  static constexpr std::uint32_t kMostInRow = 32;
  static constexpr std::uint32_t kLeastInRow = 8;  ///< fewer are not worth a message
  static constexpr std::size_t kMostWaiting = 16;  ///< offers that nobody has taken yet

  /// Whether to offer now. `parked`: says whether another worker is.
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
  /// How many of so many reads that are at hand are others' to take, where the first `kept` of a round are not.
  [[nodiscard]] std::size_t beyond(std::uint32_t kept, std::size_t reads, std::uint64_t now_ns) noexcept {
    if (now_ns != round_ns_) {
      round_ns_ = now_ns;
      at_hand_ = 0;
    }
    const std::size_t before = at_hand_;
    at_hand_ += reads;
    return at_hand_ - std::clamp<std::size_t>(kept, before, at_hand_);
  }
  /// How many reads at most are offered together, whose replies find so much room.
  [[nodiscard]] std::uint32_t row(std::uint32_t wanted, std::size_t room) const noexcept {
    return static_cast<std::uint32_t>(std::min<std::size_t>(wanted, room / reply_bytes_));
  }
  /// Room that the replies of so many want.
  [[nodiscard]] std::size_t room_for(std::uint32_t replies) const noexcept { return replies * reply_bytes_; }
  /// Some came home, answered by another worker.
  void taken() noexcept {
    hope_ = kHope;
    kept_ = 0;
  }
  /// Nobody took them but their own worker.
  void kept() noexcept {
    if (++kept_ == kPatience) {
      kept_ = 0;
      pause_ = kPause;
    }
  }
  /// So many answers have so many bytes.
  void note_replies(std::uint32_t replies, std::size_t bytes) noexcept {
    const std::size_t average = bytes / replies + kMargin;
    reply_bytes_ = average >= reply_bytes_ ? average : reply_bytes_ - (reply_bytes_ - average) / 8;
  }
  /// Not all could be answered there.
  void cut() noexcept { pause_ = kPause; }

 private:
  static constexpr std::uint32_t kHope = 8;       ///< offers on the word of an earlier one
  static constexpr std::uint32_t kPatience = 32;  ///< rows in turn that nobody took
  static constexpr std::uint32_t kPause = 64;     ///< times that nothing is offered
  static constexpr std::size_t kMargin = 64;

  std::uint32_t hope_ = 0;
  std::uint32_t pause_ = 0;
  std::uint32_t kept_ = 0;
  std::uint64_t round_ns_ = 0;  ///< when it began
  std::size_t at_hand_ = 0;     ///< reads that came in it
  std::size_t reply_bytes_ = 192;
};

}  // namespace mxkv::server

// How long a connection's replies are, by those that it got. By this a pipeline of small values may be a
// thousand requests long, and one of large values has one or two in flight.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "server/store/item/item.hpp"

namespace mxkv::server {

/// Plain value.
class ReplyEstimate {
 public:
  /// What a reply takes that is copied: a longer value goes by reference.
  static constexpr std::size_t kMostCopiedBytes = kInlineValueBytes + 512;
  /// A request takes at least that, in tasks and bookkeeping.
  static constexpr std::size_t kLeastBytes = 256;

  /// Counts of all replies so far, and of their bytes; both may wrap around.
  void update(std::uint32_t replies, std::size_t bytes) noexcept {
    const std::uint32_t more = replies - replies_;
    if (more == 0) {
      return;
    }
    const std::size_t average = (bytes - written_) / more;
    replies_ = replies;
    written_ = bytes;
    // Up at once, down by a quarter of the difference: what was long once may be so again.
    bytes_ = average >= bytes_ ? average : bytes_ - (bytes_ - average + 3) / 4;
    known_ = true;
  }

  [[nodiscard]] bool known() const noexcept { return known_; }
  /// Of a reply, as it is sent; at least 1.
  [[nodiscard]] std::size_t bytes() const noexcept { return std::max<std::size_t>(bytes_, 1); }
  /// That a request takes until its reply was sent.
  [[nodiscard]] std::size_t memory() const noexcept {
    return known_ ? std::clamp(bytes_, kLeastBytes, kMostCopiedBytes) : kMostCopiedBytes;
  }

 private:
  std::uint32_t replies_ = 0;
  std::size_t written_ = 0;
  std::size_t bytes_ = 0;
  bool known_ = false;
};

}  // namespace mxkv::server

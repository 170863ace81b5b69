// Estimates how long a connection's next replies are, from those it got before. So a pipeline of small values
// may be a thousand requests long, and one of large values has one or two requests in flight.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "server/store/item/item.hpp"

namespace mxkv::server {

/// Plain value.
class ReplyEstimate {
 public:
  /// Most bytes of a copied reply: a longer value goes by reference.
  static constexpr std::size_t kMostCopiedBytes = kInlineValueBytes + 512;
  /// The least memory of a request, for tasks and bookkeeping.
  static constexpr std::size_t kLeastBytes = 256;

  /// Takes the counts of all replies so far, and of their bytes. Both may wrap around.
  void update(std::uint32_t replies, std::size_t bytes) noexcept {
    const std::uint32_t more = replies - replies_;
    if (more == 0) {
      return;
    }
    const std::size_t average = (bytes - written_) / more;
    replies_ = replies;
    written_ = bytes;
    // Up at once, down by a quarter of the difference: a reply that was long may be long again.
    bytes_ = average >= bytes_ ? average : bytes_ - (bytes_ - average + 3) / 4;
    known_ = true;
  }

  [[nodiscard]] bool known() const noexcept { return known_; }
  /// Bytes of a reply on the wire; at least 1.
  [[nodiscard]] std::size_t bytes() const noexcept { return std::max<std::size_t>(bytes_, 1); }
  /// Memory that a request takes until its reply is sent.
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

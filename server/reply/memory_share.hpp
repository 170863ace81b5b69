// A worker's part of a share of the memory limit: counts the bytes in use and the bytes promised.
//
// Unsent replies have one share, unfinished input another (server/README.md says how large and why). Each
// share is divided between the workers for good, so nothing here is atomic. Connections are spread evenly
// over the workers, and one worker's spare bytes would help another only for a moment. The share only limits;
// the bytes are charged to the budget elsewhere.
#pragma once

#include <algorithm>
#include <cstddef>

#include "runtime/base/assert.hpp"
#include "runtime/memory/memory_budget.hpp"

namespace mxkv::server {

/// One in so many parts of the limit is for unsent replies of all workers, and one for unfinished input. The
/// cache should keep nine tenths of its items even while clients hoard both.
inline constexpr std::size_t kOutputParts = 32;
inline constexpr std::size_t kInputParts = 64;
/// The same for values that have left the cache and have yet to be sent.
inline constexpr std::size_t kReferencedParts = 32;

/// Thread-safety: owner worker only.
class MemoryShare {
 public:
  /// A few connections need so much for a reply or a line of usual length.
  static constexpr std::size_t kLeastBytes = std::size_t{256} << 10U;

  /// If there is no limit: small enough for multiples to fit.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 48U;

  /// One part in `parts` of the limit; the limit may change.
  MemoryShare(const runtime::MemoryBudget& budget, std::size_t parts) noexcept
      : budget_(&budget), parts_(parts) {
    update_limit();
  }

  /// Call this now and then: the limit may have changed.
  void update_limit() noexcept {
    bytes_ = std::clamp(budget_->limit_bytes() / parts_, kLeastBytes, kMostBytes);
    full_ = bytes_ / 2 * 3;
  }

  void take(std::size_t bytes) noexcept { held_ += bytes; }
  void give(std::size_t bytes) noexcept {
    MXKV_ASSERT(bytes <= held_, "no more is given back than was taken");
    held_ -= bytes;
  }
  /// Promises bytes that will be taken soon, by an estimate; the promise is withdrawn when they are taken, or
  /// not needed.
  void promise(std::size_t bytes) noexcept { promised_ += bytes; }
  void break_promise(std::size_t bytes) noexcept {
    MXKV_ASSERT(bytes <= promised_, "only what was promised is broken");
    promised_ -= bytes;
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t held() const noexcept { return held_; }
  [[nodiscard]] std::size_t used() const noexcept { return held_ + promised_; }
  [[nodiscard]] std::size_t free() const noexcept { return bytes_ - std::min(bytes_, used()); }
  /// Bytes that new requests may share. They end before connections have to be closed.
  [[nodiscard]] std::size_t open() const noexcept {
    return bytes_ / 8 * 5 - std::min(bytes_ / 8 * 5, used());
  }
  /// Whether so much is in use that blocks should be as small as possible.
  [[nodiscard]] bool is_crowded() const noexcept { return held_ > bytes_ / 4; }
  /// Whether so much is in use that connections which hold the most, and make no progress, have to be closed.
  [[nodiscard]] bool is_short() const noexcept { return held_ > bytes_ / 4 * 3; }
  /// Whether replies that were estimated too short have to wait for room.
  [[nodiscard]] bool is_full() const noexcept { return held_ > full_; }
  /// Whether waiting has not helped, so that a connection has to be closed at once.
  [[nodiscard]] bool overflows() const noexcept { return held_ > 8 * bytes_; }

 private:
  const runtime::MemoryBudget* budget_;
  std::size_t parts_;
  std::size_t bytes_ = 0;
  std::size_t full_ = 0;
  std::size_t held_ = 0;
  std::size_t promised_ = 0;
};

}  // namespace mxkv::server

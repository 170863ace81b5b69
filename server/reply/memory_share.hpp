// A worker's part of a share of the memory limit: what is held against it, and what is promised to be.
//
// Unsent replies have one share, unfinished input another (server/README.md says how large and why). Each is
// divided between the workers once and for all, so that nothing here is atomic. Connections are spread over
// workers evenly, and what one has left over would be of use to another only for a moment. The share bounds;
// what is held is charged to the budget elsewhere.
#pragma once

#include <algorithm>
#include <cstddef>

#include "runtime/base/assert.hpp"
#include "runtime/memory/memory_budget.hpp"

namespace mxkv::server {

/// Of the limit, one part in so many is for unsent replies of all workers, and one for unfinished input. The
/// cache is to keep nine tenths of its items while clients hoard both.
inline constexpr std::size_t kOutputParts = 32;
inline constexpr std::size_t kInputParts = 64;
/// The same for values that have left the cache and are still to be sent.
inline constexpr std::size_t kReferencedParts = 32;

/// Thread-safety: owner worker only.
class MemoryShare {
 public:
  /// Less would not do for a reply or a line of usual length of a few connections.
  static constexpr std::size_t kLeastBytes = std::size_t{256} << 10U;

  /// Where there is no limit: multiples of it are numbers still.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 48U;

  /// One part in `parts` of the limit; the limit may change.
  MemoryShare(const runtime::MemoryBudget& budget, std::size_t parts) noexcept
      : budget_(&budget), parts_(parts) {
    update_limit();
  }

  /// To be called now and then: the limit may have changed.
  void update_limit() noexcept {
    bytes_ = std::clamp(budget_->limit_bytes() / parts_, kLeastBytes, kMostBytes);
    full_ = bytes_ / 2 * 3;
  }

  void take(std::size_t bytes) noexcept { held_ += bytes; }
  void give(std::size_t bytes) noexcept {
    MXKV_ASSERT(bytes <= held_, "no more is given back than was taken");
    held_ -= bytes;
  }
  /// What will be taken soon, by an estimate; broken when it was, or will not be.
  void promise(std::size_t bytes) noexcept { promised_ += bytes; }
  void break_promise(std::size_t bytes) noexcept {
    MXKV_ASSERT(bytes <= promised_, "only what was promised is broken");
    promised_ -= bytes;
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t held() const noexcept { return held_; }
  [[nodiscard]] std::size_t used() const noexcept { return held_ + promised_; }
  [[nodiscard]] std::size_t free() const noexcept { return bytes_ - std::min(bytes_, used()); }
  /// What requests that come may have a part of. It ends before connections have to go.
  [[nodiscard]] std::size_t open() const noexcept {
    return bytes_ / 8 * 5 - std::min(bytes_ / 8 * 5, used());
  }
  /// Whether so much is held that blocks should be no larger than they must.
  [[nodiscard]] bool is_crowded() const noexcept { return held_ > bytes_ / 4; }
  /// Whether much of it is held, so that connections that hold the most and make no use of it have to go.
  [[nodiscard]] bool is_short() const noexcept { return held_ > bytes_ / 4 * 3; }
  /// Whether replies that were estimated too short have to wait for room.
  [[nodiscard]] bool is_full() const noexcept { return held_ > full_; }
  /// Whether more is held than waiting keeps off: a connection has to go at once.
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

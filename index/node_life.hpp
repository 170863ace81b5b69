// A node's state in the tree, besides its contents: its generation, whether its parent knows it, whether it
// is on its way out, and whether a task unlinks it. One word, apart from the node's version.
//
//   separator pending   the parent has no separator for it yet; lost: its task ran out of memory
//   dead                unlinked: nothing live refers to it
//   claimed             a task unlinks it, or it waits for its left neighbour's task to start one again
//   again               an event that may have made it ready to go came while it was claimed
//   waiting             claimed, but no task is at work: the left neighbour's task goes first
//   right waits         the right neighbour is waiting for the end of this claim
//
// A claim begins with claim() and ends with release(), which returns the events that came meanwhile. All
// changes are read-modify-writes of one word, so that no event is missed: it either finds the claim and
// leaves its mark, or comes after the claim and may claim the node itself. Thread-safety: any worker.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/base/assert.hpp"

namespace mxkv::index {

class NodeLife {
 public:
  explicit NodeLife(std::uint64_t generation) noexcept : word_(generation << kGenerationShift) {}

  /// Counts clears of the tree. Never changes; split halves inherit it.
  [[nodiscard]] std::uint64_t generation() const noexcept {
    return word_.load(std::memory_order_relaxed) >> kGenerationShift;
  }

  /// Whether the parent knows no separator for this node yet. It is cleared under the parent's latch, not
  /// under the node's: a reader of false sees the separator there.
  [[nodiscard]] bool separator_pending() const noexcept {
    return (word_.load(std::memory_order_acquire) & kPending) != 0;  // pairs with set_separator_pending()
  }
  void set_separator_pending(bool pending) noexcept {
    if (pending) {
      [[maybe_unused]] const std::uint64_t before = word_.fetch_or(kPending, std::memory_order_release);
      MXKV_ASSERT((before & (kPending | kDead)) == 0, "a separator is pending once, of a live node");
    } else {
      word_.fetch_and(~(kPending | kLost), std::memory_order_release);
    }
  }
  /// The separator's task gave up, out of memory. A task that passes by may claim to try again.
  void mark_separator_lost() noexcept {
    const std::uint64_t before = word_.fetch_or(kLost, std::memory_order_release);
    MXKV_ASSERT((before & (kPending | kLost | kDead)) == kPending, "a pending separator is lost, and once");
  }
  /// Claims a lost separator; true for one caller only.
  [[nodiscard]] bool claim_lost_separator() noexcept {
    return (word_.load(std::memory_order_relaxed) & kLost) != 0 &&
           (word_.fetch_and(~kLost, std::memory_order_acq_rel) & kLost) != 0;
  }

  /// By the task that unlinked the node.
  void mark_dead() noexcept {
    const std::uint64_t before = word_.fetch_or(kDead, std::memory_order_release);
    MXKV_ASSERT((before & (kClaimed | kWaiting | kDead | kPending)) == kClaimed,
                "a node dies once, by the task that has its claim, and its parent has known it");
  }
  [[nodiscard]] bool dead() const noexcept { return (word_.load(std::memory_order_relaxed) & kDead) != 0; }

  /// Claims the node for a task that unlinks it. False: the node is dead, or claimed and its task will look
  /// again.
  [[nodiscard]] bool claim() noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    do {
      if ((word & kDead) != 0) {
        return false;
      }
    } while (!word_.compare_exchange_weak(word, word | ((word & kClaimed) != 0 ? kAgain : kClaimed),
                                          std::memory_order_acq_rel, std::memory_order_relaxed));
    return (word & kClaimed) == 0;
  }
  [[nodiscard]] bool claimed() const noexcept {
    return (word_.load(std::memory_order_relaxed) & kClaimed) != 0;
  }

  /// The events that came while a node was claimed.
  struct Missed {
    bool again;        ///< an event that may have made the node ready to go
    bool right_waits;  ///< the right neighbour waits and must be resumed
  };
  /// Ends the claim. By its task.
  [[nodiscard]] Missed release() noexcept {
    const std::uint64_t before =
        word_.fetch_and(~(kClaimed | kAgain | kRightWaits), std::memory_order_acq_rel);
    MXKV_ASSERT((before & (kClaimed | kWaiting)) == kClaimed, "a claim ends once, by a task at work");
    return {(before & kAgain) != 0, (before & kRightWaits) != 0};
  }

  /// The claim's task is about to end; the left neighbour's task will start another.
  void begin_to_wait() noexcept {
    const std::uint64_t before = word_.fetch_or(kWaiting, std::memory_order_acq_rel);
    MXKV_ASSERT((before & (kClaimed | kWaiting | kDead)) == kClaimed, "a claim at work begins to wait");
  }
  /// Takes over the claim of a node that waits; true for one caller only.
  [[nodiscard]] bool take_waiting() noexcept {
    return (word_.load(std::memory_order_acquire) & kWaiting) != 0 &&
           (word_.fetch_and(~kWaiting, std::memory_order_acq_rel) & kWaiting) != 0;
  }
  /// Marks that the right neighbour must be resumed at the end of this node's claim. False: there is no
  /// claim.
  [[nodiscard]] bool let_right_wait() noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    do {
      if ((word & kClaimed) == 0) {
        return false;
      }
    } while (!word_.compare_exchange_weak(word, word | kRightWaits, std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
    return true;
  }

 private:
  static constexpr std::uint64_t kPending = 1;
  static constexpr std::uint64_t kLost = 2;
  static constexpr std::uint64_t kDead = 4;
  static constexpr std::uint64_t kClaimed = 8;
  static constexpr std::uint64_t kAgain = 16;
  static constexpr std::uint64_t kWaiting = 32;
  static constexpr std::uint64_t kRightWaits = 64;
  static constexpr unsigned kGenerationShift = 7;

  std::atomic<std::uint64_t> word_;
};

}  // namespace mxkv::index

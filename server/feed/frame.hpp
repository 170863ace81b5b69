// A piece of lines on its way from the herald to connections. Watches of one form share it. All that waits for clients to
// read is counted: frames, and the places that they take in the queue of each watch.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "runtime/memory/memory_budget.hpp"

namespace mxkv::server {

/// Whose bytes they are.
enum class held : std::uint8_t {
  live,    ///< of watches that are live: bounded, since these fall behind
  behind,  ///< of watches that are behind: bounded, since the herald takes them back
  fixed    ///< a few tidings of each watch: answers, ends and marks that a client asked for
};

/// Bytes that wait for clients to read. Outlives them. Thread-safety: any thread.
class FrameShare {
 public:
  explicit FrameShare(runtime::MemoryBudget* budget) noexcept : budget_(budget) {}

  /// Relaxed: the herald only compares it with a limit.
  [[nodiscard]] std::size_t bytes(held by) const noexcept { return of(by).load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return bytes(held::live) + bytes(held::behind) + bytes(held::fixed);
  }
  void add(held by, std::size_t bytes) noexcept {
    of(by).fetch_add(bytes, std::memory_order_relaxed);
    if (budget_ != nullptr) {
      budget_->charge_unconditionally(runtime::memory_category::buffers, bytes);
    }
  }
  void remove(held by, std::size_t bytes) noexcept {
    of(by).fetch_sub(bytes, std::memory_order_relaxed);
    if (budget_ != nullptr) {
      budget_->refund(runtime::memory_category::buffers, bytes);
    }
  }

 private:
  [[nodiscard]] std::atomic<std::size_t>& of(held by) noexcept {
    return bytes_[static_cast<std::size_t>(by)];
  }
  [[nodiscard]] const std::atomic<std::size_t>& of(held by) const noexcept {
    return bytes_[static_cast<std::size_t>(by)];
  }

  runtime::MemoryBudget* budget_;
  std::array<std::atomic<std::size_t>, 3> bytes_{};
};

/// Bytes of a share, for as long as it lives. Thread-safety: one thread at a time.
class FrameCharge {
 public:
  FrameCharge() noexcept = default;
  FrameCharge(FrameShare& share, held by, std::size_t bytes) noexcept
      : share_(&share), by_(by), bytes_(bytes) {
    share.add(by, bytes);
  }
  FrameCharge(FrameCharge&& other) noexcept
      : share_(std::exchange(other.share_, nullptr)),
        by_(other.by_),
        bytes_(std::exchange(other.bytes_, 0)) {}
  FrameCharge& operator=(FrameCharge&& other) noexcept {
    std::swap(share_, other.share_);
    std::swap(by_, other.by_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  FrameCharge(const FrameCharge&) = delete;
  FrameCharge& operator=(const FrameCharge&) = delete;
  ~FrameCharge() {
    if (share_ != nullptr) {
      share_->remove(by_, bytes_);
    }
  }

  [[nodiscard]] held by() const noexcept { return by_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  FrameShare* share_ = nullptr;
  held by_ = held::fixed;
  std::size_t bytes_ = 0;
};

/// Which of an epoch's lines for one form a frame has: numbers `from` up to `to`, without that one.
struct FrameLines {
  std::uint64_t epoch = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  bool ends_epoch = false;  ///< all lines of the epoch are in this frame and in those before it
};

/// Immutable. Thread-safety: any thread.
class Frame {
 public:
  static constexpr std::size_t kBytes = std::size_t{64}
                                        << 10U;  ///< a frame ends with the line that reaches this

  Frame(std::string lines, const FrameLines& which, held by, FrameShare& share)
      : lines_(std::move(lines)), which_(which), charge_(share, by, kOwnBytes + lines_.capacity()) {}

  [[nodiscard]] const std::string& lines() const noexcept { return lines_; }
  [[nodiscard]] const FrameLines& which() const noexcept { return which_; }
  [[nodiscard]] held by() const noexcept { return charge_.by(); }
  /// In memory.
  [[nodiscard]] std::size_t bytes() const noexcept { return charge_.bytes(); }

 private:
  static constexpr std::size_t kOwnBytes = 160;  ///< about: the object, its counts, and what malloc adds

  const std::string lines_;
  const FrameLines which_;
  const FrameCharge charge_;
};

using FrameRef = std::shared_ptr<const Frame>;

}  // namespace mxkv::server

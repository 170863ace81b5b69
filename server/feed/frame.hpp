// A piece of lines on its way from the herald to connections. Watches of one form share it. All frames together are
// counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "runtime/memory/memory_budget.hpp"

namespace mxkv::server {

/// Bytes of all frames. Outlives them. Thread-safety: any thread.
class FrameShare {
 public:
  explicit FrameShare(runtime::MemoryBudget* budget) noexcept : budget_(budget) {}

  /// Relaxed: the herald only compares it with a limit.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  void add(std::size_t bytes) noexcept {
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (budget_ != nullptr) {
      budget_->charge_unconditionally(runtime::memory_category::buffers, bytes);
    }
  }
  void remove(std::size_t bytes) noexcept {
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    if (budget_ != nullptr) {
      budget_->refund(runtime::memory_category::buffers, bytes);
    }
  }

 private:
  runtime::MemoryBudget* budget_;
  std::atomic<std::size_t> bytes_{0};
};

/// Immutable. Thread-safety: any thread.
class Frame {
 public:
  static constexpr std::size_t kBytes = std::size_t{64}
                                        << 10U;  ///< a frame ends with the line that reaches this

  /// Whole lines of the epoch `epoch`. `ends_epoch`: all lines of the epoch are in this frame and in those before it.
  Frame(std::string lines, std::uint64_t epoch, bool ends_epoch, FrameShare& share)
      : lines_(std::move(lines)), epoch_(epoch), ends_epoch_(ends_epoch), share_(share) {
    share_.add(lines_.capacity());
  }
  ~Frame() { share_.remove(lines_.capacity()); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  [[nodiscard]] const std::string& lines() const noexcept { return lines_; }
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] bool ends_epoch() const noexcept { return ends_epoch_; }

 private:
  const std::string lines_;
  const std::uint64_t epoch_;
  const bool ends_epoch_;
  FrameShare& share_;
};

using FrameRef = std::shared_ptr<const Frame>;

}  // namespace mxkv::server

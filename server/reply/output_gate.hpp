// Which bytes of a connection's output may leave: the bytes before the first mark whose epoch is not on disk.
//
// A round whose replies show data that is not on disk yet puts a mark at the beginning of its output. Marks
// are few. If there were more, the last one stands for all later output, and waits for the latest epoch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only. Positions are counts of bytes written so far, which wrap around.
class OutputGate {
 public:
  static constexpr std::size_t kMostMarks = 4;

  [[nodiscard]] bool holds() const noexcept { return count_ != 0; }
  /// From `begin` on, which is not before the last mark's, the output waits for `epoch`, too.
  void add(std::size_t begin, std::uint64_t epoch) noexcept {
    if (count_ > 0 && epoch <= marks_[count_ - 1].epoch) {
      return;  // it already waits for that epoch
    }
    if (count_ < kMostMarks) {
      marks_[count_++] = {begin, epoch};
    } else {
      marks_[count_ - 1].epoch = epoch;
    }
  }
  /// All epochs up to `durable` are on disk. Returns whether a mark was removed.
  bool open(std::uint64_t durable) noexcept {
    std::size_t gone = 0;
    while (gone < count_ && marks_[gone].epoch <= durable) {
      ++gone;
    }
    for (std::size_t i = gone; i < count_; ++i) {
      marks_[i - gone] = marks_[i];
    }
    count_ -= gone;
    return gone != 0;
  }
  /// How many bytes behind the first `sent` may be sent.
  [[nodiscard]] std::size_t sendable(std::size_t sent, std::size_t unsent) const noexcept {
    return holds() ? marks_[0].begin - sent : unsent;
  }
  /// Whether no byte before `end` is held.
  [[nodiscard]] bool lets(std::size_t end) const noexcept {
    return !holds() || static_cast<std::ptrdiff_t>(marks_[0].begin - end) >= 0;
  }
  /// The epoch that the first mark waits for. Only if holds().
  [[nodiscard]] std::uint64_t awaited() const noexcept {
    MXKV_DCHECK(holds(), "what holds nothing waits for nothing");
    return marks_[0].epoch;
  }

 private:
  struct Mark {
    std::size_t begin;
    std::uint64_t epoch;
  };
  std::array<Mark, kMostMarks> marks_{};
  std::size_t count_ = 0;
};

}  // namespace mxkv::server

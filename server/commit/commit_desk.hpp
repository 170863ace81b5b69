// A worker's part of a journal: its buffer, and whether it is parked, that is between rounds for longer.
#pragma once

#include <cstdint>
#include <utility>

#include "runtime/base/ids.hpp"
#include "server/commit/commit_epochs.hpp"
#include "server/commit/record_buffer.hpp"

namespace mxkv::server {

/// Thread-safety: as RecordBuffer; the rest is for its worker only.
struct CommitDesk {
  explicit CommitDesk(BufferShare& share) noexcept : buffer(share) {}

  /// Returns the clock to mint orders by. Also after park().
  [[nodiscard]] std::uint64_t begin_round(CommitEpochs& epochs, runtime::WorkerId worker,
                                          std::uint64_t now_us) noexcept {
    if (parked) [[unlikely]] {
      parked = false;
      epochs.unpark(worker);
    }
    return epochs.begin_round(worker, now_us);
  }
  /// Ends the round: the closer may see its records. Returns whether to wake the closer.
  [[nodiscard]] bool end_round(CommitEpochs& epochs, runtime::WorkerId worker) noexcept {
    if (parked) [[unlikely]] {
      return false;  // it has no more rounds
    }
    const std::uint64_t epoch = epochs.current();  // once, before sealing: see CommitEpochs::end_round()
    buffer.end_round(epoch);
    const bool passed = epochs.end_round(worker, epoch, buffer.last_label() == epoch);
    return buffer.take_news() || passed;
  }
  /// Records nothing until the next begin_round(). Returns whether to wake the closer.
  [[nodiscard]] bool park(CommitEpochs& epochs, runtime::WorkerId worker) noexcept {
    if (std::exchange(parked, true)) {
      return false;
    }
    buffer.park();
    const bool passed = epochs.park(worker);
    return buffer.take_news() || passed;
  }

  RecordBuffer buffer;
  bool parked = true;
};

}  // namespace mxkv::server

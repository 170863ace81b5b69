// What a worker has of a journal: its buffer, and whether it is between rounds for good, parked.
#pragma once

#include <cstdint>
#include <utility>

#include "runtime/base/ids.hpp"
#include "server/journal/commit_epochs.hpp"
#include "server/journal/journal_buffer.hpp"

namespace mxkv::server {

/// Thread-safety: as JournalBuffer; the rest that worker only.
struct JournalDesk {
  explicit JournalDesk(BufferShare& share) noexcept : buffer(share) {}

  /// Returns the clock to mint by. Also after park().
  [[nodiscard]] std::uint64_t begin_round(CommitEpochs& epochs, runtime::WorkerId worker,
                                          std::uint64_t now_us) noexcept {
    if (parked) [[unlikely]] {
      parked = false;
      epochs.unpark(worker);
    }
    return epochs.begin_round(worker, now_us);
  }
  /// What was recorded in the round is the closer's to see. Whether it is to be woken.
  [[nodiscard]] bool end_round(CommitEpochs& epochs, runtime::WorkerId worker) noexcept {
    if (parked) [[unlikely]] {
      return false;  // it has no rounds any more
    }
    const std::uint64_t epoch = epochs.current();  // once, before sealing: see CommitEpochs::end_round()
    buffer.end_round(epoch);
    const bool passed = epochs.end_round(worker, epoch, buffer.last_label() == epoch);
    return buffer.take_news() || passed;
  }
  /// Between rounds: nothing is recorded until the next begin_round(). Whether the closer is to be woken.
  [[nodiscard]] bool park(CommitEpochs& epochs, runtime::WorkerId worker) noexcept {
    if (std::exchange(parked, true)) {
      return false;
    }
    buffer.park();
    const bool passed = epochs.park(worker);
    return buffer.take_news() || passed;
  }

  JournalBuffer buffer;
  bool parked = true;
};

}  // namespace mxkv::server

// The recent epochs of a server without a directory: bounded by bytes, the oldest go first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/memory/memory_budget.hpp"
#include "server/feed/change_source.hpp"
#include "server/feed/share_of_limit.hpp"

namespace mxkv::server {

/// The records of one epoch, copied: runs of records, each with the value apart of its last record, if it has one. The
/// runs of one worker stand together, in its order.
struct RingEpoch {
  struct Run {
    std::size_t payload_bytes = 0;
    std::size_t apart_bytes = 0;  ///< kept; 0 also if the value is larger than the ring keeps
    bool of_next_worker = false;  ///< the first run of its worker
  };
  std::uint64_t number = 0;
  std::string bytes{};
  std::vector<Run> runs{};

  /// In memory.
  [[nodiscard]] std::size_t own_bytes() const noexcept {
    return sizeof(RingEpoch) + bytes.capacity() + runs.capacity() * sizeof(Run);
  }
};

/// Thread-safety: one thread at a time.
class MemoryRing {
 public:
  /// `budget`: what the ring holds is charged to it as buffers; null: it is not.
  MemoryRing(std::size_t most_bytes, runtime::MemoryBudget* budget) noexcept
      : most_bytes_(most_bytes), budget_(budget) {}
  ~MemoryRing() { begin(0); }
  MemoryRing(const MemoryRing&) = delete;
  MemoryRing& operator=(const MemoryRing&) = delete;

  /// At most a part of the memory limit, which may change.
  [[nodiscard]] std::size_t most_bytes() const noexcept { return within_share(most_bytes_, budget_); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// The ring is complete behind this epoch.
  [[nodiscard]] std::uint64_t complete_behind() const noexcept { return complete_behind_; }
  /// Forgets all epochs. The ring is complete behind `epoch`.
  void begin(std::uint64_t epoch) noexcept;
  /// Takes the next epoch that has records. Drops the oldest ones while the ring is too large; the newest stays.
  void add(RingEpoch&& epoch);
  /// The first epoch above `number`; null: there is none.
  [[nodiscard]] const RingEpoch* behind(std::uint64_t number) const noexcept;

 private:
  void drop_oldest() noexcept;

  const std::size_t most_bytes_;
  runtime::MemoryBudget* const budget_;
  std::deque<RingEpoch> epochs_;
  std::size_t bytes_ = 0;
  std::uint64_t complete_behind_ = 0;
};

}  // namespace mxkv::server

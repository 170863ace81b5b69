// A worker's retired objects: when the epoch advances for them, and how many are freed at once [Mx 4.4].
//
// Reclamation is a task. A worker spawns one for itself when objects wait and the epoch moved since the last
// run; a run frees kMostPerRun at most, and the next one goes on. It has low priority, so it runs
// where the window has room. A window that is never short of other tasks would starve it. When more bytes
// wait than kUrgentAdvances epochs bring, a run of high priority goes straight into the buffer. Retired
// memory that is old enough thus stays bounded under any load.
//
//   run     idle ── due, announced ──> announced ── begin ──> idle       a usual one, and an urgent one
//
// Memory that ran out is not waited for: run_now() frees inside the task that needs it.
//
// Retired bytes are a part of what items and nodes are charged for. The account shows them once a round as
// memory_category::retired, and not at each retire().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/base/assert.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/epoch/epoch_manager.hpp"
#include "runtime/epoch/retire_list.hpp"
#include "runtime/memory/core_heap.hpp"
#include "runtime/memory/memory_budget.hpp"
#include "runtime/options.hpp"
#include "runtime/scheduler/worker_counters.hpp"

namespace mxkv::runtime {

/// A retire list takes its blocks from the task heap.
class TaskBlocks final : public RetireBlockSource {
 public:
  explicit TaskBlocks(CoreHeap& heap) noexcept : heap_(heap) {}
  void* allocate_retire_block() override {
    void* const block = heap_.allocate(kBlock);
    MXKV_ASSERT(block != nullptr, "the system is out of memory for tasks");
    return block;
  }
  void release_retire_block(void* block) noexcept override { heap_.release(block, kBlock); }

 private:
  static constexpr task_block kBlock = task_block::bytes_384;
  static_assert(task_block_bytes(kBlock) == RetireList::kBlockBytes);
  CoreHeap& heap_;
};

/// Thread-safety: owner worker only.
class Reclaimer {
 public:
  /// Most that a run frees, so that a large list does not delay replies. A large value is one object, with a block
  /// for each 16 KiB.
  static constexpr ReclaimBound kMostPerRun{.objects = 4096, .bytes = std::size_t{64} << 20U};
  /// Retired bytes that make a run urgent, in EpochOptions::advance_bytes. Bytes of the epoch before may not
  /// be freed yet, and bytes of the current one are still growing.
  static constexpr std::size_t kUrgentAdvances = 3;

  enum class run : std::uint8_t { usual, urgent };

  /// All but `worker` outlive this. The account and the counters belong to the same worker.
  Reclaimer(EpochManager& epochs, WorkerId worker, const EpochOptions& options, RetireBlockSource& blocks,
            MemoryAccount& account, WorkerCounters& counters) noexcept
      : epochs_(epochs),
        worker_(worker),
        options_(options),
        retired_(blocks),
        account_(account),
        counters_(counters) {}
  Reclaimer(const Reclaimer&) = delete;
  Reclaimer& operator=(const Reclaimer&) = delete;
  ~Reclaimer() = default;

  /// Hands over an object that was just unlinked; it is freed when no reader can hold it. `bytes`: what
  /// freeing it gives back.
  void retire(void* object, ReclaimKind kind, std::size_t bytes) {
    retired_.add(object, kind, epochs_.retire_stamp(), bytes);
  }
  [[nodiscard]] bool empty() const noexcept { return retired_.empty(); }
  [[nodiscard]] std::size_t objects() const noexcept { return retired_.entries(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return retired_.bytes(); }

  /// Once a round: advances the epoch when it is time. Returns whether a run could free objects.
  [[nodiscard]] bool tick(std::uint64_t now_ns) noexcept;
  /// Which kind of run is due.
  [[nodiscard]] run due() const noexcept {
    return retired_.bytes() >= kUrgentAdvances * options_.advance_bytes ? run::urgent : run::usual;
  }
  /// Whether a run of the kind was announced and did not begin.
  [[nodiscard]] bool announced(run kind) const noexcept { return announced_[index(kind)]; }
  /// A run will come.
  void announce(run kind) noexcept {
    MXKV_ASSERT(!announced(kind), "one run of a kind is under way");
    announced_[index(kind)] = true;
  }
  /// The run will not come.
  void withdraw(run kind) noexcept {
    MXKV_ASSERT(announced(kind), "a run that begins or goes was announced");
    announced_[index(kind)] = false;
  }
  /// The run: frees what it may.
  void begin(run kind, const ReclaimFunction* functions, Worker& worker);
  /// Advances the epoch and frees what may go, at once, as much as a run frees at most. Leaves the worker's epoch: the calling task holds
  /// a pin, or no pointer that it found earlier.
  void run_now(const ReclaimFunction* functions, Worker& worker);
  /// Frees everything. Only when no worker runs any more.
  void drain_stopped(const ReclaimFunction* functions, Worker& worker);

 private:
  [[nodiscard]] static constexpr std::size_t index(run kind) noexcept {
    return static_cast<std::size_t>(kind);
  }
  void reclaim(ReclaimBound most, const ReclaimFunction* functions, Worker& worker);
  void publish_bytes() noexcept;

  EpochManager& epochs_;
  WorkerId worker_;
  EpochOptions options_;
  RetireList retired_;
  MemoryAccount& account_;
  WorkerCounters& counters_;
  std::uint64_t advanced_ns_ = 0;      ///< when the epoch was last advanced here
  std::uint64_t reclaimed_epoch_ = 0;  ///< nothing more may be freed until the epoch is another one
  std::array<bool, 2> announced_{};    ///< by kind of run
};

}  // namespace mxkv::runtime

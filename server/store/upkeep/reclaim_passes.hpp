// Reclaim passes: whether memory that was freed before some moment has come back.
//
// The memory of a removed item comes back in two steps: when no task can read the item any more, and when the block
// is back at the worker that owns its span. A request that finds no memory asks for a pass, and knows when both steps
// are done for all items that were removed before it asked:
//
//   want() --> each worker frees all that it had retired by then, and sends blocks of others home
//          --> when all have done so, each worker collects the blocks that came home
//          --> when all have done so, the pass has ended
//
// A worker takes part in its rounds, in steps of bounded length. It begins one pass at a time, the last one that was
// asked for, which stands for all before. Retired items are freed in the order in which they were retired, so a worker
// need only count. A pass ends after half a second also if a task still reads, or another worker is busy: nobody waits
// for it for longer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/base/assert.hpp"
#include "runtime/base/cache_line.hpp"
#include "runtime/scheduler/worker.hpp"

namespace mxkv::server {

/// Frees what this worker has retired and no task can read, and gives free blocks and empty spans back to other
/// workers. Frees a bounded number of items (Worker::reclaim_now()).
void reclaim_step(runtime::Worker& worker);

/// One per store. Thread-safety: any worker.
class ReclaimPasses {
 public:
  explicit ReclaimPasses(std::size_t workers)
      : workers_(workers), parts_(std::make_unique<Part[]>(workers)) {}
  ReclaimPasses(const ReclaimPasses&) = delete;
  ReclaimPasses& operator=(const ReclaimPasses&) = delete;

  /// Asks for a pass. Returns its number: 31 bits, which wrap around, and never 0.
  [[nodiscard]] std::uint32_t want() noexcept;
  /// Whether a pass has ended that was asked for recently.
  [[nodiscard]] bool ended(std::uint32_t pass, const runtime::Worker& worker) const noexcept {
    return reached(parts_[worker.id().index()].ended, pass);
  }
  /// Wakes parked workers that have yet to do their part of the pass.
  void wake(std::uint32_t pass, runtime::Worker& worker) const noexcept;

  /// Each worker calls it in every round.
  void tick(runtime::Worker& worker) {
    MXKV_DCHECK(worker.id().index() < workers_, "each worker has a part of its own");
    if (parts_[worker.id().index()].ended != wanted_.load(std::memory_order_relaxed)) [[unlikely]] {
      go_on(worker);
    }
  }

 private:
  struct alignas(runtime::kCacheLineBytes) Part {
    std::atomic<std::uint32_t> freed{0};  ///< the pass for which its retired items are free
    std::atomic<std::uint32_t> home{0};   ///< the pass for which it has collected the blocks that came home
    // Owner worker only.
    std::uint32_t ended = 0;
    std::uint32_t pass = 0;   ///< under way if it is not `ended`
    std::uint64_t until = 0;  ///< items freed here, ever, when the retired ones are free
    std::uint64_t begun_ns = 0;
    std::uint64_t next_ns = 0;  ///< when it tries again
  };

  /// Whether a pass, or a later one, is behind: numbers have 31 bits.
  [[nodiscard]] static bool reached(std::uint32_t last, std::uint32_t pass) noexcept {
    return ((last - pass) & ~kSign) < kSign / 2;
  }
  void go_on(runtime::Worker& worker);
  [[nodiscard]] bool free_all(Part& own, runtime::Worker& worker);
  [[nodiscard]] bool all_reached(std::atomic<std::uint32_t> Part::* stage, std::uint32_t pass) const noexcept;

  static constexpr std::uint32_t kSign = std::uint32_t{1} << 31U;

  std::size_t workers_;
  std::unique_ptr<Part[]> parts_;
  alignas(runtime::kCacheLineBytes) std::atomic<std::uint32_t> wanted_{0};
};

}  // namespace mxkv::server

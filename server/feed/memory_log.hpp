// The log of a server without a directory: while there are watches, workers record their changes as they do for a
// journal, and the herald closes epochs and keeps them in a ring.
//
// *Switching on* waits three times for all workers. Without one of the waits a change could be missed:
//
//   1. seats      each worker begins a round with a seat among the epochs. Else a worker amid a round would record
//                 with a parked seat, and its epoch could be closed before the record is there.
//   2. listening  the commit point gets its listener, and each worker begins another round. Else a worker amid a
//                 round could still pass a change to nobody.
//   3. one epoch  is closed and passed. Changes that were recorded by some workers and not yet by others have its label
//                 at most. It is the first position.
//
// *Switching off*: the listener goes; once each worker has begun another round, nothing is recorded. Workers leave
// their seats, the herald hands all blocks back, and the workers take them.
//
// While nobody watches a worker loads one word a round. A change costs what it costs without a log.
//
// An epoch that is larger than the ring is not copied, and readers learn that it is gone. So memory stays bounded where
// workers record faster than the herald reads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "index/commit_point.hpp"
#include "runtime/base/cache_line.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/memory/memory_budget.hpp"
#include "server/commit/commit_desk.hpp"
#include "server/commit/commit_epochs.hpp"
#include "server/durability/store_journal.hpp"
#include "server/feed/feed_switch.hpp"
#include "server/feed/memory_ring.hpp"

namespace mxkv::server {

/// Start-up only.
struct MemoryLogOptions {
  std::uint64_t tag = 0;                             ///< of the positions; random
  std::size_t ring_bytes = std::size_t{32} << 20U;   ///< at least; the newest epoch stays whatever its size
  std::size_t value_bytes = std::size_t{64} << 10U;  ///< larger values are not kept
  std::uint64_t linger_ns = 60'000'000'000;          ///< it stays on for so long after the last watch
  std::uint64_t epoch_ns = 500'000;  ///< between the closings of two epochs that nobody waits for
};

struct MemoryLogHooks {
  std::function<void()> wake = [] {};  ///< the herald has to call step(); any worker
  std::function<void(std::size_t worker)> wake_worker = [](std::size_t /*worker*/) {
  };  ///< begins a round soon
};

/// Thread-safety: given per function.
class MemoryLog : public FeedSwitch {
 public:
  /// `workers[i]`: the context of worker i's buffer, its runtime::Worker. `commits` outlives this, and has no other
  /// listener.
  MemoryLog(const std::vector<void*>& workers, index::CommitPoint<std::string_view>& commits,
            const runtime::Clock& clock, runtime::MemoryBudget* budget, MemoryLogOptions options,
            MemoryLogHooks hooks);
  /// No worker runs any more.
  virtual ~MemoryLog();
  MemoryLog(const MemoryLog&) = delete;
  MemoryLog& operator=(const MemoryLog&) = delete;

  // -- worker `worker` only, as in CommitGate

  void begin_round(runtime::WorkerId worker) noexcept {
    Desk& desk = *desks_[worker.index()];
    // Acquire, pairs with ask(): what the herald did before it asked.
    if (const std::uint64_t asked = asked_.load(std::memory_order_acquire); asked != desk.heard)
        [[unlikely]] {
      answer(desk, worker, asked);
    }
    if (desk.seated) [[unlikely]] {
      static_cast<void>(desk.of_worker.begin_round(epochs_, worker, 0));
    }
  }
  void end_round(runtime::WorkerId worker) noexcept {
    Desk& desk = *desks_[worker.index()];
    if (desk.seated && desk.of_worker.end_round(epochs_, worker)) [[unlikely]] {
      hooks_.wake();
    }
  }
  void park(runtime::WorkerId worker) noexcept {
    Desk& desk = *desks_[worker.index()];
    if (!desk.seated) [[likely]] {
      return;
    }
    const bool news = desk.of_worker.end_round(epochs_, worker);  // of operations that sessions began since
    if (desk.of_worker.park(epochs_, worker) || news) {
      hooks_.wake();
    }
  }

  // -- the herald's thread

  void want(bool wanted) override { wanted_ = wanted; }
  [[nodiscard]] bool is_on() const noexcept override { return state_ == state::on; }
  [[nodiscard]] bool step(std::uint64_t now_ns) override;
  [[nodiscard]] std::uint64_t next_step_ns() const noexcept override;
  /// Whether it records nothing and holds no block.
  [[nodiscard]] bool is_off() const noexcept { return state_ == state::off; }
  [[nodiscard]] const MemoryRing& ring() const noexcept { return ring_; }
  [[nodiscard]] std::uint64_t tag() const noexcept { return options_.tag; }

  // -- any thread

  [[nodiscard]] const CommitEpochs& epochs() const noexcept { return epochs_; }
  [[nodiscard]] std::uint64_t need_recorded() noexcept override { return epochs_.last_recorded(); }
  /// The last epoch that was closed and passed.
  [[nodiscard]] std::uint64_t passed() const noexcept { return passed_.load(std::memory_order_acquire); }
  [[nodiscard]] std::size_t ring_bytes() const noexcept {
    return ring_bytes_.load(std::memory_order_relaxed);
  }

 protected:
  /// Whether all workers have done what they were asked to. The herald's thread.
  [[nodiscard]] virtual bool all_answered() const noexcept;

 private:
  enum class state : std::uint8_t {
    off,
    seating,    ///< workers take their seats
    listening,  ///< each worker begins a round that sees the listener
    settling,   ///< the epoch before the first one is closed
    on,
    leaving,     ///< each worker begins a round that sees no listener
    unseating,   ///< workers leave their seats
    taking_back  ///< workers take their blocks back
  };
  /// What a worker does when it hears of a state.
  enum class request : std::uint8_t { none, sit, begin_round, stand_up, take_back };
  static constexpr std::uint64_t kRequests = 8;  ///< asked_ counts in steps of this, plus the request

  struct alignas(2 * runtime::kCacheLineBytes) Desk {
    explicit Desk(BufferShare& share) noexcept : of_worker(share) {}
    CommitDesk of_worker;
    bool seated = false;
    std::uint64_t heard = 0;                 ///< of asked_
    std::atomic<std::uint64_t> answered{0};  ///< the same, published. Release, pairs with all_answered()
    RecordBlock* first = nullptr;            ///< the herald's: collected blocks of later epochs
    RecordBlock* last = nullptr;
  };

  void answer(Desk& desk, runtime::WorkerId worker, std::uint64_t asked) noexcept;
  void ask(request what) noexcept;
  [[nodiscard]] bool advance(std::uint64_t now_ns);
  [[nodiscard]] bool due(std::uint64_t now_ns) const noexcept;
  [[nodiscard]] bool close_epoch(std::uint64_t now_ns);
  void collect();
  [[nodiscard]] bool make_room(RingEpoch& to) const;
  [[nodiscard]] bool keeps_apart(const RecordBlock& block) const noexcept {
    return block.apart.owner != nullptr && block.apart.bytes <= options_.value_bytes;
  }
  void copy(RecordBlock& block, bool first_of_worker, RingEpoch& to);
  void drop_collected() noexcept;

  const MemoryLogOptions options_;
  const MemoryLogHooks hooks_;
  index::CommitPoint<std::string_view>& commits_;
  const runtime::Clock& clock_;
  CommitEpochs epochs_;
  BufferShare share_;
  std::vector<std::unique_ptr<Desk>> desks_;
  std::unique_ptr<StoreJournal> journal_;
  MemoryRing ring_;

  alignas(2 * runtime::kCacheLineBytes) std::atomic<std::uint64_t> asked_{
      0};  // release, pairs with begin_round()
  alignas(2 * runtime::kCacheLineBytes) std::atomic<std::uint64_t> passed_;  // release, pairs with passed()
  std::atomic<std::size_t> ring_bytes_{0};                                   // relaxed: statistics

  // The herald's.
  state state_ = state::off;
  bool wanted_ = false;
  std::uint64_t unwanted_since_ns_ = 0;  ///< 0: it is wanted
  bool closing_ = false;
  std::uint64_t closed_;
  std::uint64_t closed_ns_ = 0;
  std::uint64_t settle_ = 0;  ///< close this epoch even if it is empty
  std::vector<std::string_view> pieces_;
};

/// Reads the ring. A reader each; the herald's thread.
class RingSource final : public ChangeSource {
 public:
  explicit RingSource(const MemoryLog& log) noexcept : log_(log) {}

  [[nodiscard]] std::uint64_t tag() const noexcept override { return log_.tag(); }
  [[nodiscard]] std::uint64_t through() const noexcept override { return log_.passed(); }
  [[nodiscard]] Position oldest() const override { return {tag(), log_.ring().complete_behind()}; }
  [[nodiscard]] position_state seek(const Position& position) override;
  std::uint64_t seek_end() override { return at_ = through(); }
  [[nodiscard]] outcome next(ChangeEpoch& to) override;

 private:
  const MemoryLog& log_;
  std::uint64_t at_ = 0;
};

}  // namespace mxkv::server

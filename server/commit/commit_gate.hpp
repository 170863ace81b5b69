// The gate between a change and its reply: which epoch a reply waits for, and which epochs count. Behind it is a
// journal on a disk (server/journal/journal.hpp) or the logs of a cluster (server/cluster/epoch_pipeline.hpp).
// server/net sees plain numbers.
//
// A worker whose connections hold output says so (waits), and looks once more before it sleeps. The thread that
// commits publishes the durable epoch, and then looks which workers wait (changed). Both stores and both looks
// are sequentially consistent, so one of the two sees the other: no worker sleeps over a reply that may leave.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "runtime/base/assert.hpp"
#include "runtime/base/cache_line.hpp"
#include "runtime/base/ids.hpp"

namespace mxkv::server {

struct CommitGateOptions {
  /// Bytes that are recorded and do not count yet: above this, connections are not read.
  std::uint64_t most_waiting = ~std::uint64_t{0};
  /// Ends a worker's sleep. On the thread that commits.
  std::function<void(std::size_t worker)> wake = [](std::size_t /*worker*/) {};
};

/// Outlives the network. Functions with a worker are called by that worker alone, a few times a round; all others
/// by any thread, and return soon.
class CommitGate {
 public:
  /// The values for a worker's round, see WorkerContext.
  struct Round {
    std::uint64_t mint_us;
    std::uint64_t horizon_us;
  };

  CommitGate(std::size_t workers, CommitGateOptions options);
  CommitGate(const CommitGate&) = delete;
  CommitGate& operator=(const CommitGate&) = delete;

  /// Call it before anything else in a round, also after park(); `now_us` is the round's time.
  [[nodiscard]] virtual Round begin_round(runtime::WorkerId worker, std::uint64_t now_us) noexcept = 0;
  /// All tasks of the round have run: its records may be committed. Also called once more before park(), for
  /// operations that sessions began since.
  virtual void end_round(runtime::WorkerId worker) noexcept = 0;
  /// The worker is about to sleep, or has ended. It changes nothing until its next round begins. Each worker
  /// begins parked.
  virtual void park(runtime::WorkerId worker) noexcept = 0;
  /// From now on the worker has, or no longer has, output or input that waits. While it has, it is woken after
  /// durable(), broken() or reads_paused() changed. It looks at them once more, behind a seq_cst fence, before
  /// it sleeps.
  void waits(runtime::WorkerId worker, bool begins) noexcept {
    std::atomic<bool>& waits = seats_[worker.index()].waits;
    MXKV_DCHECK(waits.load(std::memory_order_relaxed) != begins, "a worker says once that it waits");
    waits.store(begins);
    if (begins) {
      wanted();
    }
  }

  /// The epoch that a reply written now has to wait for; 0: none. It does not fall while durable() is below
  /// it.
  [[nodiscard]] virtual std::uint64_t must_wait_for() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t durable() const noexcept = 0;
  /// The epoch that a reply written now has to wait for, and that is not durable yet; 0: none.
  [[nodiscard]] std::uint64_t awaited() const noexcept {
    const std::uint64_t epoch = must_wait_for();
    return epoch > durable() ? epoch : 0;
  }
  /// Grows whenever it can never be known whether the waiting replies count: their connections are closed.
  [[nodiscard]] virtual std::uint64_t broken() const noexcept = 0;
  /// How often memory was about to be dropped. A read that was let in before, and looks afterwards, would show too
  /// old items. So connections with requests under way are closed.
  struct Drops {
    std::uint64_t all = 0;
    std::uint64_t of_copies = 0;  ///< only clients that take a replica's answers may have such a read
    friend bool operator==(const Drops&, const Drops&) = default;
  };
  /// Ask behind begin_round(), which orders it.
  [[nodiscard]] virtual Drops drops() const noexcept { return {}; }
  /// Bytes of records that are not committed.
  [[nodiscard]] virtual std::uint64_t waiting_bytes() const noexcept = 0;
  /// Whether too many bytes wait: then connections are not read.
  [[nodiscard]] bool reads_paused() const noexcept { return waiting_bytes() > options_.most_waiting; }
  /// Replies, and requests that are not read, are given up after so long. 0: never.
  [[nodiscard]] virtual std::uint64_t most_wait_ns() const noexcept { return 0; }
  /// The line that clients get instead of given-up replies, here or by broken(), before they are closed;
  /// empty: none.
  [[nodiscard]] virtual std::string_view given_up_line() const noexcept { return {}; }
  /// Why changes are refused now; null: they are not. The text stays valid.
  [[nodiscard]] virtual const char* refusal() const noexcept { return nullptr; }

 protected:
  ~CommitGate() = default;

  /// The thread that commits calls this after durable(), broken(), reads_paused() or refusal() changed.
  void changed() const;
  [[nodiscard]] bool worker_waits(runtime::WorkerId worker) const noexcept {
    return seats_[worker.index()].waits.load();
  }

 private:
  struct alignas(2 * runtime::kCacheLineBytes) Seat {
    std::atomic<bool> waits{false};  // seq_cst, see above
  };

  /// A worker waits from now on, maybe for an epoch that nobody would commit yet.
  virtual void wanted() noexcept = 0;

  const std::size_t workers_;
  const CommitGateOptions options_;
  const std::unique_ptr<Seat[]> seats_;
};

}  // namespace mxkv::server

// Brings commit epochs to the logs of the shards. It closes an epoch, waits until all workers have passed it,
// and deals its records to the shards of their keys. When each of their logs has acknowledged its part, the
// epoch is durable.
//
// Unlike a disk (server/journal/journal_writer.hpp), a log answers late and takes much at once, so two epochs
// are under way. They become durable in order.
//
// *A lost shard.* When another node takes a shard, our unacknowledged records are void, and our memory holds
// void data. Until that memory is dropped, no epoch becomes durable, so no client sees void data. Then all
// waiting replies are given up (failures() moves on), and epochs become durable again only when each worker
// has seen that. If a straggler later records a change of a shard that this node does not own, the same
// begins anew.
//
// *Reads under way.* A read was let in while its shard was here, or its copy fresh, and looks some rounds later. If
// memory was dropped meanwhile, and maybe loaded from an older snapshot, the read shows items that are too old. So
// memory is dropped in three steps: no new read is let in; end_reads() moves drops() on; memory is dropped once the
// epoch that end_reads() returned has passed. A worker whose round may still run when memory is dropped has seen
// drops() at its beginning, and closed the connections with requests under way.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/clock.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/memory/memory_budget.hpp"
#include "server/cluster/routes.hpp"
#include "server/commit/commit_desk.hpp"
#include "server/commit/commit_epochs.hpp"
#include "server/commit/commit_gate.hpp"
#include "server/commit/record.hpp"

namespace mxkv::server {

/// The cluster's thread calls all of these, except `wake`.
struct PipelineHooks {
  std::function<void()> wake;  ///< makes the thread call step(); called by any thread
  /// Submits an epoch's records to the shard's log. False: the shard is not this node's; see lost().
  std::function<bool(std::uint32_t shard, std::uint64_t epoch, const std::string& body)> submit;
  /// Records arrived for a shard that is not this node's: memory holds void data, as if lost() had been
  /// called. A call of found_clean() must follow for this, too.
  std::function<void(std::uint32_t shard)> strayed;
  std::function<void()> changed = [] {};  ///< durable(), failures() or waiting_bytes() has changed
};

/// The pipeline's counters. Relaxed: each is independent.
struct PipelineCounts {
  std::atomic<std::uint64_t> groups{0};  ///< one for each shard and epoch
  std::atomic<std::uint64_t> records{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> voided{0};  ///< void records
};

/// Thread-safety: given per function.
class EpochPipeline final : public CommitGate {
 public:
  /// Unacknowledged epochs: while one is under way, the next one gathers records. More of them make smaller
  /// groups, of which brokers accept fewer bytes, and librdkafka spins if a broker has more than five.
  static constexpr std::size_t kMostUnderWay = 2;

  /// A reply that waits for `most_wait_ns` is given up; 0: none is.
  EpochPipeline(std::size_t workers, const Routes& routes, const runtime::Clock& clock,
                runtime::MemoryBudget* budget, PipelineHooks hooks, CommitGateOptions gate = {},
                std::uint64_t most_wait_ns = 0);
  ~EpochPipeline();
  EpochPipeline(const EpochPipeline&) = delete;
  EpochPipeline& operator=(const EpochPipeline&) = delete;

  // -- worker `worker` only, as in Journal

  [[nodiscard]] Round begin_round(runtime::WorkerId worker, std::uint64_t now_us) noexcept override;
  void end_round(runtime::WorkerId worker) noexcept override;
  void park(runtime::WorkerId worker) noexcept override;
  [[nodiscard]] RecordBuffer& buffer(runtime::WorkerId worker) noexcept {
    return desks_[worker.index()]->of_worker.buffer;
  }

  // -- any thread

  [[nodiscard]] const CommitEpochs& epochs() const noexcept { return epochs_; }
  /// How often waiting replies were given up.
  [[nodiscard]] std::uint64_t failures() const noexcept { return failures_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t must_wait_for() const noexcept override {
    const std::uint64_t recorded = epochs_.last_recorded();
    return recorded <= epochs_.durable() ? 0 : recorded;
  }
  [[nodiscard]] std::uint64_t durable() const noexcept override { return epochs_.durable(); }
  [[nodiscard]] std::uint64_t broken() const noexcept override { return failures(); }
  [[nodiscard]] Drops drops() const noexcept override {
    // Relaxed: the worker's begin_round() has acquired the epoch that end_reads() made current.
    return {.all = drops_.load(std::memory_order_relaxed),
            .of_copies = drops_of_copies_.load(std::memory_order_relaxed)};
  }
  [[nodiscard]] std::uint64_t most_wait_ns() const noexcept override { return most_wait_ns_; }
  [[nodiscard]] std::string_view given_up_line() const noexcept override;
  /// Bytes of records that are not acknowledged.
  [[nodiscard]] std::uint64_t waiting_bytes() const noexcept override {
    return share_.waiting_bytes.load(std::memory_order_relaxed) +
           under_way_bytes_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] const PipelineCounts& counts() const noexcept { return counts_; }

  // -- the cluster's thread

  /// Takes one step if there is one to take.
  bool step();
  /// The shard's log has all records submitted up to `epoch`.
  void acknowledged(std::uint32_t shard, std::uint64_t epoch);
  /// The shard's unacknowledged records are void. One found_clean() must follow for each call.
  void lost(std::uint32_t shard);
  /// Memory has no void data of one loss any more.
  void found_clean();
  /// Whether new records of the shard count: they can no longer be mistaken for the lost ones.
  [[nodiscard]] bool counts_again(std::uint32_t shard) const noexcept {
    return passed_ >= void_through_[shard];
  }
  /// Whether all records are durable, and no shard is being cleaned.
  [[nodiscard]] bool idle() const noexcept;
  /// Ends the present epoch and returns it: see passed().
  std::uint64_t end_epoch() noexcept;
  /// The memory of a shard whose route lets no read in any more is about to be dropped: its reads under way are not
  /// answered. `was_here`: since its memory was empty it was here, so any client may have one; else only clients that
  /// take a replica's answers. Memory may be dropped once the returned epoch has passed.
  std::uint64_t end_reads(bool was_here) noexcept;
  /// The last epoch whose records have all been submitted: each worker has ended a round since it was closed.
  [[nodiscard]] std::uint64_t passed() const noexcept { return passed_; }

 private:
  struct Desk {
    explicit Desk(BufferShare& share) noexcept : of_worker(share) {}
    CommitDesk of_worker;
    RecordBlock* first = nullptr;  ///< collected blocks of later epochs; for the cluster's thread
    RecordBlock* last = nullptr;
  };
  struct UnderWay {
    std::uint64_t epoch = 0;
    std::uint64_t horizon_us = 0;
    std::uint64_t bytes = 0;
    std::vector<std::uint32_t> shards;  ///< shards whose logs have not acknowledged
  };
  /// Stands between clean memory and the next durable epoch.
  struct Fence {
    bool told = false;        ///< failures() has moved on
    std::uint64_t epoch = 0;  ///< must be passed first
  };

  void wanted() noexcept override { hooks_.wake(); }
  void tell();
  [[nodiscard]] bool due() const noexcept;
  void collect();
  void deal(const RecordBlock& block);
  using DealPart = std::function<void(std::uint32_t shard, const RecordBounds& bounds)>;
  void deal_range(const RecordBounds& bounds, const DealPart& add);
  std::string& body_of(std::uint32_t shard, std::uint64_t epoch);
  void submit();
  void pass_fences();
  void publish();

  CommitEpochs epochs_;
  BufferShare share_;
  std::vector<std::unique_ptr<Desk>> desks_;
  const Routes& routes_;
  const runtime::Clock& clock_;
  PipelineHooks hooks_;
  const std::uint64_t most_wait_ns_;
  PipelineCounts counts_;
  std::atomic<std::uint64_t> failures_{0};  // release, pairs with failures()
  std::atomic<std::uint64_t> drops_{0};     // one writer, as the next one; see drops()
  std::atomic<std::uint64_t> drops_of_copies_{0};
  std::atomic<std::uint64_t> under_way_bytes_{0};

  // For the cluster's thread only.
  bool closing_ = false;
  std::uint64_t closed_;
  std::uint64_t passed_;
  std::uint64_t wanted_ = 0;  ///< close this epoch, even if it is empty
  std::deque<UnderWay> under_way_;
  std::vector<std::uint64_t> void_through_;  ///< by shard: records up to this epoch are void
  std::vector<std::string> bodies_;          ///< by shard, for the epoch being dealt
  std::vector<std::uint32_t> touched_;       ///< shards with a body
  std::vector<std::uint32_t> strayed_;
  std::vector<std::string_view> pieces_;
  std::size_t holds_ = 0;  ///< losses whose fence has not ended
  std::vector<Fence> fences_;
};

}  // namespace mxkv::server

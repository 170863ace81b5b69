// Brings commit epochs to the logs of the shards: closes an epoch, waits until all workers passed it, deals its records
// to the shards whose keys they are of, and says that it is durable when each of their logs has acknowledged its part.
//
// Unlike a disk (server/journal/journal_writer.hpp) a log answers late and takes in much at once: more than one epoch is
// under way. They become durable in order.
//
// *A shard that is lost* to another node leaves records behind that count for nobody, and memory that holds them. Until
// that is thrown away nothing becomes durable, so that nobody is told what was read of it; then all replies that wait
// are given up (failures() moves on), and only when each worker knows of that it goes on. What a straggler records
// behind that, for a shard that is not this node's, begins the same anew.
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
#include "server/journal/commit_epochs.hpp"
#include "server/journal/journal_desk.hpp"
#include "server/journal/record.hpp"

namespace mxkv::server {

/// All are called on the cluster's thread, but for `wake`.
struct PipelineHooks {
  std::function<void()> wake;  ///< of step(), by any thread
  /// Records of an epoch, for the shard's log. False: the shard is not this node's; see lost().
  std::function<bool(std::uint32_t shard, std::uint64_t epoch, const std::string& body)> submit;
  /// Records came of a shard that is not this node's: memory holds what does not count, as if lost() had been called.
  /// found_clean() is to follow for this one, too.
  std::function<void(std::uint32_t shard)> strayed;
  std::function<void()> changed;  ///< durable(), failures() or waiting_bytes()
};

/// What it counts. Relaxed: each is a number of its own.
struct PipelineCounts {
  std::atomic<std::uint64_t> groups{0};  ///< of a shard and an epoch
  std::atomic<std::uint64_t> records{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> voided{0};  ///< records that count for nobody
};

/// Thread-safety: given per function.
class EpochPipeline {
 public:
  /// Epochs that are not acknowledged: the next one gathers while one is on its way, and one is being taken in. More
  /// make smaller groups, of which brokers take fewer bytes, and librdkafka spins over more than five a broker.
  static constexpr std::size_t kMostUnderWay = 2;

  EpochPipeline(std::size_t workers, const Routes& routes, const runtime::Clock& clock,
                runtime::MemoryBudget* budget, PipelineHooks hooks);
  ~EpochPipeline();
  EpochPipeline(const EpochPipeline&) = delete;
  EpochPipeline& operator=(const EpochPipeline&) = delete;

  // -- worker `worker` only, as Journal has them

  [[nodiscard]] std::uint64_t begin_round(runtime::WorkerId worker, std::uint64_t now_us) noexcept;
  void end_round(runtime::WorkerId worker) noexcept;
  void park(runtime::WorkerId worker) noexcept;
  [[nodiscard]] JournalBuffer& buffer(runtime::WorkerId worker) noexcept {
    return desks_[worker.index()]->of_worker.buffer;
  }

  // -- any thread

  [[nodiscard]] const CommitEpochs& epochs() const noexcept { return epochs_; }
  /// How often replies that waited were given up.
  [[nodiscard]] std::uint64_t failures() const noexcept { return failures_.load(std::memory_order_acquire); }
  /// Of what was recorded and is not acknowledged.
  [[nodiscard]] std::uint64_t waiting_bytes() const noexcept {
    return share_.waiting_bytes.load(std::memory_order_relaxed) +
           under_way_bytes_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] const PipelineCounts& counts() const noexcept { return counts_; }

  // -- the cluster's thread

  /// Does one thing if there is one to do.
  bool step();
  /// The shard's log has all that was submitted up to `epoch`.
  void acknowledged(std::uint32_t shard, std::uint64_t epoch);
  /// What was recorded of the shard and is not acknowledged counts for nobody. found_clean() follows, once for each.
  void lost(std::uint32_t shard);
  /// Memory holds nothing of that any more.
  void found_clean();
  /// What is recorded of the shard from now on is not taken for what was lost with it.
  [[nodiscard]] bool counts_again(std::uint32_t shard) const noexcept {
    return passed_ >= void_through_[shard];
  }
  /// Whether all that was recorded is durable, and no shard is being cleaned.
  [[nodiscard]] bool idle() const noexcept;
  /// Ends the epoch of now, and returns it: see passed().
  std::uint64_t end_epoch() noexcept;
  /// The last epoch whose records are all with the logs: each worker has ended a round since it was closed.
  [[nodiscard]] std::uint64_t passed() const noexcept { return passed_; }

 private:
  struct Desk {
    explicit Desk(BufferShare& share) noexcept : of_worker(share) {}
    JournalDesk of_worker;
    JournalBlock* first = nullptr;  ///< collected, and of a later epoch; the cluster's thread
    JournalBlock* last = nullptr;
  };
  struct UnderWay {
    std::uint64_t epoch = 0;
    std::uint64_t horizon_us = 0;
    std::uint64_t bytes = 0;
    std::vector<std::uint32_t> shards;  ///< whose logs have not answered
  };
  /// Between memory that is clean and the next durable epoch.
  struct Fence {
    bool told = false;        ///< failures() has moved on
    std::uint64_t epoch = 0;  ///< has to be passed
  };

  [[nodiscard]] bool due() const noexcept;
  void collect();
  void deal(const JournalBlock& block);
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
  PipelineCounts counts_;
  std::atomic<std::uint64_t> failures_{0};  // release, pairs with failures()
  std::atomic<std::uint64_t> under_way_bytes_{0};

  // The cluster's thread's.
  bool closing_ = false;
  std::uint64_t closed_;
  std::uint64_t passed_;
  std::uint64_t wanted_ = 0;  ///< this epoch is to be closed, whatever is in it
  std::deque<UnderWay> under_way_;
  std::vector<std::uint64_t> void_through_;  ///< by shard: records up to this epoch count for nobody
  std::vector<std::string> bodies_;          ///< by shard, of the epoch that is dealt
  std::vector<std::uint32_t> touched_;       ///< shards with a body
  std::vector<std::uint32_t> strayed_;
  std::vector<std::string_view> pieces_;
  std::size_t holds_ = 0;  ///< lost() without the end of its fence
  std::vector<Fence> fences_;
};

}  // namespace mxkv::server

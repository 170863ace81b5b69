// The memory of the shards that a node follows: applies their logs to the live store, while workers run.
//
// Records are dealt to the workers by key, so that the records of one key are applied in order. Tasks on the
// tree apply them, with lower priority than the workers' other tasks. A range operation waits until all
// earlier records of its shard are in the tree, and the shard's later records wait for it.
//
// Items keep the orders of their records. So nothing is minted here, a log may be applied again from an
// earlier position, and other changes of the store in between, its sweeps for example, do no harm.
//
// A lagging log may still have an earlier touch of an item that has expired here. So a node that follows logs
// lets the store remove expired items only up to the moment for which all logs are applied
// (Store::hold_expired()).
//
// Nothing is lost in silence: if a record cannot be applied, because memory is short or the record is invalid,
// its shard fails. The shard's other records are skipped, and other shards go on. A drop of the shard ends that
// state: then its memory is empty, and can be loaded again. The drop waits for no other shard, because they may
// wait for the memory that it frees. A shard that is loaded again fails before those that have their memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/scheduler/runtime.hpp"
#include "server/cluster/applied_memory.hpp"
#include "server/cluster/apply_lane.hpp"
#include "server/cluster/apply_stage.hpp"

namespace mxkv::server {

class Routes;
class Store;

/// One per node. It outlives the workers' tasks.
class ShardMemory final : public AppliedMemory {
 public:
  /// `wake`: called on any worker when finished() has moved, or a shard has failed. `routes`: limits
  /// operations on ranges, and flushes, to their shard; null: there is one shard, whatever its number, and a
  /// flush removes all items.
  ShardMemory(runtime::Runtime& runtime, Store& store, std::function<void()> wake,
              const Routes* routes = nullptr);
  ShardMemory(const ShardMemory&) = delete;
  ShardMemory& operator=(const ShardMemory&) = delete;
  ~ShardMemory() override;

  // -- one thread, not a worker

  /// Applies a copy of the body (record_body.hpp) of a whole group. Its records may be in any order.
  void apply(std::uint32_t shard, std::string_view records) override;
  /// Removes all items of the shard's range, [from, to), whatever their order, except those applied later.
  /// `to` empty: to the end. The shard has not failed afterwards.
  void drop(std::uint32_t shard, std::string_view from, std::string_view to) override;
  void give_way(std::uint32_t shard, bool gives_way) override;
  /// The number of the shard's calls of apply() and drop().
  [[nodiscard]] std::uint64_t begun(std::uint32_t shard) const noexcept override {
    return line_of(shard).begun;
  }

  // -- any thread

  /// All calls of the shard up to this one are in the tree, except skipped ones.
  [[nodiscard]] std::uint64_t finished(std::uint32_t shard) const noexcept override {
    return line_of(shard).finished.load(std::memory_order_acquire);
  }
  /// The greatest order of all finished calls: new changes get greater ones.
  [[nodiscard]] std::uint64_t greatest_order() const noexcept {
    return greatest_order_.load(std::memory_order_acquire);
  }
  /// The bytes of calls that are not finished.
  [[nodiscard]] std::uint64_t waiting_bytes() const noexcept {
    return waiting_bytes_.load(std::memory_order_relaxed);
  }
  /// Whether more bytes wait: then the caller holds back new messages.
  [[nodiscard]] bool is_behind(std::uint64_t bytes) const noexcept { return waiting_bytes() > bytes; }
  [[nodiscard]] bool failed(std::uint32_t shard) const noexcept override {
    return line_of(shard).failed.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::string failure(std::uint32_t shard) const override;
  /// How often shards have failed.
  [[nodiscard]] std::uint64_t failures() const noexcept { return failures_.load(std::memory_order_acquire); }
  /// Delayed flushes in logs, which are skipped: a cluster has none.
  [[nodiscard]] std::uint64_t ignored_flushes() const noexcept {
    return ignored_flushes_.load(std::memory_order_relaxed);
  }

  // -- for its tasks

  [[nodiscard]] Store& store() noexcept { return store_; }
  /// The key of a put, a gone or a touch.
  [[nodiscard]] static std::string_view key_of(const Record& record) noexcept;
  /// Gives a lane its new stages. False: there are none, and the lane's task ends.
  [[nodiscard]] bool take(ApplyLane& lane);
  /// A lane, or the range, of a stage is done.
  void part_ended(ApplyStage& stage);
  /// There is no memory for a record of this stage: its shard fails, or one that gives way. Returns whether the
  /// stage is void now.
  [[nodiscard]] bool lacks_memory(ApplyStage& stage);

 private:
  /// One shard.
  struct Line {
    std::uint64_t begun = 0;  ///< for the caller's thread
    // Under the mutex.
    std::deque<std::unique_ptr<ApplyStage>> stages;
    std::size_t started = 0;  ///< how many stages, from the first, have begun
    bool gives_way = false;
    std::string failure;
    // Any thread.
    std::atomic<std::uint64_t> finished{0};  // release: the tree's changes, and the two below
    std::atomic<bool> failed{false};         // release: before a call ends that failed or is skipped
  };
  /// The tasks to start once the mutex is free.
  struct Starts {
    std::vector<std::uint32_t> lanes;
    ApplyStage* range = nullptr;
  };

  [[nodiscard]] Line& line_of(std::uint32_t shard) noexcept {
    return shards_[routes_ == nullptr ? 0 : shard];
  }
  [[nodiscard]] const Line& line_of(std::uint32_t shard) const noexcept {
    return shards_[routes_ == nullptr ? 0 : shard];
  }
  void add(std::uint32_t shard, ApplyStages stages, std::uint64_t bytes);
  /// Under the mutex: makes the stages of a shard void, except its drops.
  void fail(Line& line, std::string_view text);
  /// Under the mutex: begins the shard's stages that may begin, and ends those that are done. Returns whether
  /// finished() has moved.
  [[nodiscard]] bool go_on(Line& line, Starts& starts);
  /// Under the mutex: begins the shard's stages that may begin.
  void begin_next(Line& line, Starts& starts);
  /// Under the mutex: drops finished stages at the front. Returns whether finished() has moved.
  [[nodiscard]] bool end_first(Line& line);
  void start(const Starts& starts);
  template <class Task, class... Args>
  void spawn(std::uint32_t worker, Args&&... args);

  runtime::Runtime& runtime_;
  Store& store_;
  const std::function<void()> wake_;
  const Routes* routes_;
  std::deque<ApplyLane> lanes_;
  mutable std::mutex mutex_;
  std::deque<Line> shards_;

  std::atomic<std::uint64_t> greatest_order_{0};  // one writer at a time: under the mutex
  std::atomic<std::uint64_t> waiting_bytes_{0};   // relaxed: a measure
  std::atomic<std::uint64_t> ignored_flushes_{0};
  std::atomic<std::uint64_t> failures_{0};  // release: the stages that became void
};

}  // namespace mxkv::server

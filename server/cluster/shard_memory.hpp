// The memory of the shards that a node follows: applies their logs to the live store, while workers run.
//
// Records are dealt to the workers by key, so that the records of one key are applied in order. Tasks on the
// tree apply them, with lower priority than the workers' other tasks. A range operation waits until all
// earlier records are in the tree, and later records wait for it.
//
// Items keep the orders of their records. So nothing is minted here, a log may be applied again from an
// earlier position, and other changes of the store in between, its sweeps for example, do no harm.
//
// A lagging log may still have an earlier touch of an item that has expired here. So a node that follows logs
// lets the store remove expired items only up to the moment for which all logs are applied
// (Store::hold_expired()).
//
// Nothing is lost in silence: a record that cannot be applied, because memory is short or the record is
// invalid, ends all applying.
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
  /// `wake`: called on any worker when finished() has moved, or failed() became true. `routes`: limits
  /// operations on ranges, and flushes, to their shard; null: there is no limit, and a flush removes all
  /// items.
  ShardMemory(runtime::Runtime& runtime, Store& store, std::function<void()> wake,
              const Routes* routes = nullptr);
  ShardMemory(const ShardMemory&) = delete;
  ShardMemory& operator=(const ShardMemory&) = delete;
  ~ShardMemory() override;

  // -- one thread, not a worker

  /// Applies a copy of the body (record_body.hpp) of a whole group. Its records may be in any order.
  void apply(std::uint32_t shard, std::string_view records) override;
  /// Removes all items of [from, to), whatever their order, except those applied later. `to` empty: to the
  /// end.
  void drop(std::uint32_t shard, std::string_view from, std::string_view to) override;
  /// The number of calls of these two.
  [[nodiscard]] std::uint64_t begun() const noexcept override { return begun_; }

  // -- any thread

  /// All calls up to this one are in the tree.
  [[nodiscard]] std::uint64_t finished() const noexcept override {
    return finished_.load(std::memory_order_acquire);
  }
  /// The greatest order applied up to finished(): new changes get greater ones.
  [[nodiscard]] std::uint64_t greatest_order() const noexcept {
    return greatest_order_.load(std::memory_order_acquire);
  }
  /// The bytes of calls that are not finished.
  [[nodiscard]] std::uint64_t waiting_bytes() const noexcept {
    return waiting_bytes_.load(std::memory_order_relaxed);
  }
  /// Whether more bytes wait: then the caller holds back new messages. Never true after a failure.
  [[nodiscard]] bool is_behind(std::uint64_t bytes) const noexcept {
    return waiting_bytes() > bytes && !failed();
  }
  /// A record could not be applied. Nothing is applied from then on, and finished() stays before that call.
  [[nodiscard]] bool failed() const noexcept override { return failed_.load(std::memory_order_acquire); }
  [[nodiscard]] std::string failure() const;
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
  void fail(std::string_view text);
  void lacks_memory(runtime::Worker& worker);

 private:
  /// The tasks to start once the mutex is free.
  struct Starts {
    std::vector<std::uint32_t> lanes;
    ApplyStage* range = nullptr;
  };

  void add(ApplyStages stages, std::uint64_t bytes);
  /// Under the mutex: begins the stages that may begin, and ends those that are done. Returns whether
  /// finished() has moved.
  [[nodiscard]] bool go_on(Starts& starts);
  /// Under the mutex: begins the stages that may begin.
  void begin_next(Starts& starts);
  /// Under the mutex: drops finished stages at the front. Returns whether finished() has moved.
  [[nodiscard]] bool end_first();
  void start(const Starts& starts);
  template <class Task, class... Args>
  void spawn(std::uint32_t worker, Args&&... args);

  runtime::Runtime& runtime_;
  Store& store_;
  const std::function<void()> wake_;
  const Routes* routes_;
  std::deque<ApplyLane> lanes_;
  std::uint64_t begun_ = 0;

  mutable std::mutex mutex_;  ///< guards the members below
  std::deque<std::unique_ptr<ApplyStage>> stages_;
  std::size_t started_ = 0;  ///< how many stages, from the first, have begun
  std::string failure_;

  std::atomic<std::uint64_t> finished_{0};        // release: the tree's changes, and the two below
  std::atomic<std::uint64_t> greatest_order_{0};  // one writer at a time: under the mutex
  std::atomic<std::uint64_t> waiting_bytes_{0};   // relaxed: a measure
  std::atomic<std::uint64_t> ignored_flushes_{0};
  std::atomic<bool> failed_{false};
};

}  // namespace mxkv::server

// The memory of the shards that a node follows: what their logs say is put into the live store, while workers run.
//
// Records are dealt to the workers by their keys, so that those of a key are applied in order, and are applied by
// tasks on the tree behind the workers' other ones. What concerns a range waits until all that came before is in
// the tree, and what comes later waits for it.
//
// Items get the order that their records have. So nothing is minted here, a log may be applied again from an
// earlier position, and it meets no harm that other changes of the store, its sweeps for example, come in between.
//
// Where a log is behind it may tell of an item that has expired here that it was touched before. So whoever follows
// logs holds back what the store removes of its own (Store::hold_expired()) up to where all of them are applied.
//
// Nothing is lost in silence: what cannot be applied, for want of memory or since it is no record, is the end.
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

/// One a node. It outlives the workers' tasks.
class ShardMemory final : public AppliedMemory {
 public:
  /// `wake`: is called on any worker when finished() has moved, or failed() came. `routes`: operations on ranges,
  /// and flushes, are kept within their shard; null: they concern whatever they say, flushes all.
  ShardMemory(runtime::Runtime& runtime, Store& store, std::function<void()> wake,
              const Routes* routes = nullptr);
  ShardMemory(const ShardMemory&) = delete;
  ShardMemory& operator=(const ShardMemory&) = delete;
  ~ShardMemory() override;

  // -- one thread, which is no worker's

  /// Applies the body (record_body.hpp) of a whole group, a copy of it. Its records may be in any order.
  void apply(std::uint32_t shard, std::string_view records) override;
  /// All items of [from, to) go, whatever their order, but for what is applied later. `to` empty: there is no end.
  void drop(std::uint32_t shard, std::string_view from, std::string_view to) override;
  /// Calls of these two.
  [[nodiscard]] std::uint64_t begun() const noexcept override { return begun_; }

  // -- any thread

  /// All calls up to this one are in the tree.
  [[nodiscard]] std::uint64_t finished() const noexcept override {
    return finished_.load(std::memory_order_acquire);
  }
  /// Of what was applied up to finished(): new changes get greater ones.
  [[nodiscard]] std::uint64_t greatest_order() const noexcept {
    return greatest_order_.load(std::memory_order_acquire);
  }
  /// Of calls that are not finished.
  [[nodiscard]] std::uint64_t waiting_bytes() const noexcept {
    return waiting_bytes_.load(std::memory_order_relaxed);
  }
  /// More waits than that: what comes is to be held back. Never where nothing is applied any more.
  [[nodiscard]] bool is_behind(std::uint64_t bytes) const noexcept {
    return waiting_bytes() > bytes && !failed();
  }
  /// Something could not be applied. Nothing is from then on, and finished() stays before it.
  [[nodiscard]] bool failed() const noexcept override { return failed_.load(std::memory_order_acquire); }
  [[nodiscard]] std::string failure() const;
  /// Delayed flushes in logs: a cluster has none, and they are left out.
  [[nodiscard]] std::uint64_t ignored_flushes() const noexcept {
    return ignored_flushes_.load(std::memory_order_relaxed);
  }

  // -- its tasks

  [[nodiscard]] Store& store() noexcept { return store_; }
  /// Of a put, a gone or a touch.
  [[nodiscard]] static std::string_view key_of(const Record& record) noexcept;
  /// Gives a lane what came. False: nothing, and its task ends.
  [[nodiscard]] bool take(ApplyLane& lane);
  /// A lane, or the range, of a stage is done.
  void part_ended(ApplyStage& stage);
  void fail(std::string_view text);
  void lacks_memory(runtime::Worker& worker);

 private:
  /// What is to be started once the mutex is free.
  struct Starts {
    std::vector<std::uint32_t> lanes;
    ApplyStage* range = nullptr;
  };

  void add(ApplyStages stages, std::uint64_t bytes);
  /// Under the mutex: begins what may begin, and ends what is done. Whether finished() has moved.
  [[nodiscard]] bool go_on(Starts& starts);
  /// Under the mutex: whatever may begin now.
  void begin_next(Starts& starts);
  /// Under the mutex: drops stages at the front that are done. The same.
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

  mutable std::mutex mutex_;  ///< of what follows
  std::deque<std::unique_ptr<ApplyStage>> stages_;
  std::size_t started_ = 0;  ///< of them
  std::string failure_;

  std::atomic<std::uint64_t> finished_{0};        // release: what is in the tree, and the two below
  std::atomic<std::uint64_t> greatest_order_{0};  // one writer at a time: under the mutex
  std::atomic<std::uint64_t> waiting_bytes_{0};   // relaxed: a measure
  std::atomic<std::uint64_t> ignored_flushes_{0};
  std::atomic<bool> failed_{false};
};

}  // namespace mxkv::server

// The store: memcached's commands, and ranges, over the tree of items. It parses nothing and knows no
// sockets. Requests come parsed; replies go to the worker's ConnectionTable. session_store.hpp says what
// sessions may rely on.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "protocol/point_request.hpp"
#include "runtime/memory/short_latch.hpp"
#include "server/store/batch/batch.hpp"
#include "server/store/core/store_state.hpp"
#include "server/store/item/item_builder.hpp"
#include "server/store/locks/repartitioner.hpp"
#include "server/store/range/dump_progress.hpp"
#include "server/store/range/range_task.hpp"
#include "server/store/session_store.hpp"
#include "server/store/upkeep/upkeep.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

struct StoreOptions {
  index::TreeOptions tree;
  RangeLimits ranges;
  runtime::ToggleOptions toggle{.slots_per_bucket = 32};  ///< of operations that hold keys
  std::uint64_t value_bytes = std::uint64_t{1} << 20U;  ///< longest value; an append may not exceed it either
  bool evacuation = true;                               ///< move items out of sparse spans
  bool evict = false;                                   ///< make room when memory runs short
  bool evict_large_first = true;                        ///< an item's size has a say in that
  std::uint32_t merge_after = LeafMerger::kLeastRemoved;  ///< removals, at least, after which leaves merge
  std::vector<QuotaOptions> quotas;                       ///< their prefixes differ, and none is empty
};

class Store final : public SessionStore {
 public:
  /// Start-up only. Each worker gets a context, which is its Worker::local() from then on. The owner of the
  /// sockets adds the ConnectionTable to it. Throws std::bad_alloc.
  Store(runtime::Runtime& runtime, const StoreOptions& options);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // --- For sessions, see SessionStore ---

  void point(runtime::Worker& worker, const protocol::PointRequest& request, ItemBuilder* value,
             const ReplyAddress& address, CommitSeq seq) override;
  void get(runtime::Worker& worker, std::span<const protocol::AskedKey> keys, bool with_cas,
           const ReplyAddress& first) override;
  [[nodiscard]] std::size_t set(runtime::Worker& worker, std::span<const protocol::SentValue> values,
                                const ReplyAddress& first, CommitSeq seq) override;
  void range(runtime::Worker& worker, const protocol::Request& request, const ReplyAddress& address) override;
  [[nodiscard]] std::unique_ptr<ReceivedBatch> begin_batch(std::uint32_t lines) override;
  void batch(runtime::Worker& worker, std::unique_ptr<ReceivedBatch> batch,
             const ReplyAddress& address) override;
  void dump(runtime::Worker& worker, DumpProgress& progress, const ReplyAddress& address) override;
  bool flush_all(runtime::Worker& worker, std::int64_t delay_s, const ReplyAddress& address,
                 protocol::BinaryForm form) override;
  void sampled(runtime::Worker& worker, std::string_view key, bool gets) override;
  void count_too_large(runtime::Worker& worker) noexcept override;
  void count_no_memory(runtime::Worker& worker) noexcept override;
  [[nodiscard]] bool makes_room(runtime::Worker& worker, shortage what, RoomWait& wait) noexcept override {
    return upkeep_.makes_room(worker, what, wait);
  }

  /// Housekeeping of a worker: call this every round.
  void maintain(runtime::Worker& worker) { upkeep_.tick(worker); }

  // Any thread.

  /// For requests that begin later.
  void set_limits(const RangeLimits& ranges, std::uint64_t value_bytes) noexcept;
  void set_upkeep(const UpkeepOptions& options) noexcept { upkeep_.set_options(options); }
  /// New limits for the prefixes that the store has had from the start.
  void set_quotas(const std::vector<QuotaOptions>& quotas) noexcept {
    if (state_.quotas() != nullptr) {
      state_.quotas()->set_limits(quotas);
    }
  }
  /// Null: there are none.
  [[nodiscard]] const Quotas* quotas() const noexcept { return state_.quotas(); }
  /// Keeps items that expire at this moment (steady us, not 0) or later in the tree, though they count as
  /// gone: a node that follows a lagging log may still learn that an item lives on. The greatest number: no
  /// item is kept.
  void hold_expired(std::uint64_t from_us) noexcept { state_.hold_expired(from_us); }
  /// Whether eviction removes large items before small ones.
  [[nodiscard]] bool weighs_size() const noexcept { return upkeep_.weighs_size(); }
  /// Whether items are evicted when memory runs short.
  [[nodiscard]] bool evicts() const noexcept { return upkeep_.evicts(); }
  /// Whether items are moved out of sparse spans.
  [[nodiscard]] bool evacuates() const noexcept { return upkeep_.defragments(); }
  /// As StoreState::tears_down().
  [[nodiscard]] bool tears_down() const noexcept { return state_.tears_down(); }
  /// The greatest of the orders minted so far and of `now_us`.
  [[nodiscard]] std::uint64_t greatest_order(std::uint64_t now_us) const noexcept {
    return state_.greatest_order(now_us);
  }
  /// Sum of a counter over all workers.
  [[nodiscard]] std::uint64_t total(counter which) const noexcept { return state_.total(which); }
  [[nodiscard]] WatchHub& watch_hub() noexcept { return watch_hub_; }
  [[nodiscard]] Happenings& happenings() noexcept { return happenings_; }
  [[nodiscard]] ItemTree& tree() noexcept { return state_.tree(); }
  [[nodiscard]] RangeLocks& locks() noexcept { return locks_; }
  [[nodiscard]] ExpirySweep& sweep() noexcept { return upkeep_.sweep(); }
  [[nodiscard]] const ExpirySweep& sweep() const noexcept { return upkeep_.sweep(); }
  [[nodiscard]] Ghosts& ghosts() noexcept { return upkeep_.ghosts(); }
  [[nodiscard]] const ExpiredPresent& expired_present() const noexcept { return upkeep_.expired_present(); }
  [[nodiscard]] const FlushPoints& flush_points() const noexcept { return state_.flush_points(); }
  [[nodiscard]] WorkerContext& context(runtime::WorkerId worker) noexcept { return state_.context(worker); }
  /// Resumes a delayed flush of an earlier process; points as FlushPoints has them. Start-up only.
  void resume_flush(std::uint64_t next_us, std::uint64_t before_us) noexcept;
  /// Frees tasks that wait for keys. Only when no worker runs any more.
  void discard_waiting(runtime::Runtime& runtime) noexcept;

 private:
  void write(runtime::Worker& worker, const protocol::PointRequest& request, Item* sent,
             const ReplyAddress& address, CommitSeq seq);
  void write_minded(runtime::Worker& worker, const protocol::PointRequest& request, Item* sent,
                    const ReplyAddress& address, CommitSeq seq);
  [[nodiscard]] RangeLimits range_limits() const noexcept;
  /// Whether changes are refused now; if so, sends the refusal.
  [[nodiscard]] bool refuses(const ReplyAddress& address, runtime::Worker& worker);
  /// From the moment `at_us` on, items with an order up to it do not count.
  void set_flush_point(runtime::Worker& worker, std::uint64_t at_us) noexcept;

  StoreState state_;
  RangeLocks locks_;
  WatchHub watch_hub_;
  Happenings happenings_;
  Upkeep upkeep_;
  Repartitioner repartitioner_{state_, locks_};
  runtime::detail::ShortLatch flush_latch_;  ///< of set_flush_point()
  // Relaxed: each value is a limit by itself, and orders nothing.
  std::atomic<std::uint64_t> range_items_{0};
  std::atomic<std::uint64_t> range_bytes_{0};
  std::atomic<std::uint64_t> range_time_ns_{0};
  std::atomic<std::uint64_t> locked_items_{0};
  RangeSplitting splitting_;
};

}  // namespace mxkv::server

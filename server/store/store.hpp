// The store: what memcached's commands, and ranges, mean over the tree of items. It parses nothing and knows
// no sockets; requests come parsed, replies go to the ConnectionTable of the worker.
//
// Every call ends in exactly one ConnectionTable::finished (or finished_write) for its address and, if the
// client waits, in one closed reply, maybe before the call returns.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "index/clear_task.hpp"
#include "protocol/request.hpp"
#include "server/store/batch/batch.hpp"
#include "server/store/item/expiry.hpp"
#include "server/store/item/item_builder.hpp"
#include "server/store/locks/range_locks.hpp"
#include "server/store/range/dump_progress.hpp"
#include "server/store/range/range_task.hpp"
#include "server/store/store_task.hpp"
#include "server/store/upkeep/expired_present.hpp"
#include "server/store/upkeep/expiry_sweep.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

struct StoreOptions {
  index::TreeOptions tree;
  RangeLimits ranges;
  runtime::ToggleOptions toggle{.slots_per_bucket = 32};  ///< of operations that hold keys
  std::uint64_t value_bytes = std::uint64_t{1} << 20U;  ///< longest value; an append may not exceed it either
  bool evacuation = true;                               ///< move items out of sparse spans
  bool evict = false;                                   ///< make room when memory runs short
};

class Store {
 public:
  /// Start-up only. Each worker gets a context, which is its Worker::local() from then on; the directory of
  /// replies is added to it by whoever owns the sockets. Throws std::bad_alloc.
  Store(runtime::Runtime& runtime, const StoreOptions& options);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Thread-safety of the following: the worker that is passed, which is the address's home.

  /// get, gets; gat, gats with an exptime. `end_line`: END follows in the same reply.
  void get(runtime::Worker& worker, std::string_view key, protocol::verb op, std::int64_t exptime,
           bool end_line, const ReplyAddress& address);
  /// mg, me.
  void meta_get(runtime::Worker& worker, std::string_view key, protocol::verb op,
                const protocol::MetaFlags& flags, const ReplyAddress& address);
  /// delete, incr, decr, touch, md, ma.
  void mutate(runtime::Worker& worker, const protocol::Request& request, const ReplyAddress& address,
              CommitSeq seq);
  /// set, add, replace, append, prepend, cas, ms: a value that has been received.
  void store(runtime::Worker& worker, ItemBuilder&& builder, const ReplyAddress& address, CommitSeq seq);
  /// scan, scans, pscan, pscans, mr, mc, mx, mt.
  void range(runtime::Worker& worker, const protocol::Request& request, const ReplyAddress& address);
  /// mb: a batch that was received whole.
  void batch(runtime::Worker& worker, std::unique_ptr<Batch> batch, const ReplyAddress& address);
  /// A page of a dump, behind what `progress` says; it is told when the page ended.
  void dump(runtime::Worker& worker, DumpProgress& progress, const ReplyAddress& address);
  /// flush_all, now or `delay_s` seconds from now (above 30 days: at that unix time).
  void flush_all(runtime::Worker& worker, std::int64_t delay_s, const ReplyAddress& address);

  /// Counts a value that was refused for its length before it came.
  void count_too_large(runtime::Worker& worker) noexcept;
  /// Counts a value that there was no memory for while it came.
  void count_no_memory(runtime::Worker& worker) noexcept;

  /// Housekeeping of a worker: to be called every round.
  void maintain(runtime::Worker& worker) {
    WorkerContext& own = context(worker.id());
    sweep_.look(worker);
    expired_present_.look(worker);
    if (evacuates_) {
      own.defragmenter.look(*this, worker);
    }
    if (evicts_) {
      own.eviction.look(*this, worker);
    }
  }
  /// Memory was refused to something of this worker's. True: room is being made, and it is worth to try again
  /// in the next round.
  [[nodiscard]] bool makes_room(runtime::Worker& worker, shortage what = shortage::block) noexcept {
    return evicts_ && context(worker.id()).eviction.refused(worker, what);
  }

  // Any thread.

  /// Longest value; an append may not exceed it either.
  [[nodiscard]] std::uint64_t value_limit() const noexcept {
    return value_limit_.load(std::memory_order_relaxed);
  }
  /// Holds for requests that begin later.
  void set_limits(const RangeLimits& ranges, std::uint64_t value_bytes) noexcept;
  [[nodiscard]] runtime::ReclaimKind item_kind() const noexcept { return item_kind_; }
  /// Sum of a counter over all workers.
  [[nodiscard]] std::uint64_t total(counter which) const noexcept;
  [[nodiscard]] WatchHub& watch_hub() noexcept { return watch_hub_; }
  [[nodiscard]] ItemTree& tree() noexcept { return tree_; }
  [[nodiscard]] RangeLocks& locks() noexcept { return locks_; }
  /// Greatest of the cas uniques minted so far and the time.
  [[nodiscard]] std::uint64_t greatest_cas(std::uint64_t now_us) const noexcept;
  /// Drops what waits for keys. Only when no worker runs any more.
  void discard_waiting(runtime::Runtime& runtime) noexcept;
  [[nodiscard]] ExpirySweep& sweep() noexcept { return sweep_; }
  [[nodiscard]] const ExpirySweep& sweep() const noexcept { return sweep_; }
  [[nodiscard]] const ExpiredPresent& expired_present() const noexcept { return expired_present_; }
  [[nodiscard]] const FlushPoints& flush_points() const noexcept { return flush_points_; }
  /// When the first item expires (us) of those stored since the last call; ExpirySweep::kNever if none does.
  [[nodiscard]] std::uint64_t take_first_expiry() noexcept;
  /// Whether some worker walks for spans, see eviction.hpp. Relaxed: it orders nothing.
  [[nodiscard]] std::atomic<bool>& giving_back() noexcept { return giving_back_; }
  /// When some worker's walk last ended that had removed something (monotonic). Relaxed, as well.
  [[nodiscard]] std::atomic<std::uint64_t>& last_eviction_ns() noexcept { return last_eviction_ns_; }
  [[nodiscard]] WorkerContext& context(runtime::WorkerId worker) noexcept {
    return contexts_[worker.index()];
  }

 private:
  [[nodiscard]] RangeLimits range_limits() const noexcept;
  void look_at_slots(runtime::Worker& worker);

  runtime::ReclaimKind item_kind_;
  ItemTree tree_;
  RangeLocks locks_;
  std::unique_ptr<WorkerContext[]> contexts_;
  std::size_t workers_;
  bool evacuates_;
  FlushPoints flush_points_;
  WatchHub watch_hub_;
  ExpirySweep sweep_{*this};
  ExpiredPresent expired_present_{*this};
  bool evicts_;
  std::atomic<bool> giving_back_{false};
  std::atomic<std::uint64_t> last_eviction_ns_{0};
  // Relaxed: each bounds by itself, and nothing is ordered by them.
  std::atomic<std::uint64_t> value_limit_;
  std::atomic<std::uint64_t> range_items_;
  std::atomic<std::uint64_t> range_bytes_;
  std::atomic<std::uint64_t> range_time_ns_;
  std::atomic<std::uint64_t> locked_items_;
  // Of the map of keys to slots. The items are those of whoever draws: `drawing_` hands them on.
  std::atomic<bool> drawing_{false};
  std::atomic<std::uint64_t> drawn_ns_{0};  ///< when it was begun last (monotonic); relaxed, a hint
  std::uint64_t drawn_items_ = 0;
  std::uint64_t drawn_added_ = 0;
};

}  // namespace mxkv::server

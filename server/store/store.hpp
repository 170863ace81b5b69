// The store: what memcached's commands, and ranges, mean over the tree of items. It parses nothing and knows
// no sockets; requests come parsed, replies go to the ReplyDirectory of the worker.
//
// Every call ends in exactly one ReplyDirectory::finished (or finished_write) for its address and, if the
// client waits, in one closed reply, maybe before the call returns.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "index/clear_task.hpp"
#include "protocol/request.hpp"
#include "server/store/expiry.hpp"
#include "server/store/item_builder.hpp"
#include "server/store/range_task.hpp"
#include "server/store/store_task.hpp"

namespace mxkv::server {

struct StoreOptions {
  index::TreeOptions tree;
  RangeLimits ranges;
  std::uint64_t value_bytes = std::uint64_t{1} << 20U;  ///< longest value; an append may not exceed it either
  bool evacuation = true;                               ///< move items out of sparse spans
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
  /// delete, incr, decr, touch.
  void mutate(runtime::Worker& worker, const protocol::Request& request, const ReplyAddress& address,
              CommitSeq seq);
  /// set, add, replace, append, prepend, cas: a value that has been received.
  void store(runtime::Worker& worker, ItemBuilder&& builder, const ReplyAddress& address, CommitSeq seq);
  /// scan, scans, pscan, pscans.
  void range(runtime::Worker& worker, const protocol::Request& request, const ReplyAddress& address);
  /// flush_all, now or `delay_s` seconds from now.
  void flush_all(runtime::Worker& worker, std::int64_t delay_s, const ReplyAddress& address);

  /// Housekeeping of a worker: to be called every round.
  void maintain(runtime::Worker& worker) {
    if (evacuates_) {
      context(worker.id()).evacuation.look(*this, worker);
    }
  }

  // Any thread.

  /// Longest value; an append may not exceed it either.
  [[nodiscard]] std::uint64_t value_limit() const noexcept {
    return value_limit_.load(std::memory_order_relaxed);
  }
  /// Holds for requests that begin later.
  void set_limits(const RangeLimits& ranges, std::uint64_t value_bytes) noexcept;
  /// Items with a cas unique up to this do not count as there, once the clock (us) has reached it.
  [[nodiscard]] std::uint64_t flush_point() const noexcept {
    return flush_point_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] runtime::ReclaimKind item_kind() const noexcept { return item_kind_; }
  /// Sum of a counter over all workers.
  [[nodiscard]] std::uint64_t total(counter which) const noexcept;
  [[nodiscard]] ItemTree& tree() noexcept { return tree_; }
  [[nodiscard]] WorkerContext& context(runtime::WorkerId worker) noexcept {
    return contexts_[worker.index()];
  }

 private:
  [[nodiscard]] RangeLimits range_limits() const noexcept;
  [[nodiscard]] std::uint64_t greatest_cas(std::uint64_t now_us) const noexcept;

  runtime::ReclaimKind item_kind_;
  ItemTree tree_;
  std::unique_ptr<WorkerContext[]> contexts_;
  std::size_t workers_;
  bool evacuates_;
  std::atomic<std::uint64_t> flush_point_{0};
  // Relaxed: each bounds by itself, and nothing is ordered by them.
  std::atomic<std::uint64_t> value_limit_;
  std::atomic<std::uint64_t> range_items_;
  std::atomic<std::uint64_t> range_bytes_;
  std::atomic<std::uint64_t> range_time_ns_;
};

}  // namespace mxkv::server

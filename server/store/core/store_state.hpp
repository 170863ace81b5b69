// The store's state that all its tasks share: the tree, the way items are freed, the limits and flush points
// in force, and sums over the workers. It starts nothing; the store is the facade above it (store.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/scheduler/runtime.hpp"
#include "server/store/core/item_tree.hpp"
#include "server/store/core/orders.hpp"
#include "server/store/core/quotas.hpp"
#include "server/store/core/worker_context.hpp"

namespace mxkv::server {

/// One a store. Thread-safety: any worker; set_value_limit() and total() any thread.
class StoreState {
 public:
  /// Start-up only. Each worker gets a context, which is its Worker::local() from then on. Throws
  /// std::bad_alloc.
  StoreState(runtime::Runtime& runtime, const index::TreeOptions& tree,
             const std::vector<QuotaOptions>& quotas);
  StoreState(const StoreState&) = delete;
  StoreState& operator=(const StoreState&) = delete;

  [[nodiscard]] ItemTree& tree() noexcept { return tree_; }
  [[nodiscard]] runtime::ReclaimKind item_kind() const noexcept { return item_kind_; }
  [[nodiscard]] FlushPoints& flush_points() noexcept { return flush_points_; }
  /// Null: there are none.
  [[nodiscard]] Quotas* quotas() noexcept { return quotas_.get(); }
  [[nodiscard]] const Quotas* quotas() const noexcept { return quotas_.get(); }
  [[nodiscard]] const FlushPoints& flush_points() const noexcept { return flush_points_; }
  /// Longest value; an append may not exceed it either. Relaxed: it bounds by itself, and orders nothing.
  [[nodiscard]] std::uint64_t value_limit() const noexcept {
    return value_limit_.load(std::memory_order_relaxed);
  }
  void set_value_limit(std::uint64_t bytes) noexcept { value_limit_.store(bytes, std::memory_order_relaxed); }
  /// The moment by which the store's own removals judge items: now, or the moment of hold_expired() if it
  /// is earlier.
  [[nodiscard]] std::uint64_t upkeep_moment(std::uint64_t now_us) const noexcept {
    return std::min(now_us, expired_held_us_.load(std::memory_order_relaxed));
  }
  void hold_expired(std::uint64_t from_us) noexcept {
    expired_held_us_.store(from_us, std::memory_order_relaxed);
  }

  [[nodiscard]] WorkerContext& context(runtime::WorkerId worker) noexcept {
    MXKV_DCHECK(worker.index() < workers_, "each worker has a context");
    return contexts_[worker.index()];
  }
  /// Sum of a counter over all workers.
  [[nodiscard]] std::uint64_t total(counter which) const noexcept;
  /// The greatest of the orders minted so far and of `now_us`.
  [[nodiscard]] std::uint64_t greatest_order(std::uint64_t now_us) const noexcept;
  /// Mints the order of an operation that holds its keys, or all keys. It is above the orders of all changes
  /// that the caller can know. No other operation gets it, and later orders are above it.
  [[nodiscard]] std::uint64_t mint_through(runtime::Worker& worker) noexcept {
    return tree_.commits().claim(next_order(greatest_order(0), worker));
  }
  /// The earliest expiry (steady s) of the items stored since the last call; the greatest number if none
  /// expires.
  [[nodiscard]] std::uint32_t take_first_expiry() noexcept;
  /// The same for the items stored since the last take_first_expiry(), without taking it.
  [[nodiscard]] std::uint32_t first_expiry() const noexcept;

  /// Whether a cleared tree is being taken apart: the memory of its items comes back until it is not. Any thread.
  [[nodiscard]] bool tears_down() const noexcept {
    return teardowns_.load(std::memory_order_acquire) != 0;  // the parts' memory came back before their end
  }

 private:
  friend ItemRecord;  // counts the parts that are being taken apart

  runtime::ReclaimKind item_kind_;
  ItemTree tree_;
  FlushPoints flush_points_;
  std::atomic<std::uint64_t> value_limit_{0};
  std::atomic<std::uint64_t> expired_held_us_{~std::uint64_t{0}};  ///< relaxed, as the limit
  /// Parts of cleared trees: a part begins its smaller parts before its own end. Release: memory that came back.
  std::atomic<std::uint64_t> teardowns_{0};
  std::unique_ptr<Quotas> quotas_;
  std::unique_ptr<WorkerContext[]> contexts_;
  std::size_t workers_;
};

}  // namespace mxkv::server

// Decides when to divide the keys into slots anew: when the number of items has doubled or halved since the
// last time, or when as many items were added as there are.
#pragma once

#include <atomic>
#include <cstdint>

#include "server/store/core/store_state.hpp"
#include "server/store/locks/range_locks.hpp"

namespace mxkv::server {

/// One a store. Thread-safety: any worker.
class Repartitioner {
 public:
  Repartitioner(StoreState& store, RangeLocks& locks) noexcept : store_(store), locks_(locks) {}

  /// Call this when an operation needs the partition: without such operations it is never drawn. Looks once a
  /// second.
  void tick(runtime::Worker& worker);

 private:
  StoreState& store_;
  RangeLocks& locks_;
  // Acquire and release: hands `items_` and `added_` on from one worker that draws to the next.
  std::atomic<bool> drawing_{false};
  std::atomic<std::uint64_t> begun_ns_{0};  ///< when it was drawn last (monotonic); relaxed, a hint
  std::uint64_t items_ = 0;                 ///< in the tree at that time
  std::uint64_t added_ = 0;                 ///< ever, by that time
};

}  // namespace mxkv::server

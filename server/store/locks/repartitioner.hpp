// Decides when the keys are to be divided into slots anew: when there are twice or half as many items as the
// last time, or as many others have come as there are.
#pragma once

#include <atomic>
#include <cstdint>

#include "server/store/locks/range_locks.hpp"
#include "server/store/store_state.hpp"

namespace mxkv::server {

/// One a store. Thread-safety: any worker.
class Repartitioner {
 public:
  Repartitioner(StoreState& store, RangeLocks& locks) noexcept : store_(store), locks_(locks) {}

  /// To be called when an operation needs the partition: where there are none, it is never drawn. Looks once a
  /// second.
  void tick(runtime::Worker& worker);

 private:
  StoreState& store_;
  RangeLocks& locks_;
  // Acquire and release: hands `items_` and `added_` on from one worker that draws to the next.
  std::atomic<bool> drawing_{false};
  std::atomic<std::uint64_t> begun_ns_{0};  ///< when it was drawn last (monotonic); relaxed, a hint
  std::uint64_t items_ = 0;                 ///< that there were then
  std::uint64_t added_ = 0;                 ///< items ever, by then
};

}  // namespace mxkv::server

// Whether all that passed is in the tree. An operation on many keys passes the commit point as one, and changes its
// items in later rounds: that all workers passed an epoch does not say that its changes can be seen. Such an
// operation holds its keys from before it passes until the last item is changed. So once all keys were held, by
// what began later than that, and let go, nothing is under way any more that had passed by then.
#pragma once

#include <atomic>

#include "server/durability/checkpoint_scan.hpp"

namespace mxkv::server {

/// Once. Outlives its task: until done().
class CheckpointFence {
 public:
  CheckpointFence(Store& store, CheckpointBell& bell) : store_(store), bell_(bell) {}

  /// Holds all keys for a moment, on a worker.
  void start(runtime::WorkerId worker);
  [[nodiscard]] bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  /// The workers have ended.
  [[nodiscard]] bool failed() const noexcept { return failed_; }

  // For the task.
  [[nodiscard]] Store& store() noexcept { return store_; }
  void ended(bool failed);

 private:
  Store& store_;
  CheckpointBell& bell_;
  bool failed_ = false;
  std::atomic<bool> done_{false};  // hands over what it says: release by the task, acquire by done()
};

}  // namespace mxkv::server

// Waits until all changes that have passed the commit point are in the tree. An operation on many keys passes
// as one, and changes its items in later rounds. So its changes may still be missing after all workers have
// passed its epoch. But it holds its keys from before it passes until its last item is changed. The fence
// holds all keys once: when it releases them, every operation that had passed before the fence started has
// ended.
#pragma once

#include <atomic>

#include "server/durability/checkpoint_scan.hpp"

namespace mxkv::server {

/// Used once. Lives until done(), longer than its task.
class CheckpointFence {
 public:
  CheckpointFence(Store& store, CheckpointBell& bell) : store_(store), bell_(bell) {}

  /// Starts a task on `worker` that holds all keys for a moment.
  void start(runtime::WorkerId worker);
  [[nodiscard]] bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  /// The workers have ended before the task could.
  [[nodiscard]] bool failed() const noexcept { return failed_; }

  // For the task.
  [[nodiscard]] Store& store() noexcept { return store_; }
  void ended(bool failed);

 private:
  Store& store_;
  CheckpointBell& bell_;
  bool failed_ = false;
  std::atomic<bool> done_{false};  // publishes failed_: release by the task, acquire by done()
};

}  // namespace mxkv::server

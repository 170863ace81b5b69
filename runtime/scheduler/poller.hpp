// A worker's work besides executing tasks: the seam through which sockets and timers enter the runtime.
//
// The runtime knows no sockets. A worker is given a poller; it polls it between batches of tasks, lets it
// send the output of a batch, and blocks in it when there is nothing to do. The calls are virtual because
// there are a few per batch, never one per task.
#pragma once

#include <cstdint>

namespace mxkv::runtime {

class Worker;

/// All functions but wake() are called by the owner worker only.
class Poller {
 public:
  static constexpr std::uint64_t kForever = ~std::uint64_t{0};

  virtual ~Poller() = default;

  /// Handles all that has come, without waiting; spawns tasks. Runs inside the worker's epoch. Returns
  /// whether anything was there.
  virtual bool poll(Worker& worker) = 0;

  /// A batch of tasks ended: send what it produced. Returns whether anything was done.
  virtual bool end_turn(Worker& worker) = 0;

  /// Waits until something is there, wake() was called (since the last block() too), or `timeout_ns` passed. It may
  /// follow a busy round at once, so it does not wait while anything that end_turn() did needs another round.
  virtual void block(Worker& worker, std::uint64_t timeout_ns) = 0;

  /// Ends a present or the next block(). Any thread.
  virtual void wake() noexcept = 0;
};

}  // namespace mxkv::runtime

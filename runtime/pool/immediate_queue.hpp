// Immediate tasks of one worker. It takes the youngest, since its caches still hold their data; thieves take
// the oldest, which disturbs it least [LAS 4.1, 4.2].
//
// A deque under a latch: these tasks are large beside it (small ones stay on their worker and never come
// here). `waiting()` is what parking workers look at: seq_cst, as the word of a task pool (parking.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>

#include "runtime/base/assert.hpp"
#include "runtime/base/cache_line.hpp"
#include "runtime/memory/short_latch.hpp"
#include "runtime/task/task.hpp"

namespace mxkv::runtime {

/// Thread-safety: any thread.
class ImmediateQueue {
 public:
  void push(MxTask* task) {
    const std::scoped_lock lock{latch_};
    tasks_.push_back(task);
    publish();
  }
  /// Null: none.
  [[nodiscard]] MxTask* take_youngest() noexcept { return take(true); }
  /// Null: none.
  [[nodiscard]] MxTask* take_oldest() noexcept { return take(false); }
  [[nodiscard]] bool waiting() const noexcept { return size() != 0; }
  [[nodiscard]] std::size_t size() const noexcept {
    return size_.load(std::memory_order_seq_cst);  // pairs with publish()
  }

 private:
  [[nodiscard]] MxTask* take(bool youngest) noexcept {
    if (!waiting()) {
      return nullptr;
    }
    const std::scoped_lock lock{latch_};
    if (tasks_.empty()) {
      return nullptr;
    }
    MXKV_ASSERT(tasks_.size() == size_.load(std::memory_order_relaxed),
                "the size is published under the latch");
    MxTask* task = youngest ? tasks_.back() : tasks_.front();
    if (youngest) {
      tasks_.pop_back();
    } else {
      tasks_.pop_front();
    }
    publish();
    return task;
  }
  void publish() noexcept {
    size_.store(tasks_.size(), std::memory_order_seq_cst);  // pairs with waiting()
  }

  alignas(kCacheLineBytes) std::atomic<std::size_t> size_{0};
  detail::ShortLatch latch_;
  std::deque<MxTask*> tasks_;  ///< oldest first; guarded by latch_
};

}  // namespace mxkv::runtime

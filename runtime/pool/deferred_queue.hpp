// Deferred tasks of a core group, by request [LAS 4.1]: "a priority queue of double-ended queues". Request
// ids grow, so the first request is the oldest.
//
// As the queue of ImmediateQueue it is under a latch, for tasks that are large beside it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>

#include "runtime/base/cache_line.hpp"
#include "runtime/memory/short_latch.hpp"
#include "runtime/task/task.hpp"

namespace mxkv::runtime {

/// Thread-safety: any thread.
class DeferredQueue {
 public:
  /// Which task of which request is taken.
  enum class pick : std::uint8_t {
    youngest_of_oldest,       ///< by workers of the group: all on one request [LAS rule 3]
    oldest_of_second_oldest,  ///< by others: not what the group works on, if there is anything else [LAS rule
                              ///< 4]
    oldest_spawned,           ///< whatever came first, without a look at requests: the baseline
  };

  void push(MxTask* task);
  /// Null: none.
  [[nodiscard]] MxTask* take(pick how) noexcept;
  [[nodiscard]] bool waiting() const noexcept {
    return size_.load(std::memory_order_seq_cst) != 0;  // pairs with push()
  }

 private:
  struct Waiting {
    MxTask* task;
    std::uint64_t turn;  ///< of all tasks that were ever pushed
  };
  using Requests = std::map<RequestId, std::deque<Waiting>>;

  [[nodiscard]] Requests::iterator request_for(pick how) noexcept;

  alignas(kCacheLineBytes) std::atomic<std::size_t> size_{0};
  detail::ShortLatch latch_;
  Requests requests_;       ///< none of them empty; guarded by latch_
  std::uint64_t turn_ = 0;  ///< guarded by latch_
};

}  // namespace mxkv::runtime

// flush_all: replaces the tree by an empty one while it holds all keys.
#pragma once

#include <algorithm>

#include "index/clear_task.hpp"
#include "protocol/reply.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/core/store_state.hpp"
#include "server/store/core/store_task.hpp"
#include "server/store/core/visibility.hpp"
#include "server/store/locks/range_locks.hpp"
#include "server/store/point/binary_reply.hpp"

namespace mxkv::server {

/// Clears the tree for a client that waits, holding all keys meanwhile.
class FlushTask final : public index::ClearTask<FlushTask, ItemTraits> {
 public:
  /// Room above the flush's order and time for orders that other workers mint in the old tree meanwhile: no
  /// put in the new tree may repeat them. The room above the order is for the writes under way. It must stay
  /// small: a flush starts above the floor of the flush before, and the age of an item is computed from its
  /// order.
  static constexpr std::uint64_t kMintsUnderWay = 256;
  static constexpr std::uint64_t kMintSlackUs = 1U << 16U;
  static constexpr const char* kName = "flush_all";

  FlushTask(const runtime::TaskClass* task_class, StoreState& store, const ReplyAddress& address,
            protocol::BinaryForm form) noexcept
      : ClearTask(task_class, store.tree()), store_(store), address_(address), form_(form) {}

  // --- For RangeLock ---
  [[nodiscard]] static runtime::SlotInterval held_slots(const KeyPartition& slots) noexcept {
    return slots.all();
  }
  [[nodiscard]] static bool only_reads() noexcept { return false; }
  void begin(RangeLock& lock, runtime::Worker& worker) {
    MXKV_ASSERT(lock_ == nullptr, "keys are held once");
    lock_ = &lock;
    start(worker);
  }

  // --- For ClearTask ---
  [[nodiscard]] std::uint64_t mint_order(runtime::Worker& worker) noexcept {
    const std::uint64_t order = store_.mint_through(worker);
    store_.tree().commits().raise_floor(std::max(order + kMintsUnderWay, worker.now_us() + kMintSlackUs));
    return order;
  }

  runtime::step cleared(bool done, runtime::Worker& worker) {
    MXKV_ASSERT(lock_ != nullptr, "all keys are held while the tree is cleared");
    done_ = done;
    if (worker.id().value() != address_.worker) {
      return go_home(*this, address_);
    }
    return answer(worker);
  }
  runtime::step execute(runtime::Worker& worker) {
    return object() ? ClearTask::execute(worker) : answer(worker);
  }
  void discard(runtime::Worker& worker) {
    if (lock_ != nullptr) {
      lock_->task_class().discard(*lock_, worker);
    }
  }

 private:
  runtime::step answer(runtime::Worker& worker) {
    MXKV_ASSERT(worker.id().value() == address_.worker, "replies are written at home");
    const auto& context = worker.local<WorkerContext>();
    ConnectionTable& replies = *context.replies;
    answer_code(replies, address_, saw_change(context), form_,
                done_ ? protocol::reply_code::done : protocol::reply_code::no_memory);
    worker.unpin(*this);
    lock_->release(worker);
    replies.finished(address_);
    return runtime::step::done;
  }

  StoreState& store_;
  RangeLock* lock_ = nullptr;
  ReplyAddress address_;
  protocol::BinaryForm form_;
  bool done_ = false;
};

}  // namespace mxkv::server

MXKV_TASK_CLASS(extern, mxkv::server::FlushTask);

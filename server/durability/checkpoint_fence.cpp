#include "server/durability/checkpoint_fence.hpp"

#include <utility>

#include "server/store/store.hpp"

namespace mxkv::server {

namespace {

class FenceTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "checkpoint waits for what passed";

  FenceTask(const runtime::TaskClass* task_class, CheckpointFence& fence) noexcept
      : MxTask(task_class), fence_(&fence) {}

  // --- For RangeLock ---
  [[nodiscard]] static runtime::SlotInterval held_slots(const KeyPartition& slots) noexcept {
    return slots.all();
  }
  [[nodiscard]] static bool only_reads() noexcept { return true; }
  void begin(RangeLock& lock, runtime::Worker& worker) {
    lock_ = &lock;
    worker.spawn(this);
  }

  runtime::step execute(runtime::Worker& worker) {
    if (lock_ == nullptr) {
      RangeLock::create(worker, fence_->store().locks(), *this, worker.id())->start(worker);
      return runtime::step::parked;
    }
    lock_->release(worker);
    std::exchange(fence_, nullptr)->ended(false);
    return runtime::step::done;
  }
  void discard(runtime::Worker& worker) {
    if (lock_ != nullptr) {
      lock_->task_class().discard(*lock_, worker);
    }
    std::exchange(fence_, nullptr)->ended(true);
  }

 private:
  CheckpointFence* fence_;
  RangeLock* lock_ = nullptr;
};

}  // namespace

void CheckpointFence::start(runtime::WorkerId worker) {
  runtime::Runtime& runtime = store_.tree().runtime();
  (void)runtime.submit(runtime.create_outside<FenceTask>(*this), worker);
}

void CheckpointFence::ended(bool failed) {
  MXKV_ASSERT(!done(), "a fence ends once");
  CheckpointBell& bell = bell_;  // this may be gone once it is done
  failed_ = failed;
  done_.store(true, std::memory_order_release);
  bell.ring();
}

}  // namespace mxkv::server

// Runs a batch that has been received whole, as the holder of a RangeLock on the slots of its keys.
//
//   look up   One BatchKeyTask a key, all at once, finds the key's item. If there is none, and a line may make
//             one, the task puts a placeholder: an item that expired long ago. So later phases need no memory
//             in the tree.
//   decide    The lines, in order, make all new items, on the worker where the lock began the batch. Expiry is
//             judged at one moment for all. Long replies ask for room at home.
//   pass      All changes pass the commit point as one group.
//   apply     One BatchKeyTask a key puts or removes its item. Nothing here can fail.
//   undo      Instead of pass and apply, if a line failed: removes the placeholders. Nothing has changed then.
//   answer    Writes the replies at home, then releases the keys. Not earlier: items that the replies show may
//             be changed in place once their keys are free.
//
// If memory is short, but some is being freed, the batch drops its pin and looks up again in the next round.
#pragma once

#include <atomic>

#include "server/store/batch/batch.hpp"
#include "server/store/locks/range_locks.hpp"
#include "server/store/upkeep/shortage.hpp"

namespace mxkv::server {

class BatchTask;

enum class batch_phase : std::uint8_t { look_up, apply, undo };

/// One key of a batch, in one phase.
class BatchKeyTask final : public index::UpdateTask<BatchKeyTask, ItemTraits> {
  using Base = index::UpdateTask<BatchKeyTask, ItemTraits>;

 public:
  static constexpr const char* kName = "key of a batch";

  BatchKeyTask(const runtime::TaskClass* task_class, ItemTree& tree, BatchTask& batch, BatchKey& key,
               batch_phase phase) noexcept
      : Base(task_class, tree), batch_(&batch), key_(&key), phase_(phase) {}

  // --- For UpdateTask ---
  [[nodiscard]] std::string_view key() const noexcept { return key_->name; }
  index::Decision decide(bool found, std::uint64_t old, runtime::Worker& worker);
  runtime::step left(bool found, std::uint64_t old, runtime::Worker& worker);
  runtime::step out_of_memory(runtime::Worker& worker);
  index::Change commit(ItemNode& leaf, bool found, std::uint64_t old, std::uint64_t value,
                       runtime::Worker& worker) noexcept;
  runtime::step committed(bool found, std::uint64_t old, runtime::Worker& worker);
  void discard(runtime::Worker& worker);

 private:
  index::Decision look_up(bool found, std::uint64_t old, runtime::Worker& worker);
  void drop_made(runtime::Worker& worker) noexcept;
  runtime::step ended(runtime::Worker& worker);

  BatchTask* batch_;
  BatchKey* key_;
  Item* made_ = nullptr;  ///< for the placeholder; the tree's once it was put
  batch_phase phase_;
};

class BatchTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "batch";

  /// Owns `batch`, which has received all lines and has keys.
  BatchTask(const runtime::TaskClass* task_class, ItemTree& tree, Batch& batch,
            const ReplyAddress& address) noexcept
      : MxTask(task_class), tree_(&tree), batch_(&batch), address_(address) {}

  runtime::step execute(runtime::Worker& worker);
  void discard(runtime::Worker& worker);

  // --- For RangeLock ---
  [[nodiscard]] runtime::SlotSet held_slots(const KeyPartition& slots) const { return batch_->place(slots); }
  [[nodiscard]] bool touches(std::uint32_t slot, const KeyPartition& /*slots*/) const noexcept {
    return batch_->touches(slot);
  }
  [[nodiscard]] static bool only_reads() noexcept { return false; }
  void begin(RangeLock& lock, runtime::Worker& worker);
  void released(runtime::Worker& worker);

  // --- For BatchKeyTask, on any worker ---
  void lack_memory() noexcept { lacks_memory_.store(true, std::memory_order_relaxed); }
  void key_ended(runtime::Worker& worker) noexcept;
  void key_discarded(runtime::Worker& worker) noexcept;

 private:
  runtime::step start(batch_phase phase, runtime::Worker& worker);
  runtime::step after_look_up(runtime::Worker& worker);
  runtime::step answer(runtime::Worker& worker);
  [[nodiscard]] static bool has_room(std::size_t reply_bytes, runtime::Worker& worker);

  ItemTree* tree_;
  Batch* batch_;
  RangeLock* lock_ = nullptr;
  ReplyAddress address_;
  runtime::WorkerId at_{0};  ///< where it looks up and decides; it answers at home
  std::uint64_t moment_us_ = 0;
  std::atomic<std::uint32_t> left_{0};  ///< keys under way; the last to end publishes what all of them did
  RoomWait room_wait_;
  std::atomic<bool> lacks_memory_{false};
  batch_phase phase_ = batch_phase::look_up;
  bool waits_ = false;    ///< for memory, before it looks up again
  bool decided_ = false;  ///< and went home to ask for room
};

}  // namespace mxkv::server

MXKV_TASK_CLASS(extern, mxkv::server::BatchTask);

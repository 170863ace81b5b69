// Runs a batch that has been received whole, as the holder of a RangeLock on the slots of its keys.
//
//   look up   one BatchKeyTask a key, all at once, finds the key's item. Where there is none and some line
//   may
//             make one, it makes the entry, with an item that has long expired: so that nothing that follows
//             needs memory in the tree.
//   decide    the lines, one after the other, where the lock began it, make all items that are to be. Expiry is
//             judged by one moment. Whether there is room for long replies is seen at home.
//   pass      all changes pass the commit point, as a group.
//   apply     one BatchKeyTask a key puts, or removes; nothing there can fail. Or, where a line failed, undo:
//             the entries that were made go, and nothing has changed.
//   answer    replies, at home, then the keys are let go: items that are shown may be changed in place.
//
// Where there is no memory, and some is being made, it looks up again in the next round: the pin goes
// meanwhile.
#pragma once

#include <atomic>

#include "server/store/batch/batch.hpp"
#include "server/store/locks/range_locks.hpp"

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
  Item* made_ = nullptr;  ///< for the entry; the tree's when it was put
  batch_phase phase_;
};

class BatchTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "batch";

  /// Owns `batch`, which is settled and has keys.
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
  std::atomic<std::uint32_t> left_{0};  ///< keys; the last one's end publishes what all of them did
  std::atomic<bool> lacks_memory_{false};
  batch_phase phase_ = batch_phase::look_up;
  bool waits_ = false;    ///< for memory, before it looks up again
  bool decided_ = false;  ///< and went home with what came of it
};

}  // namespace mxkv::server

MXKV_TASK_CLASS(extern, mxkv::server::BatchTask);

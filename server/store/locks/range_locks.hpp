// Locks that make operations on many keys atomic. Toggle orders these operations among themselves; the gate
// makes writes of single keys wait while an operation holds their slot (server/README.md, "Operations on many
// keys"; [To]).
//
// Toggle sees a RangeLock as the operation. The work under the lock is a task of its own, the lock's holder.
// Once the lock has all slots of its holder and has closed them, it begins the holder: on the host of its
// lowest bucket or on the worker that took its slot, if Toggle has it stay there, and else on its home
// worker. From elsewhere only the reply goes home. The holder releases the lock when it has ended. Nothing
// blocks meanwhile: a waiting operation holds nothing but keys.
#pragma once

#include <utility>

#include "runtime/hierarchy/gate.hpp"
#include "runtime/hierarchy/toggle.hpp"
#include "server/store/locks/key_partition.hpp"

namespace mxkv::server {

/// One a store. Thread-safety: any worker.
struct RangeLocks {
  RangeLocks(runtime::Runtime& runtime, const runtime::ToggleOptions& options)
      : toggle(runtime, options), gate(toggle.slots()), slots(runtime, toggle.slots(), toggle.parts()) {}

  /// Whether a write of `key` has to wait. Ask under the latch of its leaf.
  [[nodiscard, gnu::always_inline]] bool holds_off(std::string_view key) const noexcept {
    return !gate.all_open() && is_closed(key);
  }
  /// The same, of the key's slot alone.
  [[nodiscard, gnu::noinline]] bool is_closed(std::string_view key) const noexcept {
    return !gate.is_open(slots.slot_of(key));
  }

  runtime::Toggle toggle;
  runtime::WriteGate gate;
  KeyPartition slots;
};

/// A single write's place at the gate: the slot that it waits for, or was admitted to. Thread-safety: the
/// task that runs the write.
class WriteGateTicket {
 public:
  [[nodiscard]] bool held() const noexcept { return slot_ != kNone; }
  [[nodiscard]] bool is_for(std::uint32_t slot) const noexcept { return slot == slot_; }
  /// Parks `task`, which holds no latch and no pin; when it runs again, it has the pass. False: the slot is
  /// open, and the task goes on as if it had never been refused.
  [[nodiscard]] bool await(RangeLocks& locks, std::uint32_t slot, runtime::MxTask& task) noexcept {
    MXKV_ASSERT(!held(), "a write waits for one slot at a time");
    MXKV_ASSERT(slot < kNone, "the number of a slot fits a pass");
    slot_ = static_cast<std::uint16_t>(slot);
    if (locks.gate.park(slot, task)) {
      return true;  // another worker may already run `task`, and own this pass
    }
    slot_ = kNone;
    return false;
  }
  /// Gives the pass back, if there is one: the write has committed, or goes back to wait.
  void leave(RangeLocks& locks, runtime::Worker& worker) noexcept {
    if (held()) [[unlikely]] {
      locks.gate.leave(std::exchange(slot_, kNone), worker);
    }
  }

 private:
  static constexpr std::uint16_t kNone = 0xFFFF;
  std::uint16_t slot_ = kNone;
};

class RangeLock final : public runtime::ToggleTask<RangeLock> {
 public:
  static constexpr const char* kName = "lock of keys";

  /// `Holder` gives
  ///   SlotSet held_slots(const KeyPartition&) const        by the current map; or their SlotInterval
  ///   bool only_reads() const
  ///   void begin(RangeLock&, Worker&)                      when the lock holds them, on any worker
  /// and, if it leaves out some of the slots between the first and the last
  ///   bool touches(slot, const KeyPartition&) const        whether the slot is to be closed
  ///   void released(Worker&)                               all slots are open again; the holder lives until then
  /// If the lock is discarded before it begins the holder, it discards the holder; afterwards the holder
  /// discards the lock.
  template <class Holder>
  [[nodiscard]] static RangeLock* create(runtime::Worker& worker, RangeLocks& locks, Holder& holder,
                                         runtime::WorkerId home) {
    return worker.create<RangeLock>(locks, holder, home, kUser<Holder>);
  }

  /// The holder calls this once, when it has ended.
  void release(runtime::Worker& worker) noexcept {
    MXKV_ASSERT(stage_ == stage::begun, "a lock is given back once, by a holder that has begun");
    stage_ = stage::releasing;
    annotate(stays() ? at_ : runtime::WorkerId{runtime::Annotations::kAnyWorker});
    worker.spawn(this);
  }

  // --- For Toggle ---
  [[nodiscard]] runtime::SlotSet place() const { return user_->slots(*holder_, locks_->slots); }
  [[nodiscard]] bool shared() const noexcept { return user_->only_reads(*holder_); }
  runtime::step run(runtime::Worker& worker);
  void discard(runtime::Worker& worker);

 private:
  enum class stage : std::uint8_t { arriving, closing, held, begun, releasing };
  /// The holder's functions.
  struct User {
    runtime::SlotSet (*slots)(const runtime::MxTask& holder, const KeyPartition& slots);
    bool (*touches)(const runtime::MxTask& holder, std::uint32_t slot, const KeyPartition& slots);
    bool (*only_reads)(const runtime::MxTask& holder);
    void (*begin)(runtime::MxTask& holder, RangeLock& lock, runtime::Worker& worker);
    void (*released)(runtime::MxTask& holder, runtime::Worker& worker);
  };
  template <class Holder>
  static constexpr User kUser{
      [](const runtime::MxTask& holder, const KeyPartition& slots) -> runtime::SlotSet {
        return static_cast<const Holder&>(holder).held_slots(slots);
      },
      []([[maybe_unused]] const runtime::MxTask& holder, [[maybe_unused]] std::uint32_t slot,
         [[maybe_unused]] const KeyPartition& slots) {
        if constexpr (requires(const Holder& typed) { typed.touches(slot, slots); }) {
          return static_cast<const Holder&>(holder).touches(slot, slots);
        } else {
          return true;  // the holder may be gone
        }
      },
      [](const runtime::MxTask& holder) { return static_cast<const Holder&>(holder).only_reads(); },
      [](runtime::MxTask& holder, RangeLock& lock, runtime::Worker& worker) {
        static_cast<Holder&>(holder).begin(lock, worker);
      },
      []([[maybe_unused]] runtime::MxTask& holder, [[maybe_unused]] runtime::Worker& worker) {
        if constexpr (requires(Holder& typed) { typed.released(worker); }) {
          static_cast<Holder&>(holder).released(worker);
        }
      }};

  friend class runtime::Worker;  // makes it
  RangeLock(const runtime::TaskClass* task_class, RangeLocks& locks, runtime::MxTask& holder,
            runtime::WorkerId home, const User& user) noexcept
      : ToggleTask(task_class, locks.toggle), locks_(&locks), holder_(&holder), user_(&user), at_(home) {}
  [[nodiscard]] bool close_slots();
  void open_slots(runtime::Worker& worker);

  RangeLocks* locks_;
  runtime::MxTask* holder_;
  const User* user_;
  std::uint32_t next_ = 0;  ///< slot to close, from the first of slots()
  runtime::WorkerId at_;    ///< where the holder begins
  stage stage_ = stage::arriving;
};

}  // namespace mxkv::server

MXKV_TASK_CLASS(extern, mxkv::server::RangeLock);

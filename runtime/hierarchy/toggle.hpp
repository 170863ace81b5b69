// Orders operations on intervals of a hierarchy: conflicting operations run one after the other, and independent ones
// side by side [To 3].
//
// An operation names the slots that it touches, and says whether it only reads. Operations that only read share. No
// operation passes an exclusive one that conflicts and came before. One of two orders is in force:
//   queue    one queue under one latch, the baseline of [To] (interval_queue.hpp): the daemon's default
//   toggle   buckets of slots that toggle between an outer and an inner part [To 3] (buckets/)
//
// An operation may take many steps and tasks, which remain where it began while stays() says so; it ends with
// finished().
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/base/assert.hpp"
#include "runtime/hierarchy/interval_queue.hpp"
#include "runtime/hierarchy/slots.hpp"
#include "runtime/options.hpp"
#include "runtime/scheduler/runtime.hpp"

namespace mxkv::runtime {

class Toggle;
class ToggleBuckets;

/// Counters of all operations, since the beginning.
struct ToggleStats {
  std::uint64_t operations = 0;  ///< begun
  std::uint64_t of_many = 0;     ///< of these, operations that held several buckets
  std::uint64_t inner = 0;       ///< of these, operations that ran in inner mode
  std::uint64_t phases = 0;      ///< times that a bucket was in inner mode
  std::uint64_t stolen =
      0;  ///< slots that others took than the host, or, without hosts, than the worker that opened them
  std::uint64_t followed = 0;  ///< operations that came along with another, in buckets that it held
  std::uint64_t shared = 0;    ///< operations that began together with another
};

/// An operation that Toggle orders. Derive from ToggleTask.
class ToggleOperation : public MxTask {
 public:
  [[nodiscard]] const SlotInterval& slots() const noexcept { return slots_.span; }

 protected:
  struct Footprint {
    SlotSet slots;
    bool shared;
  };
  using Place = Footprint (*)(const ToggleOperation&);
  ToggleOperation(const TaskClass* task_class, Toggle& toggle, Place place) noexcept
      : MxTask(task_class), toggle_(&toggle), place_(place) {}

  [[nodiscard]] Toggle& toggle() const noexcept { return *toggle_; }
  /// After it has begun: whether its work is to be done, and finished() called, on the worker where it began:
  /// the host of its lowest bucket, or the worker that took its slot.
  [[nodiscard]] bool stays() const noexcept;
  ///   created ── wait ──> waiting ── begun ──> running
  ///                          └─ sent ──> sent ── begun ──> running
  enum class phase : std::uint8_t { created, waiting, sent, running };
  [[nodiscard]] phase state() const noexcept { return phase_; }
  /// The place that it was sent to does not bind it any more.
  void begun() noexcept {
    MXKV_ASSERT(phase_ == phase::waiting || phase_ == phase::sent, "an operation begins when it waited");
    phase_ = phase::running;
    annotate(WorkerId{Annotations::kAnyWorker});
  }

 private:
  friend class Toggle;
  friend class ToggleBuckets;

  /// It was placed, or is placed anew by another map.
  void wait() noexcept {
    MXKV_ASSERT(phase_ != phase::sent, "an operation that was sent to run has its place");
    phase_ = phase::waiting;
  }
  /// It may begin, on the worker that it is sent to.
  void sent() noexcept {
    MXKV_ASSERT(phase_ == phase::waiting, "an operation is sent once");
    phase_ = phase::sent;
  }

  Toggle* toggle_;
  Place place_;
  SlotSet slots_;
  std::uint32_t map_version_ = 0;
  std::uint32_t bucket_ = 0;  ///< that it waits at
  std::uint32_t beside_ = 0;  ///< the first of those that begin together: how many others; then all of them
  phase phase_ = phase::created;
  bool inner_ = false;  ///< runs in its slot's inner bucket
  bool shared_ = false;
};

/// The functions that ToggleTask asks of the class that derives from it.
template <class D>
concept ToggleBody = requires(D& task, const D& constant, Worker& worker) {
  { constant.place() } -> std::convertible_to<SlotSet>;
  { task.run(worker) } -> std::same_as<step>;
};
/// The same for a class that says whether it only reads.
template <class D>
concept SharingToggleBody = ToggleBody<D> && requires(const D& constant) {
  { constant.shared() } -> std::same_as<bool>;
};

/// Derived (CRTP) gives
///   SlotSet place() const          the slots that it touches, by the present map; or their SlotInterval
///   bool shared() const            optional: it only reads, and may run beside others that do
///   step run(Worker&)              begins when nothing that conflicts is under way; may run again as it says
///                                  by its step; at its end calls toggle().finished(*this, worker) once
template <class Derived>
class ToggleTask : public ToggleOperation {
 public:
  void start(Worker& worker);
  step execute(Worker& worker);

 protected:
  ToggleTask(const TaskClass* task_class, Toggle& toggle) noexcept
      : ToggleOperation(task_class, toggle, [](const ToggleOperation& self) {
          const auto& derived = static_cast<const Derived&>(self);
          static_assert(ToggleBody<Derived>);
          if constexpr (SharingToggleBody<Derived>) {
            return Footprint{derived.place(), derived.shared()};
          } else {
            return Footprint{derived.place(), false};
          }
        }) {}
};

/// Thread-safety: any worker of its runtime.
class Toggle {
 public:
  static constexpr std::uint32_t kMostInner = 64;
  /// More than workers: with one bucket a worker, two workers' operations that cross the middle held all.
  static constexpr std::size_t kLeastBuckets = 16;

  /// Start-up only. Throws std::invalid_argument where the options make no sense.
  Toggle(Runtime& runtime, const ToggleOptions& options);
  ~Toggle();
  Toggle(const Toggle&) = delete;
  Toggle& operator=(const Toggle&) = delete;

  [[nodiscard]] std::uint32_t buckets() const noexcept { return static_cast<std::uint32_t>(count_); }
  /// Slots of all buckets; an operation's must be below.
  [[nodiscard]] std::uint32_t slots() const noexcept { return buckets() * inner_count_; }
  /// The meaning of the bits of an operation's mask.
  [[nodiscard]] const SlotParts& parts() const noexcept { return parts_; }
  /// The order in force. Hosts, inner mode and stealing are for buckets.
  [[nodiscard]] interval_order order() const noexcept {
    return queue_ != nullptr ? interval_order::queue : interval_order::toggle;
  }
  [[nodiscard]] bool has_hosts() const noexcept { return hosts_; }
  [[nodiscard]] bool has_inner_mode() const noexcept { return inner_; }
  [[nodiscard]] bool has_stealing() const noexcept { return stealing_; }

  /// Hands an operation over; it begins when nothing that conflicts is under way.
  void submit(ToggleOperation& operation, Worker& worker);
  /// The operation has ended, on any worker: operations that waited for it may begin. `operation` may be gone
  /// afterwards.
  void finished(ToggleOperation& operation, Worker& worker);
  /// The map of keys to slots was replaced, by an operation that holds all slots: waiting operations are
  /// placed anew.
  void map_changed() noexcept { map_version_.fetch_add(1, std::memory_order_release); }

  [[nodiscard]] ToggleStats stats() const noexcept;
  /// Drops the operations that wait; returns how many. Only when no worker runs any more.
  std::size_t discard_waiting(Runtime& runtime) noexcept;

  // --- For its tasks ---

  /// At the bucket that it waits at.
  void arrived(ToggleOperation& operation, Worker& worker);

 private:
  friend class ToggleBuckets;

  /// Asks an operation for its slots; its first bucket.
  std::uint32_t place(ToggleOperation& operation) noexcept;
  static void begin(ToggleOperation& operation, Worker& worker);
  void place_in_queue(IntervalQueue::Entry& entry) noexcept;
  void leave_queue(ToggleOperation& operation, Worker& worker);

  std::size_t count_;
  std::uint32_t inner_count_;
  SlotParts parts_;
  bool hosts_;
  bool inner_;
  bool stealing_;
  std::atomic<std::uint32_t> map_version_{1};
  std::unique_ptr<ToggleBuckets> buckets_;  ///< for order: toggle
  std::unique_ptr<IntervalQueue> queue_;    ///< in place of the buckets
  // Of the queue. Relaxed: statistics.
  std::atomic<std::uint64_t> operations_{0};
  std::atomic<std::uint64_t> of_many_{0};
};

inline bool ToggleOperation::stays() const noexcept {
  return toggle_->has_hosts() || (inner_ && toggle_->has_stealing());
}

template <class Derived>
void ToggleTask<Derived>::start(Worker& worker) {
  toggle().submit(*this, worker);
}

template <class Derived>
step ToggleTask<Derived>::execute(Worker& worker) {
  switch (state()) {
    case phase::running:
      return static_cast<Derived&>(*this).run(worker);
    case phase::sent:
      begun();
      return static_cast<Derived&>(*this).run(worker);
    case phase::waiting:
      toggle().arrived(*this, worker);
      break;
    case phase::created:  // spawned from outside
      start(worker);
      break;
  }
  return step::parked;
}

}  // namespace mxkv::runtime

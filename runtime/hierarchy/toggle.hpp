// Toggle schedules operations on intervals of a hierarchy. Conflicting operations meet on one worker, and
// independent ones run side by side [To 3].
//
// The slots are spread over buckets, each with a host worker. An operation goes to the bucket that covers its
// interval, to the outer part of it, where the host runs one operation after the other. An operation of a
// single slot is moved to that slot's inner bucket when its turn comes. After kOuterInRow operations, or when
// there are no others, the host toggles the bucket to its inner mode. Then the slots that have operations are
// open. The host and idle workers take one slot after the other by an atomic counter and run its operations.
// When all are through, the bucket belongs to its host again.
//
// An operation of several buckets names them by a bit mask. It is a token that visits them in ascending order
// and holds each that it has passed, and none that it leaves out; when it has the last one it runs, on the host
// of the lowest. No worker blocks meanwhile: a bucket that is held starts nothing, and its host does other work.
// Ascending order leaves no room for a cycle. Up to kMostTogether operations that wait at the same first bucket
// go together: the later ones run when the buckets are held anyway.
//
// Operations that only read say so and share. Shared operations that follow each other, in a slot's inner
// bucket or in a group that goes together, begin together and on several workers; the next exclusive one
// begins when the last of them has ended. A group of shared operations alone holds its buckets beside other
// such groups. The order of arrival decides: no operation passes an exclusive one that came before, so the
// exclusive one waits for those under way and for nothing else.
//
// An operation may take many steps and tasks, which remain where it began while stays() says so; it ends with
// finished(). Bucket state belongs to the host; all messages are tasks in its pinned pool. Other workers only
// take slots, by the counter. Without hosts, as a switch, there are no messages: each worker orders the
// operations that it brings, under a latch of the bucket, and operations of the outer parts run on any
// worker.
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

/// Counters of all buckets, since the beginning.
struct ToggleStats {
  std::uint64_t operations = 0;  ///< begun
  std::uint64_t of_many = 0;     ///< of these, operations that held several buckets
  std::uint64_t inner = 0;       ///< of these, operations that ran in inner mode
  std::uint64_t phases = 0;      ///< times that a bucket was in inner mode
  std::uint64_t stolen = 0;      ///< slots that others than the host took
  std::uint64_t followed = 0;    ///< operations that came along with another, in buckets that it held
  std::uint64_t shared = 0;      ///< operations that began together with another
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
  /// With 8, inner mode begins with two operations or so, too few to keep several workers busy
  /// (figure-toggle-module).
  static constexpr std::uint32_t kOuterInRow = 64;
  static constexpr std::uint32_t kMostTogether = 16;

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

  /// Hands an operation to its bucket.
  void submit(ToggleOperation& operation, Worker& worker);
  /// The operation has ended, on any worker: operations that waited for it may begin. `operation` may be gone
  /// afterwards.
  void finished(ToggleOperation& operation, Worker& worker);
  /// The map of keys to slots was replaced, by an operation that holds all slots: waiting operations are
  /// placed anew.
  void map_changed() noexcept { map_version_.fetch_add(1, std::memory_order_release); }

  [[nodiscard]] ToggleStats stats() const noexcept;
  /// Drops the operations that wait in the buckets; returns how many. Only when no worker runs any more.
  std::size_t discard_waiting(Runtime& runtime) noexcept;

  // --- For its tasks ---

  /// On the host of the bucket that it waits at; without hosts, anywhere.
  void arrived(ToggleOperation& operation, Worker& worker);
  /// By a group that begins at bucket `first`.
  void released(std::uint32_t bucket, std::uint32_t first, Worker& worker);
  /// Takes an open slot of a bucket in inner mode, if there is one left.
  bool take_slot(std::uint32_t bucket, Worker& worker);

 private:
  struct Bucket;

  /// Asks an operation for its slots; its first bucket.
  [[nodiscard]] std::uint32_t place(ToggleOperation& operation) noexcept;
  /// Whether this worker orders the operations of a bucket.
  [[nodiscard]] bool serves(std::uint32_t bucket, const Worker& worker) const noexcept;
  void place_anew(MxTask* waiting, Worker& worker) noexcept;
  void follow_map(std::uint32_t bucket, Worker& worker) noexcept;
  void send(ToggleOperation& operation, Worker& worker) noexcept;
  void advance(std::uint32_t bucket, Worker& worker);
  void wait_for_inner(ToggleOperation& operation) noexcept;
  void gather_followers(std::uint32_t bucket, ToggleOperation& leader) noexcept;
  void open_slots(std::uint32_t bucket, Worker& worker);
  void begin(ToggleOperation& operation, Worker& worker);
  void begin_at(WorkerId at, ToggleOperation& operation, Worker& worker);
  /// Begins `first` and the operations of the list behind it that share with it; `left` counts them down.
  void begin_together(WorkerId at, ToggleOperation& first, Bucket& bucket, TaskList& behind,
                      std::atomic<std::uint32_t>& left, Worker& worker);
  /// Begins an operation of the group that begins at `bucket`.
  void begin_outer(Bucket& bucket, ToggleOperation& operation, Worker& worker);
  /// Begins the `turn`-th of the operations that begin together, where there is time for it.
  void begin_beside(WorkerId at, ToggleOperation& operation, std::size_t turn, Worker& worker);
  /// Begins the next operation of a slot's inner bucket; false: there is none.
  bool begin_in_slot(Bucket& bucket, std::uint32_t slot, Worker& worker);
  void end_outer(Bucket& bucket, std::uint32_t first, Worker& worker);
  void go_to(ToggleOperation& operation, std::uint32_t bucket, Worker& worker);
  void release(std::uint32_t bucket, std::uint32_t first, Worker& worker);
  /// The next bucket behind `bucket` that is held by a group which names `parts` and reaches up to `reach`;
  /// above `reach`: there is none.
  [[nodiscard]] std::uint32_t next_held(std::uint32_t bucket, std::uint32_t reach,
                                        std::uint64_t parts) const noexcept;
  void enter_queue(ToggleOperation& operation, Worker& worker);
  void place_in_queue(IntervalQueue::Entry& entry) noexcept;
  void leave_queue(ToggleOperation& operation, Worker& worker);

  std::size_t count_;
  std::uint32_t inner_count_;
  SlotParts parts_;
  bool hosts_;
  bool inner_;
  bool stealing_;
  std::size_t workers_;
  std::unique_ptr<Bucket[]> buckets_;
  std::atomic<std::uint32_t> map_version_{1};
  std::unique_ptr<IntervalQueue> queue_;  ///< in place of the buckets
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

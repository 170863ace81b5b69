// Buckets that toggle between an outer and an inner part: conflicting operations meet on one worker, and independent
// ones run side by side [To 3].
//
// The slots are spread over buckets, each with a host worker. An operation goes to the bucket that covers its
// interval, to the outer part of it, where the host runs one operation after the other. An operation of a
// single slot is moved to that slot's inner bucket when its turn comes. After kOuterInRow operations, or when
// there are no others, the host toggles the bucket to its inner mode. Then the slots that have operations are
// open. The host and, while there are any, idle workers take one slot after the other by an atomic counter and run its operations.
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
// Bucket state belongs to the host; all messages are tasks in its pinned pool. Other workers only
// take slots, by the counter. Without hosts, as a switch, there are no messages: each worker orders the
// operations that it brings, under a latch of the bucket, and operations of the outer parts run on any
// worker.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/hierarchy/toggle.hpp"

namespace mxkv::runtime {

/// Thread-safety: any worker of its runtime.
class ToggleBuckets {
 public:
  /// With 8, inner mode begins with two operations or so, too few to keep several workers busy
  /// (figure-toggle-module).
  static constexpr std::uint32_t kOuterInRow = 64;
  static constexpr std::uint32_t kMostTogether = 16;

  /// Start-up only.
  ToggleBuckets(Toggle& toggle, Runtime& runtime);
  ~ToggleBuckets();
  ToggleBuckets(const ToggleBuckets&) = delete;
  ToggleBuckets& operator=(const ToggleBuckets&) = delete;

  // --- For Toggle, as its functions of these names ---

  void submit(ToggleOperation& operation, Worker& worker);
  void finished(ToggleOperation& operation, Worker& worker);
  [[nodiscard]] ToggleStats stats() const noexcept;
  std::size_t discard_waiting(Runtime& runtime) noexcept;

  // --- For their tasks ---

  /// On the host of the bucket that it waits at; without hosts, anywhere.
  void arrived(ToggleOperation& operation, Worker& worker);
  /// By a group that begins at bucket `first`.
  void released(std::uint32_t bucket, std::uint32_t first, Worker& worker);
  /// Takes an open slot of a bucket in inner mode, if there is one left.
  bool take_slot(std::uint32_t bucket, Worker& worker);

 private:
  struct Bucket;

  /// Whether this worker orders the operations of a bucket.
  [[nodiscard]] bool serves(std::uint32_t bucket, const Worker& worker) const noexcept;
  void place_anew(MxTask* waiting, Worker& worker) noexcept;
  void follow_map(std::uint32_t bucket, Worker& worker) noexcept;
  void send(ToggleOperation& operation, Worker& worker) noexcept;
  void advance(std::uint32_t bucket, Worker& worker);
  void wait_for_inner(ToggleOperation& operation) noexcept;
  void gather_followers(std::uint32_t bucket, ToggleOperation& leader) noexcept;
  void open_slots(std::uint32_t bucket, Worker& worker);
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

  Toggle& toggle_;
  std::size_t count_;
  std::uint32_t inner_count_;
  bool hosts_;
  bool inner_;
  bool stealing_;
  std::size_t workers_;
  std::unique_ptr<Bucket[]> buckets_;
};

}  // namespace mxkv::runtime

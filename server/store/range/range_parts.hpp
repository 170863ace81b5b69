// A large range in parts that all workers carry: deferred tasks of one request [LAS 4], joined by a final task
// at home [Mx fig. 1].
//
//   the operation ──> RangeDivideTask ──> RangePartTask, one a part ──> RangeFinalTask ──> the operation
//   at home           separators of        deferred, before a join:       after it,          at home
//                     inner nodes          starts the part's walk         bound to home
//
// The operation, which has found its range to be large, rests meanwhile without a pin; it keeps its reply, and
// the lock of its range if it has one. A part's walk is a task of its own, with a pin and a state of the worker that took
// the part. What the part came to goes into a place of its own, which the operation reads when all have ended.
// It may have the same parts gone over again.
//
// Who only reads for a client that has gone gives up. Only home knows: a part elsewhere has it asked now and then.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "index/divide_task.hpp"
#include "runtime/pool/dependent_task.hpp"
#include "server/store/range/range_tally.hpp"
#include "server/store/range/range_walk.hpp"
#include "server/store/store_task.hpp"

namespace mxkv::server {

class RangePartTask;
class RangeParts;

/// What an operation does with its parts.
template <class T>
concept DividedOperation = requires(T task, RangePartTask& part, runtime::Worker& worker) {
  task.start_part(part,
                  worker);   // on any worker: makes a walk that calls part.end(); not before it has begun
  task.parts_ended(worker);  // at home: all parts have ended
  task.undivided(worker);    // at home: there are no parts, it goes on by itself
};

/// One part, and what it came to. Thread-safety: whoever has the part; the operation when all have ended.
struct alignas(runtime::kCacheLineBytes) RangePart {
  std::string from;  ///< its first key
  RangeTally tally;
  std::uint64_t seen_order = 0;  ///< greatest order read; kept where reads wait for the disk
  bool too_many = false;
  bool no_memory = false;

  void clear() noexcept {
    tally = {};
    seen_order = 0;
    too_many = no_memory = false;
  }
};

/// Thread-safety: see each function.
class RangeParts {
 public:
  /// For an operation that has `state` and walks from `from` on.
  template <DividedOperation T>
  [[nodiscard]] static RangeParts* of(T& operation, ItemTree& tree, const RangeState& state,
                                      std::string_view from, bool skips_from, const ReplyAddress& address,
                                      const RangeSplitting& how) {
    return new RangeParts{operation, kUser<T>, tree, state, from, skips_from, address, how};
  }
  /// The same of the first `leaves` leaves or so alone; strip_end() tells where they end.
  template <DividedOperation T>
  [[nodiscard]] static RangeParts* of_strip(std::size_t leaves, T& operation, ItemTree& tree,
                                            const RangeState& state, std::string_view from, bool skips_from,
                                            const ReplyAddress& address, const RangeSplitting& how) {
    RangeParts* const parts = of(operation, tree, state, from, skips_from, address, how);
    parts->strip_leaves_ = leaves;
    return parts;
  }
  ~RangeParts() = default;
  RangeParts(const RangeParts&) = delete;
  RangeParts& operator=(const RangeParts&) = delete;

  // --- For the operation, at home ---

  /// Divides the range and starts its parts. The operation rests from now on, without a pin.
  void begin(runtime::Worker& worker);
  /// Has all parts gone over, once more; the first one from `from` on. False: that cannot be now, and the
  /// operation goes on by itself.
  [[nodiscard]] bool start_again(std::string_view from, bool skips_from, runtime::Worker& worker);
  /// What they came to, in the order of the range. When all have ended.
  [[nodiscard]] const std::vector<RangePart>& ended() const noexcept { return parts_; }
  /// The first key behind a strip; empty: it goes to the end of the range.
  [[nodiscard]] std::string_view strip_end() const noexcept { return strip_end_; }
  /// The number of a part, from 0.
  [[nodiscard]] std::size_t number_of(const RangePart& part) const noexcept {
    return static_cast<std::size_t>(&part - parts_.data());
  }
  /// A reply that tells of the parts waits for the disk where they have seen what is not there.
  void await_reads(runtime::Worker& worker) const noexcept;

  // --- For walks, any worker ---

  [[nodiscard]] const ReplyAddress& address() const noexcept { return address_; }
  /// A state for the walk of a part, which begins at the part's first key; `skip_start` is as it is to be.
  [[nodiscard]] RangeState* state_of(const RangePart& part, runtime::Worker& worker) const;
  /// Asks others to end: what they find does not count any more. Relaxed: nothing else is told by it.
  void give_up() noexcept { given_up_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool given_up() const noexcept { return given_up_.load(std::memory_order_relaxed); }
  /// Spawns a task of a part that has not ended, for home: it is done before parts_ended().
  void send_home(runtime::DependentTask& task, runtime::Worker& worker);
  [[nodiscard]] bool is_home(const runtime::Worker& worker) const noexcept {
    return worker.id().value() == address_.worker;
  }
  /// Whether the client is still there, as far as is known here. Of an operation that only reads.
  void look_for_client(runtime::Worker& worker);

 private:
  friend class RangeDivideTask;
  friend class RangePartTask;
  friend class RangeFinalTask;
  friend class RangeClientTask;

  /// The operation's functions.
  struct User {
    void (*start_part)(runtime::MxTask& operation, RangePartTask& part, runtime::Worker& worker);
    void (*parts_ended)(runtime::MxTask& operation, runtime::Worker& worker);
    void (*undivided)(runtime::MxTask& operation, runtime::Worker& worker);
  };
  template <class T>
  static constexpr User kUser{[](runtime::MxTask& operation, RangePartTask& part, runtime::Worker& worker) {
                                static_cast<T&>(operation).start_part(part, worker);
                              },
                              [](runtime::MxTask& operation, runtime::Worker& worker) {
                                static_cast<T&>(operation).parts_ended(worker);
                              },
                              [](runtime::MxTask& operation, runtime::Worker& worker) {
                                static_cast<T&>(operation).undivided(worker);
                              }};

  RangeParts(runtime::MxTask& operation, const User& user, ItemTree& tree, const RangeState& state,
             std::string_view from, bool skips_from, const ReplyAddress& address, const RangeSplitting& how)
      : operation_(&operation),
        user_(&user),
        tree_(&tree),
        state_(&state),
        from_(from),
        skips_from_(skips_from),
        address_(address),
        how_(how) {}

  [[nodiscard]] bool ends_before(std::string_view key);
  void divided(unsigned level, runtime::Worker& worker);
  [[nodiscard]] bool start(runtime::Worker& worker);
  void discard(runtime::Worker& worker) {
    operation_->task_class().discard(*operation_, worker);  // which deletes this
  }

  runtime::MxTask* operation_;
  const User* user_;
  ItemTree* tree_;
  const RangeState* state_;  ///< the operation's
  std::string from_;
  bool skips_from_;  ///< the first key itself is not wanted
  ReplyAddress address_;
  RangeSplitting how_;
  std::size_t strip_leaves_ = 0;  ///< 0: all of the range is gone over
  std::string strip_end_;
  index::SpacedKeys<std::string> keys_{0};
  std::vector<RangePart> parts_;
  runtime::Join* join_ = nullptr;  ///< good while a part is open
  std::atomic<bool> given_up_{false};
};

/// One part of a range. It rests while its walk is under way.
class RangePartTask final : public runtime::DependentTask {
 public:
  static constexpr const char* kName = "range part";

  RangePartTask(const runtime::TaskClass* task_class, RangeParts& parts, RangePart& part) noexcept
      : DependentTask(task_class), parts_(&parts), part_(&part) {}

  [[nodiscard]] RangeParts& parts() const noexcept { return *parts_; }
  [[nodiscard]] RangePart& part() const noexcept { return *part_; }
  /// The walk has ended, and has nothing of the part any more.
  void end(runtime::Worker& worker) noexcept {
    ended_ = true;
    worker.spawn(this);
  }

  runtime::step execute(runtime::Worker& worker);

 private:
  RangeParts* parts_;
  RangePart* part_;
  bool ended_ = false;
};

/// What walks of parts share that only read. Thread-safety: whoever runs the task.
class PartWalk : public RangeWalk {
 public:
  [[nodiscard]] static bool backward() noexcept { return false; }
  void discard(runtime::Worker& worker) {
    release(worker);
    part_->task_class().discard(*part_, worker);
  }

 protected:
  PartWalk(RangePartTask& part, runtime::Worker& worker)
      : RangeWalk(*part.parts().state_of(part.part(), worker), part.parts().address()),
        part_(&part),
        at_home_(part.parts().is_home(worker)) {
    const bool skips = state_->skip_start;
    set_key(part.part().from);
    state_->skip_start = skips;
  }
  /// The walk has come to its end, and what it came to is where it belongs.
  runtime::step end_part(runtime::MxTask& task, runtime::Worker& worker) {
    worker.unpin(task);
    release(worker);
    part_->end(worker);
    return runtime::step::done;
  }

  RangePartTask* part_;
  bool at_home_;
};

/// What walks of operations that change a range share: the whole goes over the first leaves by itself, and then
/// has parts, whose walks are of the same class. Thread-safety: whoever runs the task.
class DividedWalk : public RangeWalk {
 protected:
  DividedWalk(RangeState& state, const ReplyAddress& address, const RangeSplitting& how) noexcept
      : RangeWalk(state, address), how_(how) {}
  /// Of a part.
  DividedWalk(RangePartTask& part, const ReplyAddress& address, runtime::Worker& worker)
      : RangeWalk(*part.parts().state_of(part.part(), worker), address), part_(&part) {
    const bool skips = state_->skip_start;
    set_key(part.part().from);
    state_->skip_start = skips;
  }

  [[nodiscard]] bool is_part() const noexcept { return part_ != nullptr; }
  /// Whether what is found does not count any more, since another part failed.
  [[nodiscard]] bool is_futile() const noexcept { return part_ != nullptr && part_->parts().given_up(); }
  /// The whole is divided when it comes to a live item behind the first leaves.
  void expect_division() noexcept {
    if (how_.parts_a_worker > 0) {
      leaves_left_ = how_.leaves_alone;
    }
  }
  [[nodiscard]] bool is_to_divide() const noexcept { return leaves_left_ == 0; }
  /// Of the leaf that is judged now: whether all keys below its high fence lie within the range. Then no key of it is
  /// read, which is often in another line than what else is asked of an item.
  void judge_up_to(std::string_view high, bool infinite) noexcept {
    const std::string_view far{state_->far_key, state_->far_bytes};
    switch (state_->far) {
      case RangeState::far_bound::none:
        inside_ = true;
        break;
      case RangeState::far_bound::prefix:
        inside_ = !infinite && high.starts_with(far) && key().starts_with(far);
        break;
      case RangeState::far_bound::inclusive:
      case RangeState::far_bound::exclusive:
        inside_ = !infinite && high <= far;
        break;
    }
  }
  [[nodiscard]] bool is_beyond(const Item& item) const noexcept {
    return !inside_ && state_->beyond(item.key());
  }
  [[nodiscard]] bool is_skipped(const Item& item) const noexcept {
    return state_->skip_start && item.key() == key();
  }
  void leaf_done(bool divides, runtime::Worker& worker) noexcept {
    worker.charge(kTurnsOfLeaf);
    divides_ = divides;
    leaves_left_ -= leaves_left_ > 0 && leaves_left_ != kEveryLeaf ? 1U : 0U;
  }
  /// Once: the walk has come to where the parts are to begin.
  [[nodiscard]] bool take_division() noexcept {
    leaves_left_ = kEveryLeaf;
    return std::exchange(divides_, false);
  }

  /// Leaves the tree, and goes home if it is elsewhere: begin_parts() follows, in resume_item().
  template <DividedOperation T>
  runtime::step divide(T& task, runtime::Worker& worker) {
    MXKV_ASSERT(parts_ == nullptr && part_ == nullptr, "what is left of a whole is divided once");
    parts_ = RangeParts::of(task, task.tree(), *state_, key(), state_->skip_start, address_, how_);
    worker.unpin(task);
    divides_ = true;
    if (worker.id().value() != address_.worker) {
      return go_home(task, address_);
    }
    leave_tree(task);
    return task.resume_item(worker);
  }
  void begin_parts(runtime::MxTask& task, runtime::Worker& worker) {
    task.annotate(runtime::WorkerId{runtime::Annotations::kAnyWorker});
    parts_->begin(worker);
  }
  void drop_parts() noexcept { delete std::exchange(parts_, nullptr); }
  /// The walk of a part has come to its end.
  runtime::step end_part(runtime::MxTask& task, bool too_many, bool no_memory, runtime::Worker& worker) {
    RangePart& part = part_->part();
    part.tally.items = state_->items;
    part.too_many = too_many;
    part.no_memory = no_memory;
    if (too_many || no_memory) {
      part_->parts().give_up();
    }
    worker.unpin(task);
    release(worker);
    part_->end(worker);
    return runtime::step::done;
  }
  void give_back_all(runtime::Worker& worker) {
    drop_parts();
    release(worker);
    if (part_ != nullptr) {
      part_->task_class().discard(*part_, worker);
    }
  }

  RangeParts* parts_ = nullptr;  ///< of the whole, while there are some

 private:
  static constexpr std::uint32_t kEveryLeaf = ~0U;

  RangePartTask* part_ = nullptr;  ///< that this walk is of; null: the whole
  RangeSplitting how_;
  std::uint32_t leaves_left_ = kEveryLeaf;  ///< before the rest is divided
  bool divides_ = false;
  bool inside_ = false;
};

}  // namespace mxkv::server

// A large range in parts that all workers carry: deferred tasks of one request [LAS 4], joined by a final task
// at home [Mx fig. 1].
//
//   the operation ──> RangeDivideTask ──> RangePartTask, one a part ──> RangeFinalTask ──> the operation
//   at home           separators of        deferred, before a join:       after it,          at home
//                     inner nodes          starts the part's walk         bound to home
//
// Once the operation has found its range to be large, it rests without a pin. It keeps its reply, and the
// lock of its range if it has one. A part's walk is a task of its own, with a pin and a state of the worker
// that took the part. Each part has its own place for results, which the operation reads when all parts have
// ended. The operation may have the same parts walked again.
//
// An operation that only reads gives up when its client has gone. Only home knows that, so a part elsewhere
// asks home now and then.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "index/divide_task.hpp"
#include "runtime/pool/dependent_task.hpp"
#include "server/store/core/store_task.hpp"
#include "server/store/range/range_tally.hpp"
#include "server/store/range/range_walk.hpp"

namespace mxkv::server {

class RangePartTask;
class RangeParts;

/// The functions that an operation has for its parts.
template <class T>
concept DividedOperation = requires(T task, RangePartTask& part, runtime::Worker& worker) {
  task.start_part(part,
                  worker);   // on any worker: makes a walk that calls part.end(); not before it has begun
  task.parts_ended(worker);  // at home: all parts have ended
  task.undivided(worker);    // at home: there are no parts, it goes on by itself
};

/// One part and its result. Thread-safety: the part's worker; the operation when all parts have ended.
struct alignas(runtime::kCacheLineBytes) RangePart {
  std::string from;  ///< its first key
  RangeTally tally;
  SeenOrder seen;  ///< by the part's walk
  bool too_many = false;
  bool no_memory = false;

  void clear() noexcept {
    tally = {};
    seen = {};
    too_many = no_memory = false;
  }
};

/// Thread-safety: see each function.
class RangeParts {
 public:
  /// For an operation with `state`, whose walk is at `from`.
  template <DividedOperation T>
  [[nodiscard]] static RangeParts* of(T& operation, ItemTree& tree, const RangeState& state,
                                      std::string_view from, bool skips_from, const ReplyAddress& address,
                                      const RangeSplitting& how) {
    return new RangeParts{operation, kUser<T>, tree, state, from, skips_from, address, how};
  }
  /// The same for about the first `leaves` leaves only; strip_end() says where they end.
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

  /// Divides the range and starts its parts. From now on the operation rests, without a pin.
  void begin(runtime::Worker& worker);
  /// Starts a second walk of all parts, the first one at `from`. False: that is impossible now, and the
  /// operation walks the range alone.
  [[nodiscard]] bool start_again(std::string_view from, bool skips_from, runtime::Worker& worker);
  /// The results of the parts, in the order of the range. When all have ended.
  [[nodiscard]] const std::vector<RangePart>& ended() const noexcept { return parts_; }
  /// The first key behind a strip; empty: the strip goes to the end of the range.
  [[nodiscard]] std::string_view strip_end() const noexcept { return strip_end_; }
  /// The number of a part, from 0.
  [[nodiscard]] std::size_t number_of(const RangePart& part) const noexcept {
    return static_cast<std::size_t>(&part - parts_.data());
  }

  // --- For walks, any worker ---

  [[nodiscard]] const ReplyAddress& address() const noexcept { return address_; }
  /// Makes the state of a part's walk, with its `skip_start`. The walk begins at the part's first key.
  [[nodiscard]] RangeState* state_of(const RangePart& part, runtime::Worker& worker) const;
  /// Asks the other parts to end: their results no longer count. Relaxed: the flag publishes nothing else.
  void give_up() noexcept { given_up_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool given_up() const noexcept { return given_up_.load(std::memory_order_relaxed); }
  /// Spawns a task at home for a part that has not ended. The task is done before parts_ended().
  void send_home(runtime::DependentTask& task, runtime::Worker& worker);
  [[nodiscard]] bool is_home(const runtime::Worker& worker) const noexcept {
    return worker.id().value() == address_.worker;
  }
  /// Gives up if the client has gone; elsewhere, asks home to check that. For operations that only read.
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
  bool skips_from_;  ///< the walk leaves out the first key itself
  ReplyAddress address_;
  RangeSplitting how_;
  std::size_t strip_leaves_ = 0;  ///< 0: the parts cover the whole range
  std::string strip_end_;
  index::SpacedKeys<std::string> keys_{0};
  std::vector<RangePart> parts_;
  runtime::Join* join_ = nullptr;  ///< valid while a part is open
  std::atomic<bool> given_up_{false};
};

/// One part of a range. It rests while its walk runs.
class RangePartTask final : public runtime::DependentTask {
 public:
  static constexpr const char* kName = "range part";

  RangePartTask(const runtime::TaskClass* task_class, RangeParts& parts, RangePart& part) noexcept
      : DependentTask(task_class), parts_(&parts), part_(&part) {}

  [[nodiscard]] RangeParts& parts() const noexcept { return *parts_; }
  [[nodiscard]] RangePart& part() const noexcept { return *part_; }
  /// The walk has ended, and does not use the part any more.
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

/// Shared by walks of parts that only read. Thread-safety: the task that walks.
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
  /// The walk has ended and stored its result in the part.
  runtime::step end_part(runtime::MxTask& task, runtime::Worker& worker) {
    worker.unpin(task);
    release(worker);
    part_->end(worker);
    return runtime::step::done;
  }

  RangePartTask* part_;
  bool at_home_;
};

/// Shared by walks of operations that change a range. The whole walks the first leaves itself; then it is
/// divided into parts, whose walks are of the same class. Thread-safety: the task that walks.
class DividedWalk : public RangeWalk {
 protected:
  DividedWalk(RangeState& state, const ReplyAddress& address, const RangeSplitting& how) noexcept
      : RangeWalk(state, address), how_(how) {}
  /// The walk of a part.
  DividedWalk(RangePartTask& part, const ReplyAddress& address, runtime::Worker& worker)
      : RangeWalk(*part.parts().state_of(part.part(), worker), address), part_(&part) {
    const bool skips = state_->skip_start;
    set_key(part.part().from);
    state_->skip_start = skips;
  }

  [[nodiscard]] bool is_part() const noexcept { return part_ != nullptr; }
  /// Whether another part failed, so that this walk's result no longer counts.
  [[nodiscard]] bool is_futile() const noexcept { return part_ != nullptr && part_->parts().given_up(); }
  /// The whole is divided when its walk meets a live item behind the first leaves.
  void expect_division() noexcept {
    if (how_.parts_a_worker > 0) {
      leaves_left_ = how_.leaves_alone;
    }
  }
  [[nodiscard]] bool is_to_divide() const noexcept { return leaves_left_ == 0; }
  /// Notes whether all keys below the leaf's high fence lie within the range. If so, the walk reads no key of
  /// the leaf: a key is often in another cache line than the rest of the item's data.
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
  /// Whether the walk has come to where the parts begin. True at most once.
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
  /// Writes the reply of an operation that has changed its range: HD A<items> [G<cursor>] [O<opaque>].
  void write_changed(ReplyQueue& queue);
  void drop_parts() noexcept { delete std::exchange(parts_, nullptr); }
  /// Ends the walk of a part.
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

  RangeParts* parts_ = nullptr;  ///< of a whole, while it is divided

 private:
  static constexpr std::uint32_t kEveryLeaf = ~0U;

  RangePartTask* part_ = nullptr;  ///< the part that this task walks; null: it walks the whole
  RangeSplitting how_;
  std::uint32_t leaves_left_ = kEveryLeaf;  ///< before the rest is divided
  bool divides_ = false;
  bool inside_ = false;
};

}  // namespace mxkv::server

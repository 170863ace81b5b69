// The engine of operations that change the items of a range: mx and mt. It walks leaf after leaf
// (index/edit_task.hpp); its policy judges the entries and changes them.
//
// An operation that holds its range goes over it twice. The first pass does all that can fail, and no client sees a
// change. Then the whole range passes the commit point. The second pass cannot fail. Behind the first leaves a large
// range is divided into parts (range_parts.hpp), and the second pass is divided from its start. A part's walk is of
// the same class. An operation that does not hold its range has the second pass alone.
//
// Policy (CRTP) gives, beside the functions that EditTask calls
//   Policy(task_class, const Policy& whole, RangePartTask&, Worker&)     the walk of a part
//   void held(Worker&)                                                   the range is held from now on
//   Commit whole_change(order) const                                     the range's change, for the commit point
//   kRequests, kItems                                                    counters
// It keeps RangeState's items and, where the first pass has failed, its too_many or no_memory_.
#pragma once

#include "index/edit_task.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/core/store_state.hpp"
#include "server/store/core/store_task.hpp"
#include "server/store/core/visibility.hpp"
#include "server/store/range/range_parts.hpp"

namespace mxkv::server {

template <class Policy, class OfLeaf, bool kReplaces = false>
class RangeEdit : public index::EditTask<Policy, ItemTraits, OfLeaf, kReplaces>, public DividedWalk {
  using Base = index::EditTask<Policy, ItemTraits, OfLeaf, kReplaces>;

 public:
  // --- For EditTask ---
  void judges_up_to(std::string_view high, bool infinite) noexcept { judge_up_to(high, infinite); }
  runtime::step finished(runtime::Worker& worker);
  runtime::step resume_item(runtime::Worker& worker);
  void discard(runtime::Worker& worker) { give_back_all(worker); }

  // --- For RangeLock ---
  [[nodiscard]] static bool only_reads() noexcept { return false; }
  void begin(RangeLock& lock, runtime::Worker& worker);

  // --- For RangeParts ---
  void start_part(RangePartTask& part, runtime::Worker& worker) {
    worker.create<Policy>(this->self(), part, worker)->start(worker);
  }
  void parts_ended(runtime::Worker& worker);
  void undivided(runtime::Worker& worker) {
    drop_parts();
    this->start(worker);
  }

 protected:
  /// `whole`: all of the range is changed, or nothing.
  RangeEdit(const runtime::TaskClass* task_class, ItemTree& tree, const protocol::RangeRequest& request,
            bool whole, const RangeLimits& limits, RangeState& state, const ReplyAddress& address,
            std::uint64_t now_ns) noexcept
      : Base(task_class, tree), DividedWalk(state, address, limits.splitting) {
    MXKV_ASSERT(state.meta != nullptr, "mx and mt come with flags");
    limit(request, limits, now_ns);
    if (whole) {
      limit_whole(request, limits);
    }
    set_bounds(request);
  }
  /// The walk of a part.
  RangeEdit(const runtime::TaskClass* task_class, const RangeEdit& whole, RangePartTask& part,
            runtime::Worker& worker)
      : Base(task_class, whole.tree()),
        DividedWalk(part, whole.address_, worker),
        first_pass_(whole.first_pass_) {}

  /// Whether this task holds the range, or the whole of which it is a part.
  [[nodiscard]] bool holds() const noexcept { return state_->lock != nullptr || is_part(); }
  [[nodiscard]] bool in_first_pass() const noexcept { return first_pass_; }

  bool no_memory_ = false;

 private:
  /// Whether the first pass has ended well. Nothing after this can fail.
  [[nodiscard]] bool may_change() const noexcept { return first_pass_ && !state_->too_many && !no_memory_; }
  void pass_commit_point(runtime::Worker& worker);
  runtime::step answer(runtime::Worker& worker);

  bool first_pass_ = false;
};

template <class Policy, class OfLeaf, bool kReplaces>
void RangeEdit<Policy, OfLeaf, kReplaces>::begin(RangeLock& lock, runtime::Worker& worker) {
  hold(lock, worker);
  note_start();
  first_pass_ = true;
  expect_division();
  this->self().held(worker);
  this->start(worker);
}

template <class Policy, class OfLeaf, bool kReplaces>
runtime::step RangeEdit<Policy, OfLeaf, kReplaces>::finished(runtime::Worker& worker) {
  MXKV_ASSERT(state_->items <= state_->item_limit, "no more items change than may");
  MXKV_ASSERT(!first_pass_ || holds(), "only an operation that holds its range has a first pass");
  MXKV_ASSERT(first_pass_ || (!state_->too_many && !no_memory_), "the second pass changes all items");
  if (is_part()) {
    return end_part(*this, state_->too_many, no_memory_, worker);
  }
  if (take_division()) {
    return divide(this->self(), worker);
  }
  if (may_change()) {
    pass_commit_point(worker);
    return this->rescan(worker);
  }
  if (is_home(worker)) {
    return answer(worker);
  }
  state_->keep_last();  // while the item still exists
  let_go(worker);
  return go_home(*this, address_);
}

template <class Policy, class OfLeaf, bool kReplaces>
void RangeEdit<Policy, OfLeaf, kReplaces>::pass_commit_point(runtime::Worker& worker) {
  MXKV_ASSERT(may_change() && !is_part(), "the whole passes the commit point, once");
  first_pass_ = false;
  state_->items = 0;
  back_to_start();
  const index::ChangedRange<std::string_view> range = changed_range();
  const std::uint64_t order = worker.local<WorkerContext>().store->mint_through(worker);
  index::Commit<std::string_view> commit = this->self().whole_change(order);
  commit.moment_us = state_->moment_us;
  commit.range = &range;
  this->tree().commits().pass(commit, worker);
}

template <class Policy, class OfLeaf, bool kReplaces>
void RangeEdit<Policy, OfLeaf, kReplaces>::parts_ended(runtime::Worker& worker) {
  for (const RangePart& part : parts_->ended()) {
    state_->items += part.tally.items;
    state_->too_many = state_->too_many || part.too_many;
    no_memory_ = no_memory_ || part.no_memory;
  }
  state_->too_many = state_->too_many || state_->items > state_->item_limit;
  worker.spawn(this);
}

// At home: to begin parts, after parts, or to answer.
template <class Policy, class OfLeaf, bool kReplaces>
runtime::step RangeEdit<Policy, OfLeaf, kReplaces>::resume_item(runtime::Worker& worker) {
  if (take_division()) {
    begin_parts(*this, worker);
    return runtime::step::parked;
  }
  if (parts_ != nullptr && may_change()) {
    pass_commit_point(worker);
    if (!parts_->start_again(key(), state_->skip_start, worker)) {
      undivided(worker);
    }
    return runtime::step::parked;
  }
  return answer(worker);
}

template <class Policy, class OfLeaf, bool kReplaces>
runtime::step RangeEdit<Policy, OfLeaf, kReplaces>::answer(runtime::Worker& worker) {
  MXKV_ASSERT(is_home(worker), "replies are written at home");
  MXKV_ASSERT(!may_change(), "an operation that ends with its first pass has failed");
  drop_parts();
  auto& context = worker.local<WorkerContext>();
  const Seen seen = saw_change(context);
  if (first_pass_) {
    return refuse(seen, no_memory_ ? protocol::kOutOfMemory : protocol::kTooManyKeys, *this, worker);
  }
  context.counters.count(Policy::kRequests);
  context.counters.count(Policy::kItems, state_->items);
  if (ReplyQueue* const queue = context.replies->find(address_, seen)) {
    write_changed(*queue);
    queue->close(address_.ticket);
  }
  return end(*this, worker);
}

}  // namespace mxkv::server

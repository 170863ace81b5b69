// scan, scans, pscan, pscans, mr: one page of a range, written to the client as it is found.
//
// A page ends at the client's limit, at the far bound, or at one of the server's ceilings (items, bytes,
// time), which leave a cursor. Nothing is allocated an item.
//
// With X the range is held while the page is read, on the worker that the range is of (locks/range_locks.hpp);
// from the first large value on, which is sent by reference, it is read at home. One without a far bound is not held to its end, which may
// be far away: only as much as should do for a page, which ends there.
#pragma once

#include "server/store/range/range_leaf.hpp"
#include "server/store/range/range_walk.hpp"

namespace mxkv::server {

class RangeTask final : public index::ScanTask<RangeTask, ItemTraits>, public RangeWalk {
  using Base = index::ScanTask<RangeTask, ItemTraits>;

 public:
  static constexpr const char* kName = "range";
  static constexpr bool kOwnLoops = true;

  RangeTask(const runtime::TaskClass* task_class, ItemTree& tree, const protocol::RangeRequest& request,
            const RangeLimits& limits, RangeState& state, const ReplyAddress& address,
            std::uint64_t now_ns) noexcept;

  [[nodiscard]] bool backward() const noexcept { return state_->reverse; }
  /// One more where it has to be told whether there is one, and one that is skipped.
  [[nodiscard]] std::uint64_t wanted() const noexcept {
    return state_->item_limit - state_->items + (state_->ceiling || state_->want_cursor ? 1U : 0U) +
           (state_->skip_start ? 1U : 0U);
  }
  [[nodiscard]] RangeLeaf leaf_visitor(runtime::Worker& worker) noexcept {
    const PagePlace place =
        state_->away == nullptr
            ? PagePlace{worker.local<WorkerContext>().replies->find(address_), address_.ticket}
            : page(worker);
    return {*state_, address_, place, key(), here(), worker};
  }
  runtime::step finished(bool exhausted, runtime::Worker& worker);
  /// At home, with what was written elsewhere; or there again.
  runtime::step resume_item(runtime::Worker& worker);
  void discard(runtime::Worker& worker);

  // --- For RangeLock ---
  [[nodiscard]] bool only_reads() const noexcept { return true; }
  void begin(RangeLock& lock, runtime::Worker& worker);

 private:
  runtime::step hold_more(runtime::Worker& worker);
  runtime::step answer(runtime::Worker& worker);
  void write_end(ReplyQueue& queue);
  void write_meta_end(ReplyQueue& queue, bool goes_on);
  void write_cursor_line(ReplyQueue& queue);

  bool goes_on_ = false;  ///< at home, with what is behind the page so far
};

static_assert(sizeof(RangeTask) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server

MXKV_TASK_CLASS(extern, mxkv::server::RangeTask);

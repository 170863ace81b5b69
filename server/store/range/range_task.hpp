// scan, scans, pscan, pscans, mr: one page of a range, written to the client as it is found.
//
// A page ends at the client's limit, at the far bound, or at one of the server's ceilings (items, bytes,
// time), which leave a cursor. An item costs no allocation.
//
// With X the range is held while the page is read, on the worker that Toggle gives to the range
// (locks/range_locks.hpp). A large value is sent by reference, so from the first one on the range is read at
// home. A range without a far bound is not held to its end, which may be far away. Only slots that should
// suffice for a page are held, and the page ends there.
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
  /// The limit, one more if the reply says whether there are more items, and one more for a skipped start.
  [[nodiscard]] std::uint64_t wanted() const noexcept {
    return state_->item_limit - state_->items + (state_->ceiling || state_->want_cursor ? 1U : 0U) +
           (state_->skip_start ? 1U : 0U);
  }
  [[nodiscard]] RangeLeaf leaf_visitor(runtime::Worker& worker) noexcept {
    const Seen seen = saw(nullptr, here(), worker);
    const PagePlace place =
        state_->away == nullptr
            ? PagePlace{worker.local<WorkerContext>().replies->find(address_, seen), address_.ticket}
            : page(worker);
    return {*state_, address_, place, key(), here(), worker, plain_form_};
  }
  runtime::step finished(bool exhausted, runtime::Worker& worker);
  /// At home, to go on with the page written elsewhere; or back on the page's worker, to free it.
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

  PlainForm plain_form_;
  bool goes_on_ = false;  ///< at home: the range is read on behind the page so far
};

static_assert(sizeof(RangeTask) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server

MXKV_TASK_CLASS(extern, mxkv::server::RangeTask);

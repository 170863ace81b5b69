// mx: removes one page of a range, leaf by leaf, without reading a value; with X all of it, or nothing.
//
// A page ends as a page of a scan does: at the client's limit, at the far bound, or at a ceiling of items or
// time, with a cursor if more is left. Items that have expired go too, and do not count. Each leaf is one
// write; it waits where an operation holds one of the keys.
//
// With X the range is held. The task goes over it twice: it counts first, and removes only if there are not
// too many; removing cannot fail. Of a large range what is behind the first leaves is divided (range_parts.hpp),
// and all of it the second time: a part's walk is such a task, too.
#pragma once

#include "index/edit_task.hpp"
#include "server/reply/reply_queue.hpp"
#include "server/store/locks/range_locks.hpp"
#include "server/store/range/range_parts.hpp"
#include "server/store/store_task.hpp"

namespace mxkv::server {

/// What one leaf gives away.
struct RemovedOfLeaf {
  std::uint64_t live = 0;
  const Item* last = nullptr;  ///< the last live one
  bool more = false;           ///< another live one stays
  bool divides = false;        ///< they are the first of a part
  bool timed = false;          ///< `late` is known
  bool late = false;
};

class RangeDeleteTask final : public index::EditTask<RangeDeleteTask, ItemTraits, RemovedOfLeaf>,
                              public DividedWalk {
  using Base = index::EditTask<RangeDeleteTask, ItemTraits, RemovedOfLeaf>;

 public:
  static constexpr const char* kName = "range delete";

  RangeDeleteTask(const runtime::TaskClass* task_class, ItemTree& tree, const protocol::RangeRequest& request,
                  const RangeLimits& limits, RangeState& state, const ReplyAddress& address,
                  std::uint64_t now_ns) noexcept;
  /// The walk of a part.
  RangeDeleteTask(const runtime::TaskClass* task_class, const RangeDeleteTask& whole, RangePartTask& part,
                  runtime::Worker& worker);

  // --- For EditTask ---
  void judges_up_to(std::string_view high, bool infinite) noexcept { judge_up_to(high, infinite); }
  index::verdict judge(std::uint64_t /*head*/, std::uint64_t value, RemovedOfLeaf& leaf,
                       runtime::Worker& worker) const noexcept;
  index::Change erasing(ItemNode& leaf, std::uint64_t value, runtime::Worker& worker) noexcept;
  void erased(std::uint64_t value, runtime::Worker& worker);
  void judged(const RemovedOfLeaf& leaf, runtime::Worker& worker) noexcept;
  [[nodiscard]] bool refuses(std::uint64_t value, runtime::Worker& worker) noexcept;
  runtime::step refused(runtime::Worker& worker);
  runtime::step finished(runtime::Worker& worker);
  runtime::step resume_item(runtime::Worker& worker);
  void discard(runtime::Worker& worker) { give_back_all(worker); }

  // --- For RangeLock ---
  [[nodiscard]] bool only_reads() const noexcept { return false; }
  void begin(RangeLock& lock, runtime::Worker& worker);

  // --- For RangeParts ---
  void start_part(RangePartTask& part, runtime::Worker& worker);
  void parts_ended(runtime::Worker& worker);
  void undivided(runtime::Worker& worker);

 private:
  /// Whether the range is held, by this task or by the whole that it is a part of.
  [[nodiscard]] bool holds() const noexcept { return state_->lock != nullptr || is_part(); }
  /// All are counted: what follows cannot fail.
  void pass_commit_point(runtime::Worker& worker);
  runtime::step answer(runtime::Worker& worker);
  void write_reply(ReplyQueue& queue);

  WriteGateTicket pass_;
  std::uint32_t refused_ = 0;  ///< slot that an operation holds
  bool waiting_ = false;       ///< at the gate
  bool counts_ = false;        ///< goes over its range for the first time
};

static_assert(sizeof(RangeDeleteTask) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server

MXKV_TASK_CLASS(extern, mxkv::server::RangeDeleteTask);

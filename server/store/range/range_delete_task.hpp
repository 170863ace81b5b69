// mx: removes one page of a range, leaf by leaf, without reading a value. With X it removes the whole range,
// or nothing.
//
// A page ends as a page of a scan does: at the client's limit, at the far bound, or at a ceiling of items or
// time, with a cursor if more is left. It removes expired items, too, but does not count them. Each leaf is
// one write, which waits while an operation holds one of the keys.
//
// With X the range is held. The task goes over it twice: it counts first, and removes only if there are not
// too many items; removing cannot fail. Behind the first leaves a large range is divided into parts
// (range_parts.hpp), and the second pass is divided from its start. A part's walk is a RangeDeleteTask, too.
#pragma once

#include "index/edit_task.hpp"
#include "server/reply/reply_queue.hpp"
#include "server/store/core/store_task.hpp"
#include "server/store/locks/range_locks.hpp"
#include "server/store/range/range_parts.hpp"

namespace mxkv::server {

/// The items that one leaf gives away.
struct RemovedOfLeaf {
  std::uint64_t live = 0;
  const Item* last = nullptr;  ///< the last live one
  bool more = false;           ///< another live item stays
  bool divides = false;        ///< the live items are the first of a part
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
  /// Whether this task holds the range, or the whole of which it is a part.
  [[nodiscard]] bool holds() const noexcept { return state_->lock != nullptr || is_part(); }
  /// All items are counted. Nothing after this can fail.
  void pass_commit_point(runtime::Worker& worker);
  runtime::step answer(runtime::Worker& worker);
  void write_reply(ReplyQueue& queue);

  WriteGateTicket pass_;
  std::uint32_t refused_ = 0;  ///< the slot that an operation holds
  bool waiting_ = false;       ///< at the gate
  bool counts_ = false;        ///< it goes over its range for the first time
};

static_assert(sizeof(RangeDeleteTask) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server

MXKV_TASK_CLASS(extern, mxkv::server::RangeDeleteTask);

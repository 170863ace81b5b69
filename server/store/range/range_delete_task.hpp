// mx: removes one page of a range, leaf by leaf, without reading a value. With X it removes the whole range,
// or nothing.
//
// A page ends as a page of a scan does: at the client's limit, at the far bound, or at a ceiling of items or
// time, with a cursor if more is left. It removes expired items, too, but does not count them. Each leaf is
// one write, which waits while an operation holds one of the keys.
//
// With X the range is held (range_edit.hpp). The first pass counts, and the second one removes if there are not too
// many items.
#pragma once

#include "server/store/locks/range_locks.hpp"
#include "server/store/range/range_edit.hpp"

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

class RangeDeleteTask final : public RangeEdit<RangeDeleteTask, RemovedOfLeaf> {
 public:
  static constexpr const char* kName = "range delete";
  static constexpr counter kRequests = counter::cmd_range_delete;
  static constexpr counter kItems = counter::range_deleted_items;

  RangeDeleteTask(const runtime::TaskClass* task_class, ItemTree& tree, const protocol::RangeRequest& request,
                  const RangeLimits& limits, RangeState& state, const ReplyAddress& address,
                  std::uint64_t now_ns) noexcept
      : RangeEdit(task_class, tree, request, request.locked, limits, state, address, now_ns) {}
  /// The walk of a part.
  RangeDeleteTask(const runtime::TaskClass* task_class, const RangeDeleteTask& whole, RangePartTask& part,
                  runtime::Worker& worker)
      : RangeEdit(task_class, whole, part, worker) {}

  // --- For EditTask ---
  index::verdict judge(std::uint64_t /*head*/, std::uint64_t value, RemovedOfLeaf& leaf,
                       runtime::Worker& worker) const noexcept;
  index::Change erasing(ItemNode& leaf, std::uint64_t value, runtime::Worker& worker) noexcept;
  void erased(std::uint64_t value, runtime::Worker& worker);
  void judged(const RemovedOfLeaf& leaf, runtime::Worker& worker) noexcept;
  [[nodiscard]] bool refuses(std::uint64_t value, runtime::Worker& worker) noexcept;
  runtime::step refused(runtime::Worker& worker);
  runtime::step resume_item(runtime::Worker& worker);

  // --- For RangeEdit ---
  void held(runtime::Worker& /*worker*/) noexcept {}
  [[nodiscard]] static index::Commit<std::string_view> whole_change(std::uint64_t order) noexcept {
    return {.change = index::Change::of(index::change::range_gone, order, index::cause::deleted)};
  }

 private:
  WriteGateTicket pass_;
  std::uint32_t refused_ = 0;  ///< the slot that an operation holds
  bool waiting_ = false;       ///< at the gate
};

static_assert(sizeof(RangeDeleteTask) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server

MXKV_TASK_CLASS(extern, mxkv::server::RangeDeleteTask);

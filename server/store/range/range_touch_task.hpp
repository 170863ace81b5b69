// mt: gives all items of a range a new exptime, or none of them.
//
// The range is held, and walked twice (range_edit.hpp). The first pass gives each live item room for an exptime if it
// has none, by a copy that is otherwise the same. Memory may run out there. The second pass stores the exptimes in
// place. Orders stay.
#pragma once

#include "server/store/range/range_edit.hpp"
#include "server/store/upkeep/shortage.hpp"

namespace mxkv::server {

/// Live items of a leaf.
struct TouchedOfLeaf {
  std::uint64_t live = 0;
  bool more = false;     ///< than the limit allows
  bool divides = false;  ///< the live items are the first of a part
};

class RangeTouchTask final : public RangeEdit<RangeTouchTask, TouchedOfLeaf, true> {
 public:
  static constexpr const char* kName = "range touch";
  static constexpr counter kRequests = counter::cmd_range_touch;
  static constexpr counter kItems = counter::range_touched_items;

  RangeTouchTask(const runtime::TaskClass* task_class, ItemTree& tree, const protocol::Request& request,
                 const RangeLimits& limits, RangeState& state, const ReplyAddress& address,
                 std::uint64_t now_ns) noexcept
      : RangeEdit(task_class, tree, request.range, true, limits, state, address, now_ns),
        exptime_(request.exptime) {}
  /// The walk of a part.
  RangeTouchTask(const runtime::TaskClass* task_class, const RangeTouchTask& whole, RangePartTask& part,
                 runtime::Worker& worker)
      : RangeEdit(task_class, whole, part, worker), exptime_(whole.exptime_), expiry_(whole.expiry_) {}

  // --- For EditTask ---
  index::verdict judge(std::uint64_t head, std::uint64_t value, TouchedOfLeaf& leaf,
                       runtime::Worker& worker) const noexcept;
  static index::Change erasing(ItemNode& /*leaf*/, std::uint64_t /*value*/, runtime::Worker& /*worker*/) {
    MXKV_ASSERT(false, "a touch removes nothing");
  }
  void erased(std::uint64_t /*value*/, runtime::Worker& /*worker*/) noexcept {}
  std::uint64_t replacement(std::uint64_t value, runtime::Worker& worker) noexcept;
  index::Change replacing(ItemNode& leaf, std::uint64_t value, std::uint64_t by,
                          runtime::Worker& worker) noexcept;
  void replaced(std::uint64_t value, std::uint64_t by, runtime::Worker& worker);
  void unmade(std::uint64_t by, runtime::Worker& worker) noexcept;
  index::Change changing(ItemNode& leaf, std::uint64_t value, runtime::Worker& worker) noexcept;
  void change_record(std::uint64_t value, runtime::Worker& worker) noexcept;
  void changed(std::uint64_t value, runtime::Worker& worker);
  void judged(const TouchedOfLeaf& leaf, runtime::Worker& worker) noexcept;
  runtime::step out_of_memory(runtime::Worker& worker);

  // --- For RangeEdit ---
  void held(runtime::Worker& worker) noexcept;
  [[nodiscard]] index::Commit<std::string_view> whole_change(std::uint64_t order) const noexcept {
    return {.change = index::Change::of(index::change::range_touched, order), .value = expiry_};
  }

 private:
  std::int64_t exptime_;
  std::uint32_t expiry_ = 0;
  RoomWait room_wait_;
};

static_assert(sizeof(RangeTouchTask) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server

MXKV_TASK_CLASS(extern, mxkv::server::RangeTouchTask);

// mt: gives all items of a range a new exptime, or none of them.
//
// The range is held, and walked twice. The first walk gives each live item room for an exptime if it has
// none, by a copy that is otherwise the same. Memory may run out there, but no client can see a change yet.
// The second walk stores the exptimes in place, which cannot fail. Cas values stay. Behind the first leaves
// a large range is divided into parts (range_parts.hpp), and the second walk is divided from its start. A
// part's walk is a RangeTouchTask, too.
#pragma once

#include "index/edit_task.hpp"
#include "server/reply/reply_queue.hpp"
#include "server/store/core/store_task.hpp"
#include "server/store/range/range_parts.hpp"

namespace mxkv::server {

/// Live items of a leaf.
struct TouchedOfLeaf {
  std::uint64_t live = 0;
  bool more = false;     ///< than the limit allows
  bool divides = false;  ///< the live items are the first of a part
};

class RangeTouchTask final : public index::EditTask<RangeTouchTask, ItemTraits, TouchedOfLeaf, true>,
                             public DividedWalk {
  using Base = index::EditTask<RangeTouchTask, ItemTraits, TouchedOfLeaf, true>;

 public:
  static constexpr const char* kName = "range touch";

  RangeTouchTask(const runtime::TaskClass* task_class, ItemTree& tree, const protocol::Request& request,
                 const RangeLimits& limits, RangeState& state, const ReplyAddress& address,
                 std::uint64_t now_ns) noexcept;
  /// The walk of a part.
  RangeTouchTask(const runtime::TaskClass* task_class, const RangeTouchTask& whole, RangePartTask& part,
                 runtime::Worker& worker);

  // --- For RangeLock ---
  [[nodiscard]] bool only_reads() const noexcept { return false; }
  void begin(RangeLock& lock, runtime::Worker& worker);

  // --- For EditTask ---
  void judges_up_to(std::string_view high, bool infinite) noexcept { judge_up_to(high, infinite); }
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
  runtime::step finished(runtime::Worker& worker);
  runtime::step resume_item(runtime::Worker& worker);
  void discard(runtime::Worker& worker) { give_back_all(worker); }

  // --- For RangeParts ---
  void start_part(RangePartTask& part, runtime::Worker& worker);
  void parts_ended(runtime::Worker& worker);
  void undivided(runtime::Worker& worker);

 private:
  [[nodiscard]] bool may_store() const noexcept { return prepares_ && !state_->too_many && !no_memory_; }
  /// All items have room. Nothing after this can fail.
  void pass_commit_point(runtime::Worker& worker);
  runtime::step answer(runtime::Worker& worker);

  std::int64_t exptime_;
  std::uint32_t expiry_ = 0;
  bool prepares_ = true;  ///< it walks its range for the first time
  bool no_memory_ = false;
};

static_assert(sizeof(RangeTouchTask) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server

MXKV_TASK_CLASS(extern, mxkv::server::RangeTouchTask);

// mx: removes one page of a range, leaf by leaf, without reading a value.
//
// A page ends as a page of a scan does: at the client's limit, at the far bound, or at a ceiling of items or
// time, with a cursor if more is left. Items that have expired go too, and do not count.
#pragma once

#include "index/erase_task.hpp"
#include "server/reply/reply_queue.hpp"
#include "server/store/range_walk.hpp"
#include "server/store/store_task.hpp"

namespace mxkv::server {

/// What one leaf gives away.
struct RemovedOfLeaf {
  std::uint64_t live = 0;
  const Item* last = nullptr;  ///< the last live one
  bool more = false;           ///< another live one stays
  bool timed = false;          ///< `late` is known
  bool late = false;
};

class RangeDeleteTask final : public index::EraseTask<RangeDeleteTask, ItemTraits, RemovedOfLeaf>,
                              public RangeWalk {
  using Base = index::EraseTask<RangeDeleteTask, ItemTraits, RemovedOfLeaf>;

 public:
  static constexpr const char* kName = "range delete";

  RangeDeleteTask(const runtime::TaskClass* task_class, ItemTree& tree, const protocol::RangeRequest& request,
                  const RangeLimits& limits, RangeState& state, const ReplyAddress& address,
                  std::uint64_t now_ns) noexcept;

  // --- For EraseTask ---
  index::verdict judge(std::uint64_t /*head*/, std::uint64_t value, RemovedOfLeaf& leaf,
                       runtime::Worker& worker) const noexcept;
  void erasing(ItemNode& leaf, std::uint64_t value) noexcept;
  void erased(std::uint64_t value, runtime::Worker& worker);
  void judged(const RemovedOfLeaf& leaf) noexcept;
  runtime::step finished(runtime::Worker& worker);
  runtime::step resume_item(runtime::Worker& worker);
  void discard(runtime::Worker& worker) { release(worker); }

 private:
  void write_reply(ReplyQueue& queue);
};

static_assert(sizeof(RangeDeleteTask) <= runtime::kLargestTaskBytes);

}  // namespace mxkv::server

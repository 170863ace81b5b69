#include "server/store/range/count_part_task.hpp"

namespace mxkv::server {

/// One leaf.
class CountPartTask::Leaf {
 public:
  Leaf(CountPartTask& task, runtime::Worker& worker) noexcept
      : task_(task),
        state_(*task.state_),
        live_(worker, task.state_->moment_us),
        inside_(task.leaf_is_inside()),
        wanted_(!task.part_->parts().given_up()),
        context_(worker.local<WorkerContext>()) {
    task.state_->seen.add(nullptr, task.here(), context_);
  }
  /// Takes an entry, in order. False: enough.
  bool visit(std::uint64_t /*head*/, std::uint64_t value) {
    const Item::View item{*ItemRecord::item(value)};
    const std::string_view key = item.key();
    if (!wanted_ || (!inside_ && state_.beyond(key))) {
      return false;
    }
    const bool live = live_(item);
    state_.seen.add(&item.item(), task_.here(), context_);  // also if the item does not count
    if (!live) {
      return true;
    }
    if (task_.bounded_ && task_.tally_.items == state_.item_limit) [[unlikely]] {
      state_.too_many = true;
      return false;
    }
    task_.tally_.add(item, key, task_.with_numbers_);
    return true;
  }

 private:
  CountPartTask& task_;
  RangeState& state_;
  Liveness live_;
  bool inside_;  ///< no entry is beyond the part
  bool wanted_;  ///< a client waits for the sum
  const WorkerContext& context_;
};

CountPartTask::CountPartTask(const runtime::TaskClass* task_class, ItemTree& tree, RangePartTask& part,
                             bool with_numbers, bool bounded, runtime::Worker& worker)
    : Base(task_class, tree), PartWalk(part, worker), with_numbers_(with_numbers), bounded_(bounded) {
  MXKV_ASSERT(!state_->skip_start, "what is counted in parts begins at an item");
}

void CountPartTask::begin(ItemTree& tree, RangePartTask& part, bool with_numbers, bool bounded,
                          runtime::Worker& worker) {
  worker.create<CountPartTask>(tree, part, with_numbers, bounded, worker)->start(worker);
}

// The leaf still has the high fence that the walk copied only if no task has written to the leaf since.
bool CountPartTask::leaf_is_inside() const noexcept {
  const runtime::OptimisticRead read{here(), seen_version()};
  const index::NodeMeta meta = here().meta();
  const std::uint64_t high = here().high();
  if (!read.valid() || meta.high_infinite() || state_->far != RangeState::far_bound::exclusive) {
    return false;
  }
  return ItemTraits::fence_key(high) <= std::string_view{state_->far_key, state_->far_bytes};
}

CountPartTask::Leaf CountPartTask::leaf_visitor(runtime::Worker& worker) {
  worker.charge(kTurnsOfLeaf);
  if (at_home_ || ++leaves_ % kLeavesPerLook == 0) {
    part_->parts().look_for_client(worker);
  }
  return Leaf{*this, worker};
}

// Written once, so that workers do not share the part's cache line while they count.
runtime::step CountPartTask::finished(bool /*exhausted*/, runtime::Worker& worker) {
  RangePart& part = part_->part();
  part.tally = tally_;
  part.seen = state_->seen;
  part.too_many = state_->too_many;
  if (part.too_many) {
    part_->parts().give_up();
  }
  return end_part(*this, worker);
}

}  // namespace mxkv::server

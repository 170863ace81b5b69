#include "server/store/range/range_parts.hpp"

#include <algorithm>
#include <source_location>

#include "protocol/cursor.hpp"
#include "protocol/reply.hpp"
#include "runtime/base/paths.hpp"
#include "runtime/scheduler/joins.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/point/meta_reply.hpp"

namespace mxkv::server {

using runtime::step;

/// Finds the first keys of the parts.
class RangeDivideTask final : public index::DivideTask<RangeDivideTask, ItemTraits> {
  using Base = index::DivideTask<RangeDivideTask, ItemTraits>;

 public:
  static constexpr const char* kName = "range divide";

  RangeDivideTask(const runtime::TaskClass* task_class, RangeParts& parts, std::size_t wanted) noexcept
      : Base(task_class, *parts.tree_, parts.keys_, wanted), parts_(&parts) {}

  // --- For DivideTask ---
  [[nodiscard]] std::string_view key() const noexcept { return parts_->from_; }
  [[nodiscard]] bool ends_before(std::string_view key) { return parts_->ends_before(key); }
  step divided(runtime::Worker& worker) {
    worker.unpin(*this);
    parts_->divided(level(), worker);
    return step::done;
  }
  void discard(runtime::Worker& worker) { parts_->discard(worker); }

 private:
  RangeParts* parts_;
};

/// Runs after all parts.
class RangeFinalTask final : public runtime::DependentTask {
 public:
  static constexpr const char* kName = "range final";

  RangeFinalTask(const runtime::TaskClass* task_class, RangeParts& parts) noexcept
      : DependentTask(task_class), parts_(&parts) {}

  step execute(runtime::Worker& worker) {
    MXKV_ASSERT(parts_->is_home(worker), "the final task is bound to the operation's home");
    parts_->user_->parts_ended(*parts_->operation_, worker);
    return step::done;
  }
  void discard(runtime::Worker& worker) { parts_->discard(worker); }

 private:
  RangeParts* parts_;
};

/// Runs at home for a part elsewhere: looks whether the client is still there.
class RangeClientTask final : public runtime::DependentTask {
 public:
  static constexpr const char* kName = "range client";

  RangeClientTask(const runtime::TaskClass* task_class, RangeParts& parts) noexcept
      : DependentTask(task_class), parts_(&parts) {}

  step execute(runtime::Worker& worker) {
    parts_->look_for_client(worker);
    return step::done;
  }

 private:
  RangeParts* parts_;
};

// --- Dividing ---

void RangeParts::begin(runtime::Worker& worker) {
  MXKV_ASSERT(is_home(worker) && !state_->reverse, "a range is divided at home, upwards");
  const std::size_t wanted = how_.parts_a_worker * worker.runtime().worker_count();
  keys_ = index::SpacedKeys<std::string>{4 * wanted};
  auto* const task = worker.create<RangeDivideTask>(*this, wanted);
  if (strip_leaves_ > 0) {
    task->start_above_leaves(worker);
  } else {
    task->start(worker);
  }
}

// A strip ends at the bound behind its last leaf, if the range does not end before.
bool RangeParts::ends_before(std::string_view key) {
  if (state_->beyond(key)) {
    return true;
  }
  if (strip_leaves_ == 0 || keys_.offered() + 1 < strip_leaves_) {
    return false;
  }
  strip_end_ = key;
  return true;
}

void RangeParts::divided(unsigned level, runtime::Worker& worker) {
  std::size_t most = how_.parts_a_worker * worker.runtime().worker_count();
  if (level <= 1) {  // each child is a leaf
    most = std::min(most, (keys_.offered() + 1) / std::max(how_.leaves_a_part, 1U));
  }
  std::vector<std::string> separators = keys_.take(most);
  parts_.resize(separators.size() + 1);
  parts_.front().from = from_;
  for (std::size_t i = 0; i < separators.size(); ++i) {
    parts_[i + 1].from = std::move(separators[i]);
  }
  if (parts_.size() < 2 || !start(worker)) {
    MXKV_PATH(range_undivided);
    user_->undivided(*operation_, worker);
  }
}

// Parts are spawned last to first: the group takes the youngest first, which is then the first part.
bool RangeParts::start(runtime::Worker& worker) {
  MXKV_ASSERT(is_home(worker), "parts are spawned at home");
  runtime::Result<runtime::Join*> join = worker.runtime().joins().create("parts of a range");
  if (!join) {
    return false;
  }
  MXKV_PATH(range_divided);
  join_ = join.value();
  const auto spawn = [&worker](runtime::DependentTask& task) {
    const auto spawned = runtime::spawn_dependent(worker, task, std::source_location::current());
    MXKV_ASSERT(static_cast<bool>(spawned), "parts depend on nothing, and the final task on them alone");
  };
  auto* const final_task = worker.create<RangeFinalTask>(*this);
  final_task->annotate(runtime::after{*join_});
  final_task->annotate(runtime::WorkerId{address_.worker});
  spawn(*final_task);
  const runtime::RequestId request = worker.runtime().new_request();
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
    part->clear();
    auto* const task = worker.create<RangePartTask>(*this, *part);
    task->annotate(runtime::before{*join_});
    task->annotate(runtime::deferred{request});
    spawn(*task);
  }
  runtime::Join& open = *join_;  // this may be gone when it is closed
  runtime::end_predecessor(worker, open);
  runtime::release_join(worker, open);
  return true;
}

bool RangeParts::start_again(std::string_view from, bool skips_from, runtime::Worker& worker) {
  MXKV_ASSERT(!parts_.empty() && !given_up(),
              "only what all parts have come to the end of is gone over again");
  parts_.front().from = from;
  skips_from_ = skips_from;
  return start(worker);
}

// --- Parts ---

step RangePartTask::execute(runtime::Worker& worker) {
  if (ended_ || parts_->given_up()) {
    return step::done;
  }
  if (!parts_->is_home(worker)) {
    MXKV_PATH(range_part_away);
  }
  parts_->user_->start_part(*parts_->operation_, *this, worker);  // whose walk owns this from now on
  return step::parked;
}

RangeState* RangeParts::state_of(const RangePart& part, runtime::Worker& worker) const {
  RangeState* const state = RangeWalk::make_state(worker, nullptr);
  const std::size_t index = number_of(part);
  MXKV_ASSERT(index < parts_.size(), "a part is one of its range's");
  state->moment_us = state_->moment_us;
  state->item_limit = state_->item_limit;
  state->skip_start = index == 0 && skips_from_;
  std::string_view far{state_->far_key, state_->far_bytes};
  state->far = state_->far;
  if (index + 1 < parts_.size()) {
    far = parts_[index + 1].from;
    state->far = RangeState::far_bound::exclusive;
  } else if (!strip_end_.empty()) {
    far = strip_end_;
    state->far = RangeState::far_bound::exclusive;
  }
  std::copy(far.begin(), far.end(), state->far_key);
  state->far_bytes = static_cast<std::uint8_t>(far.size());
  return state;
}

void RangeParts::look_for_client(runtime::Worker& worker) {
  if (is_home(worker)) {
    if (!ConnectionTable::is_wanted(address_)) {
      MXKV_PATH(range_given_up);
      give_up();
    }
    return;
  }
  send_home(*worker.create<RangeClientTask>(*this), worker);
}

void RangeParts::send_home(runtime::DependentTask& task, runtime::Worker& worker) {
  task.annotate(runtime::before{*join_});
  task.annotate(runtime::WorkerId{address_.worker});
  const auto spawned = runtime::spawn_dependent(worker, task, std::source_location::current());
  MXKV_ASSERT(static_cast<bool>(spawned), "the join is open while a part is");
}

void DividedWalk::write_changed(ReplyQueue& queue) {
  if (!state_->more && state_->meta->quiet) {
    return;
  }
  char* out = queue.reserve(address_.ticket, kMostMetaLineBytes + protocol::kMaxCursorBytes);
  out = protocol::write_number(protocol::write_text(out, "HD A"), state_->items);
  if (state_->more) {
    out = write_cursor(protocol::write_text(out, " G"));
  }
  queue.commit(address_.ticket, end_meta_line(out, *state_->meta));
}

}  // namespace mxkv::server

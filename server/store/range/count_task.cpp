#include "server/store/range/count_task.hpp"

#include <algorithm>
#include <utility>

#include "protocol/cursor.hpp"
#include "protocol/reply.hpp"
#include "server/store/core/neighbour_keys.hpp"
#include "server/store/point/meta_reply.hpp"
#include "server/store/range/count_part_task.hpp"
#include "server/store/range/estimate_task.hpp"

namespace mxkv::server {

using protocol::write_number;
using protocol::write_text;

namespace {

constexpr std::uint32_t kEveryLeaf = ~0U;

char* write_sum(char* out, const NumberSum& sum) noexcept {
  MXKV_ASSERT(sum.lower < NumberSum::kBase, "the lower part of a sum has carried over");
  if (sum.upper == 0) {
    return write_number(out, sum.lower);
  }
  out = write_number(out, sum.upper);
  for (std::uint64_t unit = NumberSum::kBase / 10; unit > 0; unit /= 10) {
    *out++ = static_cast<char>('0' + sum.lower / unit % 10);
  }
  return out;
}

}  // namespace

CountTask::CountTask(const runtime::TaskClass* task_class, ItemTree& tree,
                     const protocol::RangeRequest& request, const RangeLimits& limits, RangeState& state,
                     const ReplyAddress& address, std::uint64_t now_ns) noexcept
    : Base(task_class, tree),
      RangeWalk(state, address),
      splitting_(limits.splitting),
      leaves_left_(kEveryLeaf),
      numeric_(request.numeric),
      exact_(request.exact || request.numeric.any()),
      by_item_(request.exact || request.delimiter.empty()),
      names_only_(request.names_only),
      delimiter_bytes_(static_cast<std::uint8_t>(request.delimiter.size())) {
  MXKV_ASSERT(request.delimiter.size() <= kDelimiterBytes, "the parser lets no longer delimiter pass");
  MXKV_ASSERT(state.meta != nullptr, "mc comes with flags");
  MXKV_ASSERT(!names_only_ || delimiter_bytes_ > 0, "names are of what a delimiter divides");
  std::copy(request.delimiter.begin(), request.delimiter.end(), delimiter_);
  if (delimiter_bytes_ == 0 && (!exact_ || splitting_.parts_a_worker > 0)) {
    leaves_left_ = exact_ ? splitting_.leaves_alone : kLeavesCounted;
  }
  limit(request, limits, now_ns);
  state.cut = request.cut;  // the count ends there, without a cursor
  if (request.locked) {
    limit_whole(request, limits);
  }
  set_bounds(request);
}

std::size_t CountTask::group_bytes_of(std::string_view key) const noexcept {
  const std::size_t behind = state_->far == RangeState::far_bound::prefix ? state_->far_bytes : 0;
  const std::size_t at = key.find(delimiter(), behind);
  return at == std::string_view::npos ? 0 : at + delimiter_bytes_;
}

bool CountTask::Leaf::visit(std::uint64_t /*head*/, std::uint64_t value) {
  const Item::View item{*ItemRecord::item(value)};
  const std::string_view key = item.key();
  if ((at_home_ && queue_ == nullptr) || state_.beyond(key)) {
    return false;
  }
  if (state_.skip_start && key == task_.key()) {
    return true;
  }
  const bool more = count(item, key);
  task_.saw(&item.item(), task_.here(), worker_);  // also if the item does not count
  return more;
}

bool CountTask::Leaf::count(const Item::View& item, std::string_view key) {
  if (!live_(item)) {
    return true;
  }
  if (task_.leaves_left_ == 0) {
    state_.last = &item.item();
    state_.more = true;
    return false;
  }
  if (task_.delimiter_bytes_ > 0) {
    const std::size_t bytes = task_.group_bytes_of(key);
    const std::string_view before = state_.last_seen().substr(0, task_.group_bytes_);
    if ((bytes != task_.group_bytes_ || key.substr(0, bytes) != before) &&
        !task_.change_group(bytes, *queue_, worker_)) {
      return false;
    }
    state_.last = &item.item();
    if (bytes == 0) {
      ++task_.single_items_;
      task_.single_bytes_ += key.size() + item.value_bytes();
      return true;
    }
  }
  if (state_.lock != nullptr && task_.tally_.items == state_.item_limit) {
    state_.too_many = true;
    return false;
  }
  task_.tally_.add(item, key, task_.numeric_.any());
  task_.skips_ = task_.names_only_;
  return !task_.skips_;
}

// The entry before `first` is of the group, and so is the last one: so all between are. The unread items are
// only estimated, and the reply does not wait for the disk for them.
bool CountTask::takes_whole(const index::LeafEntries& entries, unsigned first, unsigned last,
                            runtime::Worker& /*worker*/) {
  if (by_item_ || group_bytes_ == 0 || !ConnectionTable::is_wanted(address_)) {
    return false;
  }
  const Item::View end{*ItemRecord::item(entries.values[last - 1])};
  const std::string_view key = end.key();
  if (state_->beyond(key) || !key.starts_with(state_->last_seen().substr(0, group_bytes_))) {
    return false;
  }
  const Item::View middle{*ItemRecord::item(entries.values[(first + last) / 2])};
  const std::uint64_t bytes = key.size() + end.value_bytes() + middle.key().size() + middle.value_bytes();
  tally_.items += last - first;
  tally_.bytes += bytes * (last - first) / 2;
  state_->last = &end.item();
  estimated_ = true;
  return true;
}

bool CountTask::change_group(std::size_t bytes, ReplyQueue& queue, runtime::Worker& worker) {
  if (group_bytes_ > 0) {
    write_group(queue);
  }
  RangeState& state = *state_;
  if (bytes > 0 && state.items > 0 &&
      (state.items >= state.item_limit || worker.runtime().clock().monotonic_ns() > state.deadline_ns)) {
    state.more = true;
    return false;
  }
  group_bytes_ = static_cast<std::uint8_t>(bytes);
  tally_ = {};
  estimated_ = false;
  return true;
}

// HD k<prefix> [A<items> B<bytes> [~]] [O<opaque>]
void CountTask::write_group(ReplyQueue& queue) {
  MXKV_ASSERT(tally_.items > 0, "a group is told of when it has items");
  MXKV_ASSERT(group_bytes_ <= state_->last_seen().size(), "the last key that was counted is of the group");
  ++state_->items;
  const std::string_view name = state_->last_seen().substr(0, group_bytes_);
  char* out = queue.reserve(address_.ticket, kMostMetaLineBytes);
  if (protocol::is_printable_key(name)) {
    out = write_text(write_text(out, "HD k"), name);
  } else {
    out = write_text(protocol::write_base64(write_text(out, "HD k"), name), " b");
  }
  if (!names_only_) {
    out = write_number(write_text(out, " A"), tally_.items);
    out = write_number(write_text(out, " B"), tally_.bytes);
    out = write_text(out, estimated_ ? " ~" : "");
  }
  queue.commit(address_.ticket, end_meta_line(out, *state_->meta));
}

// EN A<prefixes> K<items> B<bytes> [G<cursor>] [O<opaque>]; K and B: of keys without a delimiter
void CountTask::write_end_of_groups(ReplyQueue& queue) {
  RangeState& state = *state_;
  if (group_bytes_ > 0 && !state.more) {
    write_group(queue);
  }
  MXKV_ASSERT(!state.more || state.items > 0, "a page of prefixes lists one before it ends early");
  char* out = queue.reserve(address_.ticket, kMostMetaLineBytes + protocol::kMaxCursorBytes);
  out = write_number(write_text(out, "EN A"), state.items);
  out = write_number(write_text(out, " K"), single_items_);
  out = write_number(write_text(out, " B"), single_bytes_);
  if (state.more) {
    state.keep_last();
    if (group_bytes_ > 0) {
      KeyRoom room;
      const std::string_view group = state.last_written().substr(0, group_bytes_);
      state.last_bytes =
          static_cast<std::uint8_t>(last_with_prefix(group, room).copy(state.last_key, index::kMaxKeyBytes));
    }
    out = write_cursor(write_text(out, " G"));
  }
  queue.commit(address_.ticket, end_meta_line(out, *state.meta));
}

// HD A<items> B<bytes> [N<numbers> [Ms<sum>] [Mn<least>] [Mx<greatest>]] [O<opaque>]
void CountTask::write_total(ReplyQueue& queue) {
  MXKV_ASSERT(tally_.numbers <= tally_.items, "numbers are values of items");
  char* out = queue.reserve(address_.ticket, kMostMetaLineBytes);
  out = write_number(write_text(out, "HD A"), tally_.items);
  out = write_number(write_text(out, " B"), tally_.bytes);
  if (numeric_.any()) {
    out = write_number(write_text(out, " N"), tally_.numbers);
    if (numeric_.sum) {
      out = write_sum(write_text(out, " Ms"), tally_.sum);
    }
    if (numeric_.least && tally_.numbers > 0) {
      out = write_number(write_text(out, " Mn"), tally_.least);
    }
    if (numeric_.greatest && tally_.numbers > 0) {
      out = write_number(write_text(out, " Mx"), tally_.greatest);
    }
  }
  queue.commit(address_.ticket, end_meta_line(out, *state_->meta));
}

// The EstimateTask pins for itself: it gets a key, no pointer.
runtime::step CountTask::estimate_rest(runtime::Worker& worker) {
  MXKV_ASSERT(!exact_ && state_->lock == nullptr, "what is held is counted to its end");
  MXKV_ASSERT(delimiter_bytes_ == 0 && !numeric_.any(), "prefixes and numbers are counted, not estimated");
  RangeState& state = *std::exchange(state_, nullptr);
  state.more = false;
  auto* const task = worker.create<EstimateTask>(tree(), state.last_written(), tally_, state, address_,
                                                 worker.now_ns() ^ state.deadline_ns << 20U);
  task->start(worker);
  worker.unpin(*this);
  return runtime::step::done;
}

// Goes on at the first item that was not counted, whether there will be parts or not.
runtime::step CountTask::divide_rest(runtime::Worker& worker) {
  MXKV_ASSERT(parts_ == nullptr && delimiter_bytes_ == 0, "a range without prefixes is divided once");
  state_->more = false;
  leaves_left_ = kEveryLeaf;
  set_key(state_->last_written());
  leave_tree(*this);
  worker.unpin(*this);
  if (!is_home(worker)) {
    divides_ = true;
    return go_home(*this, address_);
  }
  return begin_parts(worker);
}

runtime::step CountTask::begin_parts(runtime::Worker& worker) {
  parts_ = RangeParts::of(*this, tree(), *state_, key(), false, address_, splitting_);
  parts_->begin(worker);
  return runtime::step::parked;
}

void CountTask::start_part(RangePartTask& part, runtime::Worker& worker) {
  CountPartTask::begin(tree(), part, numeric_.any(), state_->lock != nullptr, worker);
}

void CountTask::undivided(runtime::Worker& worker) {
  delete std::exchange(parts_, nullptr);
  start(worker);
}

void CountTask::parts_ended(runtime::Worker& worker) {
  for (const RangePart& part : parts_->ended()) {
    state_->seen.add(part.seen);
    tally_.add(part.tally);
    state_->too_many = state_->too_many || part.too_many;
  }
  if (state_->lock != nullptr && tally_.items > state_->item_limit) {
    state_->too_many = true;
  }
  delete std::exchange(parts_, nullptr);
  worker.spawn(this);
}

runtime::step CountTask::resume_item(runtime::Worker& worker) {
  MXKV_ASSERT(parts_ == nullptr && delimiter_bytes_ == 0,
              "only parts are waited for, and who counts elsewhere");
  return std::exchange(divides_, false) ? begin_parts(worker) : answer(worker);
}

runtime::step CountTask::finished(bool /*exhausted*/, runtime::Worker& worker) {
  MXKV_ASSERT(!skips_ || group_bytes_ > 0, "there is a prefix to go behind");
  MXKV_ASSERT(!state_->too_many || state_->lock != nullptr,
              "only an operation that holds its range gives up");
  if (leaves_left_ == 0 && state_->more) {
    return exact_ ? divide_rest(worker) : estimate_rest(worker);
  }
  if (std::exchange(skips_, false)) {
    const std::string_view group = state_->last_written().substr(0, group_bytes_);
    start_behind_prefix(group);
    return rescan(worker);
  }
  if (!is_home(worker)) {
    MXKV_ASSERT(delimiter_bytes_ == 0, "prefixes are written at home as they are counted");
    let_go(worker);
    return go_home(*this, address_);
  }
  return answer(worker);
}

runtime::step CountTask::answer(runtime::Worker& worker) {
  auto& context = worker.local<WorkerContext>();
  context.counters.count(counter::cmd_range_count);
  if (state_->too_many) {
    return refuse(seen(context), protocol::kTooManyKeys, *this, worker);
  }
  if (ReplyQueue* queue = context.replies->find(address_, seen(context))) {
    if (delimiter_bytes_ > 0) {
      write_end_of_groups(*queue);
    } else {
      write_total(*queue);
    }
    queue->close(address_.ticket);
  }
  return end(*this, worker);
}

}  // namespace mxkv::server

MXKV_TASK_CLASS(, mxkv::server::CountTask);

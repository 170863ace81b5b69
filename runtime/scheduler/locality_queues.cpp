#include "runtime/scheduler/locality_queues.hpp"

#include <algorithm>

#include "runtime/scheduler/worker_counters.hpp"

namespace mxkv::runtime {

namespace {

constexpr std::uint64_t kEldest = 16;
/// Own tasks enter where fewer tasks than this are in the buffer.
constexpr std::uint32_t kFew = 4;

}  // namespace

// Takes a task into the buffer: from here on it is this worker's.
bool LocalityQueues::adopt(PrefetchBuffer& buffer, MxTask* task, rule by) noexcept {
  if (task == nullptr) {
    return false;
  }
  MXKV_ASSERT(task->annotations().locality != locality::here, "only immediate and deferred tasks wait here");
  task->annotate(locality::here);
  buffer.push(task);
  count(taken_[static_cast<std::size_t>(by)]);
  return true;
}

MxTask* LocalityQueues::next_own_immediate() noexcept {
  return ++immediate_taken_ % kEldest == 0 ? immediate_.take_oldest() : immediate_.take_youngest();
}

MxTask* LocalityQueues::next_own_deferred() noexcept {
  return own_group().take(order_ == task_order::nls ? DeferredQueue::pick::oldest_spawned
                                                    : DeferredQueue::pick::youngest_of_oldest);
}

MxTask* LocalityQueues::next_of_group_mates() noexcept {
  for (ImmediateQueue* const mate : peers_.group_mates) {
    if (MxTask* const task = mate->take_oldest()) {
      return task;
    }
  }
  return nullptr;
}

MxTask* LocalityQueues::next_of_node_mates() noexcept {
  const std::vector<ImmediateQueue*>& mates = peers_.node_mates;
  for (std::size_t seen = 0; seen < mates.size(); ++seen) {
    const std::size_t i = (next_node_mate_ + seen) % mates.size();
    if (MxTask* const task = mates[i]->take_oldest()) {
      next_node_mate_ = i;
      return task;
    }
  }
  return nullptr;
}

MxTask* LocalityQueues::next_of_far_mates() noexcept {
  for (ImmediateQueue* const mate : peers_.far_mates) {
    if (mate->size() > spill_above_) {
      if (MxTask* const task = mate->take_oldest()) {
        return task;
      }
    }
  }
  return nullptr;
}

void LocalityQueues::refill(TaskWindow& window) noexcept {
  PrefetchBuffer& buffer = window.buffer();
  const auto has_few = [&buffer] { return buffer.size() < kFew && buffer.room() > 0; };
  if (!has_few() && ++crowded_refills_ % TaskWindow::kFullRefills == 0 &&
      buffer.size() < window.buffered_at_most()) {
    // Tasks that respawn without end may fill the buffer for ever: one of each kind enters all the same.
    adopt(buffer, immediate_.take_oldest(), rule::own_immediate);
    adopt(buffer, next_own_deferred(), rule::own_deferred);
  }
  while (has_few() && immediate_.waiting() && adopt(buffer, next_own_immediate(), rule::own_immediate)) {
  }
  if (buffer.empty() && adopt(buffer, next_of_group_mates(), rule::of_group_mate)) {
    return;
  }
  if (has_few()) {
    adopt(buffer, next_own_deferred(), rule::own_deferred);
  }
  for (DeferredQueue* const group : peers_.far_groups) {
    if (!buffer.empty()) {
      return;
    }
    adopt(buffer, group->take(DeferredQueue::pick::oldest_of_second_oldest), rule::of_far_group);
  }
  if (buffer.empty()) {
    adopt(buffer, next_of_node_mates(), rule::of_node_mate);
  }
  if (buffer.empty()) {
    adopt(buffer, next_of_far_mates(), rule::of_far_mate);
  }
}

bool LocalityQueues::any_wait() const noexcept {
  const auto waiting = [](const auto* queue) { return queue->waiting(); };
  return own_wait() || std::ranges::any_of(peers_.group_mates, waiting) ||
         std::ranges::any_of(peers_.far_groups, waiting) || std::ranges::any_of(peers_.node_mates, waiting) ||
         std::ranges::any_of(peers_.far_mates,
                             [this](const ImmediateQueue* mate) { return mate->size() > spill_above_; });
}

MxTask* LocalityQueues::take_waiting() noexcept {
  if (MxTask* const task = immediate_.take_oldest()) {
    return task;
  }
  return own_group().take(DeferredQueue::pick::oldest_spawned);
}

}  // namespace mxkv::runtime

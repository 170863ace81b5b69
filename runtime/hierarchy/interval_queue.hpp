// Intervals under one latch, in the manner of DomLock: the baseline that Toggle is measured against, as a
// switch of it.
//
// An operation begins when it conflicts with none under way, and with none that came before it and waits. An
// operation that enters looks at the parts of slots that all others hold, which are one word. An operation
// that leaves goes over the waiting ones, once, under a latch that all workers share. Where a part is more
// than a slot, words that meet do not prove a conflict, and the operations themselves are compared.
#pragma once

#include <algorithm>
#include <concepts>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/base/assert.hpp"
#include "runtime/hierarchy/slots.hpp"
#include "runtime/memory/short_latch.hpp"
#include "runtime/task/task.hpp"

namespace mxkv::runtime {

/// Thread-safety: any thread.
class IntervalQueue {
 public:
  struct Entry {
    MxTask* task = nullptr;
    SlotSet slots;
    bool shared = false;

    [[nodiscard]] bool conflicts(const Entry& other) const noexcept {
      return slots.overlaps(other.slots) && !(shared && other.shared);
    }
  };

  /// `parts`: the parts that the entries' masks name.
  explicit IntervalQueue(const SlotParts& parts) noexcept : exact_(parts.slots_a_part() == 1) {}

  /// True: the task is under way. False: it is kept. place(Entry&) gives its slots, by the present map.
  template <std::invocable<Entry&> Place>
  [[nodiscard]] bool enter(MxTask& task, const Place& place) {
    const std::lock_guard guard{latch_};
    Entry entry{.task = &task, .slots = {}};
    place(entry);
    const bool waits = blocked(entry, held_, waiting_.size());
    (waits ? waiting_ : under_way_).push_back(entry);
    held_.add(entry);
    return !waits;
  }
  /// The task has ended. Returns the tasks that are under way from now on. If the map's version has changed,
  /// places all waiting tasks anew before.
  template <std::invocable<Entry&> Place>
  [[nodiscard]] std::vector<MxTask*> leave(const MxTask& task, std::uint32_t version, const Place& place) {
    const std::lock_guard guard{latch_};
    const auto ended = std::find_if(under_way_.begin(), under_way_.end(),
                                    [&task](const Entry& entry) { return entry.task == &task; });
    MXKV_ASSERT(ended != under_way_.end(), "an operation that ends is under way");
    *ended = under_way_.back();
    under_way_.pop_back();
    if (std::exchange(version_, version) != version) {
      std::for_each(waiting_.begin(), waiting_.end(), place);
    }
    held_ = {};
    for (const Entry& entry : under_way_) {
      held_.add(entry);
    }
    std::vector<MxTask*> next;
    std::size_t left = 0;
    for (const Entry entry : waiting_) {
      if (blocked(entry, held_, left)) {
        waiting_[left++] = entry;
      } else {
        next.push_back(entry.task);
        under_way_.push_back(entry);
      }
      held_.add(entry);
    }
    waiting_.resize(left);
    return next;
  }
  /// Returns the waiting tasks and forgets them.
  [[nodiscard]] std::vector<Entry> take_waiting() noexcept {
    const std::lock_guard guard{latch_};
    return std::exchange(waiting_, {});
  }

 private:
  /// The parts of slots that operations name.
  struct Parts {
    std::uint64_t exclusive = 0;
    std::uint64_t shared = 0;

    void add(const Entry& entry) noexcept { (entry.shared ? shared : exclusive) |= entry.slots.parts; }
    [[nodiscard]] bool meet(const Entry& entry) const noexcept {
      return (entry.slots.parts & (exclusive | (entry.shared ? 0 : shared))) != 0;
    }
  };

  /// Whether an entry conflicts with one under way, or with one of the first `before` that wait: `held` are
  /// the parts of all these.
  [[nodiscard]] bool blocked(const Entry& entry, const Parts& held, std::size_t before) const noexcept {
    if (exact_ || !held.meet(entry)) {
      return held.meet(entry);
    }
    const auto conflicts = [&entry](const Entry& other) { return entry.conflicts(other); };
    return std::any_of(under_way_.begin(), under_way_.end(), conflicts) ||
           std::any_of(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(before), conflicts);
  }

  bool exact_;                ///< a part is a slot
  detail::ShortLatch latch_;  ///< guards all below
  std::uint32_t version_ = 0;
  Parts held_;  ///< by all below
  std::vector<Entry> under_way_;
  std::vector<Entry> waiting_;
};

}  // namespace mxkv::runtime

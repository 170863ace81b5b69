// Intervals under one latch, in the manner of DomLock: what Toggle is measured against, as a switch of it.
//
// An operation is under way when it conflicts with none that is, and with none that came before it and waits.
// An operation that enters or leaves looks at all others, under a latch that all workers share.
#pragma once

#include <algorithm>
#include <concepts>
#include <deque>
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

  /// True: it is under way. False: it is kept. place(Entry&) says where it is, by the map of now.
  template <std::invocable<Entry&> Place>
  [[nodiscard]] bool enter(MxTask& task, const Place& place) {
    const std::lock_guard guard{latch_};
    Entry entry{.task = &task, .slots = {}};
    place(entry);
    if (blocked(entry, waiting_.size())) {
      waiting_.push_back(entry);
      return false;
    }
    under_way_.push_back(entry);
    return true;
  }
  /// It has ended. The tasks that are under way from now on. When the map's version is another one, all that
  /// wait are placed anew before.
  template <std::invocable<Entry&> Place>
  [[nodiscard]] std::vector<MxTask*> leave(const MxTask& task, std::uint32_t version, const Place& place) {
    const std::lock_guard guard{latch_};
    const std::size_t ended =
        std::erase_if(under_way_, [&task](const Entry& entry) { return entry.task == &task; });
    MXKV_ASSERT(ended == 1, "an operation that ends is under way");
    if (std::exchange(version_, version) != version) {
      std::for_each(waiting_.begin(), waiting_.end(), place);
    }
    std::vector<MxTask*> next;
    for (std::size_t i = 0; i < waiting_.size();) {
      if (blocked(waiting_[i], i)) {
        ++i;
        continue;
      }
      next.push_back(waiting_[i].task);
      under_way_.push_back(waiting_[i]);
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return next;
  }
  /// Those that wait; they are forgotten.
  [[nodiscard]] std::deque<Entry> take_waiting() noexcept {
    const std::lock_guard guard{latch_};
    return std::exchange(waiting_, {});
  }

 private:
  /// Whether it conflicts with one under way, or with one of the first `before` that wait.
  [[nodiscard]] bool blocked(const Entry& entry, std::size_t before) const noexcept {
    const auto conflicts = [&entry](const Entry& other) { return entry.conflicts(other); };
    return std::any_of(under_way_.begin(), under_way_.end(), conflicts) ||
           std::any_of(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(before), conflicts);
  }

  detail::ShortLatch latch_;  ///< guards all below
  std::uint32_t version_ = 0;
  std::vector<Entry> under_way_;
  std::deque<Entry> waiting_;
};

}  // namespace mxkv::runtime

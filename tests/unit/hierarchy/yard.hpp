// Operations for tests of Toggle that a test steps: they know which slots are in use, and note conflicts.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runtime/hierarchy/toggle.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime::testing {

/// The operations' settings, and their observations.
struct Yard {
  explicit Yard(std::uint32_t slots) : writers(slots, 0), readers(slots, 0), touched(slots, 0) {}

  std::vector<int> writers;            ///< by slot: exclusive operations under way
  std::vector<int> readers;            ///< by slot: shared ones
  std::vector<std::uint64_t> touched;  ///< by slot: operations that ended
  std::size_t running = 0;
  std::size_t most_running = 0;
  std::size_t ended = 0;
  std::size_t overlaps = 0;       ///< of two that are not both shared
  std::size_t shared_beside = 0;  ///< slots in which a shared one found another
  std::vector<int> begun;         ///< names of operations, in their order
  std::vector<std::uint64_t> by_worker = std::vector<std::uint64_t>(8, 0);  ///< where operations began
  std::uint32_t shift = 0;  ///< of the slots, as if the map had changed
};

struct YardOrder {
  SlotSet slots;
  unsigned steps = 0;
  bool shared = false;
  int name = 0;
};

class YardTask final : public ToggleTask<YardTask> {
 public:
  YardTask(const TaskClass* task_class, Toggle& toggle, Yard& yard, const YardOrder& order) noexcept
      : ToggleTask(task_class, toggle), yard_(&yard), order_(order) {}

  /// With a shift, intervals move to the right, as far as there is room.
  [[nodiscard]] SlotSet place() const noexcept {
    if (yard_->shift == 0) {
      return order_.slots;
    }
    const auto last = static_cast<std::uint32_t>(yard_->writers.size()) - 1;
    const SlotInterval& span = order_.slots.span;
    return SlotInterval{std::min(span.first + yard_->shift, last), std::min(span.last + yard_->shift, last)};
  }
  [[nodiscard]] bool shared() const noexcept { return order_.shared; }
  step run(Worker& worker) {
    if (!begun_) {
      begun_ = true;
      enter(worker);
    }
    if (order_.steps-- > 0) {
      return step::again;
    }
    each_slot([this](std::uint32_t slot) {
      --(order_.shared ? yard_->readers : yard_->writers)[slot];
      ++yard_->touched[slot];
    });
    --yard_->running;
    ++yard_->ended;
    toggle().finished(*this, worker);
    return step::done;
  }

 private:
  void enter(Worker& worker) {
    EXPECT_EQ(slots(), place().span) << "placed by an old map";
    yard_->most_running = std::max(yard_->most_running, ++yard_->running);
    yard_->begun.push_back(order_.name);
    ++yard_->by_worker[worker.id().value()];
    each_slot([this](std::uint32_t slot) {
      yard_->overlaps += yard_->writers[slot] != 0 || (!order_.shared && yard_->readers[slot] != 0) ? 1 : 0;
      yard_->shared_beside += order_.shared && yard_->readers[slot] != 0 ? 1 : 0;
      ++(order_.shared ? yard_->readers : yard_->writers)[slot];
    });
  }
  template <class Visit>
  void each_slot(const Visit& visit) const {
    const std::uint64_t parts = place().parts;
    for (std::uint32_t slot = slots().first; slot <= slots().last; ++slot) {
      if ((parts & toggle().parts().bit_of(slot)) != 0) {
        visit(slot);
      }
    }
  }

  Yard* yard_;
  YardOrder order_;
  bool begun_ = false;
};

/// Holds all slots, and shifts them.
class ShiftTask final : public ToggleTask<ShiftTask> {
 public:
  ShiftTask(const TaskClass* task_class, Toggle& toggle, Yard& yard) noexcept
      : ToggleTask(task_class, toggle), yard_(&yard) {}
  [[nodiscard]] SlotInterval place() const noexcept {
    return {0, static_cast<std::uint32_t>(yard_->writers.size()) - 1};
  }
  step run(Worker& worker) {
    EXPECT_EQ(yard_->running, 0U) << "something runs while all slots are held";
    yard_->shift = (yard_->shift + 3) % 7;
    toggle().map_changed();
    toggle().finished(*this, worker);
    return step::done;
  }

 private:
  Yard* yard_;
};

inline RuntimeOptions helping(std::size_t workers) {
  RuntimeOptions options = unpinned(workers);
  options.stealing = options.order_reach = stealing_scope::machine;
  options.prefetch.window = 4;
  options.batch_tasks = 3;
  return options;
}

inline ToggleOptions random_options(Random& random) {
  return {.order = random.below(4) == 0 ? interval_order::queue : interval_order::toggle,
          .buckets = static_cast<std::uint32_t>(1 + random.below(5)),
          .slots_per_bucket = static_cast<std::uint32_t>(1 + random.below(random.below(6) == 0 ? 40 : 6)),
          .hosts = random.below(2) != 0,
          .inner = random.below(4) != 0,
          .stealing = random.below(4) != 0};
}

/// A toggle on workers that the test steps.
struct ToggleMachine {
  ToggleMachine(std::size_t workers, const ToggleOptions& options)
      : machine(helping(workers)), toggle(machine.runtime, options), yard(toggle.slots()) {}

  void start(std::size_t worker, const YardOrder& order) {
    machine[worker].create<YardTask>(toggle, yard, order)->start(machine[worker]);
  }
  void start(std::size_t worker, const SlotSet& slots, unsigned steps) {
    start(worker, {.slots = slots, .steps = steps});
  }
  /// Only these, in ascending order.
  [[nodiscard]] SlotSet only(const std::vector<std::uint32_t>& slots) const {
    std::uint64_t parts = 0;
    for (const std::uint32_t slot : slots) {
      parts |= toggle.parts().bit_of(slot);
    }
    return {{slots.front(), slots.back()}, parts};
  }
  void start_shift(std::size_t worker) {
    machine[worker].create<ShiftTask>(toggle, yard)->start(machine[worker]);
  }
  void expect_ended(std::size_t operations) const {
    EXPECT_EQ(yard.ended, operations);
    EXPECT_EQ(yard.overlaps, 0U);
    EXPECT_EQ(yard.running, 0U);
  }

  Machine machine;
  Toggle toggle;
  Yard yard;
};

}  // namespace mxkv::runtime::testing

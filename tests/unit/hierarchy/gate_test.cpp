// The gate of the slots: no write reaches a slot that an operation holds, waiting writes come through before
// the next operation, operations that share hold a slot together, and no waiting task is forgotten.
#include "runtime/hierarchy/gate.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/hierarchy/slots.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

using testing::Machine;

struct Field {
  explicit Field(std::uint32_t slots) : gate(slots), values(slots, 0) {}

  WriteGate gate;
  std::vector<std::uint64_t> values;  ///< by slot: writes
  bool hold = false;                  ///< operations do not end
  bool linger = false;                ///< writes that were admitted do not leave
  std::size_t writes_ended = 0;
  std::size_t operations_ended = 0;
  std::size_t changed_while_held = 0;
};

/// Writes to a slot once, after so many steps at which it could have written.
class SingleWrite final : public MxTask {
 public:
  SingleWrite(const TaskClass* task_class, Field& field, std::uint32_t slot, unsigned delay) noexcept
      : MxTask(task_class), field_(&field), slot_(slot), delay_(delay) {}

  step execute(Worker& worker) {
    if (parked_ && (field_->linger || delay_-- > 0)) {
      return step::again;  // admitted, and on its way
    }
    if (!parked_ && !field_->gate.all_open() && !field_->gate.is_open(slot_)) {
      parked_ = true;
      if (field_->gate.park(slot_, *this)) {
        return step::parked;
      }
      parked_ = false;
      return step::again;
    }
    ++field_->values[slot_];
    ++field_->writes_ended;
    if (parked_) {
      field_->gate.leave(slot_, worker);
    }
    return step::done;
  }

 private:
  Field* field_;
  std::uint32_t slot_;
  unsigned delay_;
  bool parked_ = false;
};

/// Holds slots for some steps, and checks that they do not change.
class HeldSlots final : public MxTask {
 public:
  HeldSlots(const TaskClass* task_class, Field& field, SlotInterval slots, unsigned steps) noexcept
      : MxTask(task_class), field_(&field), slots_(slots), next_(slots.first), steps_(steps) {}

  step execute(Worker& worker) {
    for (; next_ <= slots_.last; ++next_) {
      if (!field_->gate.close(next_, *this)) {
        return step::parked;
      }
    }
    if (!held_) {
      held_ = true;
      WriteGate::closed();
      sum_ = sum();
    }
    if (field_->hold || steps_-- > 0) {
      return step::again;
    }
    field_->changed_while_held += sum() == sum_ ? 0 : 1;
    for (std::uint32_t slot = slots_.first; slot <= slots_.last; ++slot) {
      field_->gate.open(slot, worker);
    }
    ++field_->operations_ended;
    return step::done;
  }

 private:
  [[nodiscard]] std::uint64_t sum() const {
    std::uint64_t sum = 0;
    for (std::uint32_t slot = slots_.first; slot <= slots_.last; ++slot) {
      sum += field_->values[slot];
    }
    return sum;
  }

  Field* field_;
  SlotInterval slots_;
  std::uint32_t next_;
  unsigned steps_;
  std::uint64_t sum_ = 0;
  bool held_ = false;
};

template <class Task, class... Args>
void start(Worker& worker, Args&&... args) {
  worker.spawn(worker.create<Task>(std::forward<Args>(args)...));
}

TEST(WriteGate, AWriteWaitsForTheOperationAndTheNextOperationForTheWrite) {
  Machine machine{1};
  Field field{2};
  field.hold = field.linger = true;
  const auto step_on = [&machine] {
    for (int i = 0; i < 20; ++i) {
      machine[0].step();
    }
  };
  start<HeldSlots>(machine[0], field, SlotInterval{0, 0}, 0U);
  step_on();
  EXPECT_FALSE(field.gate.all_open());
  EXPECT_FALSE(field.gate.is_open(0));
  EXPECT_TRUE(field.gate.is_open(1));
  start<SingleWrite>(machine[0], field, 0U, 0U);
  start<SingleWrite>(machine[0], field, 1U, 0U);
  step_on();
  EXPECT_EQ(field.gate.parked(), 1U);
  EXPECT_EQ(field.values, (std::vector<std::uint64_t>{0, 1}));
  start<HeldSlots>(machine[0], field, SlotInterval{0, 1}, 0U);
  step_on();
  field.hold = false;
  step_on();
  EXPECT_EQ(field.operations_ended, 1U);
  EXPECT_EQ(field.values[0], 0U) << "admitted, but it lingers";
  EXPECT_TRUE(field.gate.all_open());
  field.linger = false;
  machine.run_until_idle();
  EXPECT_EQ(field.values, (std::vector<std::uint64_t>{1, 1}));
  EXPECT_EQ(field.operations_ended, 2U);
  EXPECT_EQ(field.changed_while_held, 0U);
  EXPECT_TRUE(field.gate.all_open());
}

TEST(WriteGate, AWriterThatNothingKeepsWritesAtOnce) {
  Machine machine{1};
  WriteGate gate{1};
  Field field{1};
  auto* const write = machine[0].create<HeldSlots>(field, SlotInterval{0, 0}, 0U);
  EXPECT_FALSE(gate.park(0, *write));
  EXPECT_TRUE(gate.close(0, *write));
  EXPECT_TRUE(gate.close(0, *write)) << "operations that read share a slot";
  gate.open(0, machine[0]);
  EXPECT_FALSE(gate.is_open(0)) << "one of the two still holds it";
  gate.open(0, machine[0]);
  EXPECT_TRUE(gate.all_open());
  machine[0].finish(*write);
}

// Two operations take turns so that the slot is hardly ever open.
TEST(WriteGate, OperationsThatShareStarveNoWrite) {
  Machine machine{2};
  Field field{1};
  field.hold = true;
  start<HeldSlots>(machine[0], field, SlotInterval{0, 0}, 5U);
  start<SingleWrite>(machine[1], field, 0U, 3U);
  while (field.gate.parked() == 0) {
    machine[0].step();
    machine[1].step();
  }
  field.hold = false;
  std::size_t started = 1;
  for (int i = 0; i < 2000 && field.writes_ended == 0; ++i) {
    if (started - field.operations_ended < 4) {
      start<HeldSlots>(machine[started % 2], field, SlotInterval{0, 0}, 5U);
      ++started;
    }
    machine[0].step();
    machine[1].step();
  }
  EXPECT_EQ(field.writes_ended, 1U);
  machine.run_until_idle();
  EXPECT_EQ(field.operations_ended, started);
  EXPECT_EQ(field.changed_while_held, 0U);
}

TEST(WriteGate, HeldRangesStayUnchangedAndAllOperationsEnd) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random{seed};
    const std::size_t workers = 1 + random.below(4);
    Machine machine{workers};
    Field field{4};
    std::size_t writes = 0;
    std::size_t operations = 0;
    for (int i = 0; i < 600; ++i) {
      Worker& worker = machine[random.below(workers)];
      const auto slot = static_cast<std::uint32_t>(random.below(4));
      switch (random.below(6)) {
        case 0:
          start<SingleWrite>(worker, field, slot, static_cast<unsigned>(random.below(4)));
          ++writes;
          break;
        case 1: {
          const auto last = static_cast<std::uint32_t>(slot + random.below(4 - slot));
          start<HeldSlots>(worker, field, SlotInterval{slot, last}, static_cast<unsigned>(random.below(6)));
          ++operations;
          break;
        }
        default:
          worker.step();
      }
    }
    machine.run_until_idle();
    EXPECT_EQ(field.writes_ended, writes);
    EXPECT_EQ(field.operations_ended, operations);
    EXPECT_EQ(field.changed_while_held, 0U);
    EXPECT_TRUE(field.gate.all_open());
  }
}

TEST(WriteGate, WaitingOperationsAreDroppedAtTheEnd) {
  Machine machine{1};
  Field field{1};
  field.hold = true;
  start<HeldSlots>(machine[0], field, SlotInterval{0, 0}, 0U);
  while (field.gate.all_open()) {
    machine[0].step();
  }
  start<SingleWrite>(machine[0], field, 0U, 0U);
  while (field.gate.parked() == 0) {
    machine[0].step();
  }
  start<HeldSlots>(machine[0], field, SlotInterval{0, 0}, 0U);
  for (int i = 0; i < 10; ++i) {
    machine[0].step();
  }
  EXPECT_EQ(field.gate.discard_waiting(machine[0]), 2U);
  EXPECT_EQ(field.gate.discard_waiting(machine[0]), 0U);
  machine.runtime.drain_stopped();
}

}  // namespace
}  // namespace mxkv::runtime

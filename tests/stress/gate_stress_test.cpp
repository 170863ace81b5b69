// The gate under real threads: single writes latch an object each and ask, operations close and look. Writers
// raise a pair of numbers in two slots, one after the other. An operation that holds both slots must find the
// first ahead by one at most, and the same numbers when it looks again.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <vector>

#include "runtime/hierarchy/gate.hpp"
#include "runtime/hierarchy/toggle.hpp"
#include "runtime/synchronization/optimistic.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

constexpr std::size_t kGateWorkers = 3;
constexpr std::uint32_t kPairs = 4;
constexpr std::uint32_t kGateSlots = 2 * kPairs;  ///< the first numbers, then the second ones

struct Number : DataObject {
  Number() : DataObject(PoolId{0}, primitive::optimistic_latch) {}
  std::atomic<std::uint64_t> value{0};
};

struct GateWorld {
  GateWorld(Runtime& runtime, std::ptrdiff_t chains)
      : toggle(runtime, {.buckets = 2, .slots_per_bucket = kPairs, .hosts = false}),
        gate(kGateSlots),
        done(chains) {}

  Toggle toggle;
  WriteGate gate;
  Number numbers[kGateSlots];
  std::latch done;
  std::atomic<std::uint64_t> torn{0};
  std::atomic<std::uint64_t> moved{0};
};

/// Raises the numbers of one pair, so many times, the first one first.
class PairWriter final : public MxTask {
 public:
  PairWriter(const TaskClass* task_class, GateWorld& world, std::uint32_t pair, std::uint32_t times) noexcept
      : MxTask(task_class), world_(&world), slot_(pair), left_(2 * times) {}

  step execute(Worker& worker) {
    Number& number = world_->numbers[slot_];
    WriteLatch latch = WriteLatch::acquire(number, 16);
    if (!latch) {
      return step::retry;
    }
    if (!admitted_ && !world_->gate.all_open() && !world_->gate.is_open(slot_)) {
      latch.release_unchanged();
      admitted_ = true;
      if (world_->gate.park(slot_, *this)) {
        return step::parked;
      }
      admitted_ = false;
      return step::again;
    }
    number.value.store(number.value.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    latch.release();
    if (std::exchange(admitted_, false)) {
      world_->gate.leave(slot_, worker);
    }
    slot_ = (slot_ + kPairs) % kGateSlots;
    if (--left_ == 0) {
      world_->done.count_down();
      return step::done;
    }
    return step::again;
  }

 private:
  GateWorld* world_;
  std::uint32_t slot_;
  std::uint32_t left_;
  bool admitted_ = false;
};

/// Holds all slots from a pair's first to its second, and looks several times.
class PairReader final : public ToggleTask<PairReader> {
 public:
  PairReader(const TaskClass* task_class, GateWorld& world, std::uint32_t left) noexcept
      : ToggleTask(task_class, world.toggle), world_(&world), pair_(left % kPairs), left_(left) {}

  [[nodiscard]] SlotInterval place() const noexcept { return {pair_, pair_ + kPairs}; }
  [[nodiscard]] bool shared() const noexcept { return left_ % 3 != 0; }
  step run(Worker& worker) {
    for (; pair_ + closed_ <= pair_ + kPairs; ++closed_) {
      if (!world_->gate.close(pair_ + closed_, *this)) {
        return step::parked;
      }
    }
    WriteGate::closed();
    const std::uint64_t first = read(pair_);
    const std::uint64_t second = read(pair_ + kPairs);
    world_->torn.fetch_add(first - second <= 1 ? 0 : 1, std::memory_order_relaxed);
    world_->moved.fetch_add(looks_ == 0 || first + second == sum_ ? 0 : 1, std::memory_order_relaxed);
    sum_ = first + second;
    if (++looks_ < kLooks) {
      return step::again;  // others run meanwhile
    }
    for (std::uint32_t slot = pair_; slot <= pair_ + kPairs; ++slot) {
      world_->gate.open(slot, worker);
    }
    toggle().finished(*this, worker);
    if (left_ > 0) {
      worker.create<PairReader>(*world_, left_ - 1)->start(worker);
    } else {
      world_->done.count_down();
    }
    return step::done;
  }

 private:
  static constexpr std::uint32_t kLooks = 4;

  [[nodiscard]] std::uint64_t read(std::uint32_t slot) const noexcept {
    const Number& number = world_->numbers[slot];
    for (;;) {
      const OptimisticRead read{number};
      const std::uint64_t value = number.value.load(std::memory_order_relaxed);
      if (!read.locked() && read.valid()) {
        return value;
      }
      cpu_relax();
    }
  }

  GateWorld* world_;
  std::uint32_t pair_;
  std::uint32_t left_;
  std::uint32_t closed_ = 0;
  std::uint32_t looks_ = 0;
  std::uint64_t sum_ = 0;
};

TEST(GateStress, WhatIsHeldIsOfOneMoment) {
  constexpr std::uint32_t kWrites = 20'000;
  constexpr std::uint32_t kReads = 2'000;
  constexpr std::uint32_t kReaders = 6;
  RuntimeOptions options = testing::unpinned(kGateWorkers);
  options.stealing = options.order_reach = stealing_scope::machine;
  options.spin_rounds = 0;
  const SystemClock clock;
  Runtime runtime{std::move(options), clock};
  GateWorld world{runtime, kPairs + kReaders};
  ASSERT_TRUE(runtime.start().ok());
  for (std::uint32_t i = 0; i < kPairs; ++i) {
    runtime.submit(runtime.create_outside<PairWriter>(world, i, kWrites),
                   WorkerId{static_cast<std::uint16_t>(i % kGateWorkers)});
  }
  for (std::uint32_t i = 0; i < kReaders; ++i) {
    runtime.submit(runtime.create_outside<PairReader>(world, kReads + i),
                   WorkerId{static_cast<std::uint16_t>(i % kGateWorkers)});
  }
  world.done.wait();
  runtime.stop();
  EXPECT_EQ(world.torn.load(), 0U);
  EXPECT_EQ(world.moved.load(), 0U);
  for (const Number& number : world.numbers) {
    EXPECT_EQ(number.value.load(), kWrites);
  }
  EXPECT_TRUE(world.gate.all_open());
  EXPECT_GT(world.gate.parked(), 0U) << "no write met an operation";
}

}  // namespace
}  // namespace mxkv::runtime

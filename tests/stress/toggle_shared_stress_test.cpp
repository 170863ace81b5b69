// Toggle's shared operations under real threads: writers move plain amounts between slots, in several steps.
// Readers, side by side, find every slot balanced and unchanged while they look, and nothing lost in the sum
// of all. ThreadSanitizer sees any two operations that touch a slot without being ordered.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <vector>

#include "runtime/hierarchy/toggle.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

constexpr std::size_t kBankWorkers = 3;
constexpr std::int64_t kInASlot = 1000;

struct Bank {
  explicit Bank(std::uint32_t count) : slots(count) {}

  /// Plain: only Toggle keeps accesses apart. `copy` is written in a later step than `amount`.
  struct Slot {
    std::int64_t amount = kInASlot;
    std::int64_t copy = kInASlot;
  };
  std::vector<Slot> slots;
  std::atomic<std::uint32_t> shift{0};
  // Relaxed: counters, read when all have ended.
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint64_t> sums{0};
  std::atomic<std::uint64_t> readers{0};  ///< under way
  std::atomic<std::uint64_t> met{0};      ///< readers that saw another under way
};

/// A chain of operations, one after the other, whose steps run on random workers: so shared ones end
/// anywhere.
class Clerk final : public ToggleTask<Clerk> {
 public:
  struct Work {
    Bank& bank;
    std::latch& done;
    std::uint32_t reads_of_ten;
  };

  Clerk(const TaskClass* task_class, Toggle& toggle, Work& work, std::uint32_t left) noexcept
      : ToggleTask(task_class, toggle), work_(&work), left_(left), random_(left * 104'729 + 1) {
    const auto all = static_cast<std::uint32_t>(work.bank.slots.size());
    reads_ = random_.below(10) < work.reads_of_ten;
    redraws_ = !reads_ && random_.below(40) == 0;
    const bool whole = redraws_ || random_.below(10) == 0;
    wanted_.first = whole ? 0 : static_cast<std::uint32_t>(random_.below(all));
    wanted_.last = whole                   ? all - 1
                   : random_.below(3) != 0 ? wanted_.first
                                           : std::min(all - 1, wanted_.first + 7);
  }

  [[nodiscard]] SlotInterval place() const noexcept {
    const auto last = static_cast<std::uint32_t>(work_->bank.slots.size()) - 1;
    const std::uint32_t shift = whole() ? 0 : work_->bank.shift.load(std::memory_order_relaxed);
    return {std::min(wanted_.first + shift, last), std::min(wanted_.last + shift, last)};
  }
  [[nodiscard]] bool shared() const noexcept { return reads_; }

  step run(Worker& worker) {
    reads_ ? look() : move();
    if (++steps_ < kSteps) {
      annotate(WorkerId{static_cast<std::uint16_t>(random_.below(kBankWorkers))});
      return step::again;
    }
    if (redraws_) {
      work_->bank.shift.store(static_cast<std::uint32_t>(random_.below(5)), std::memory_order_relaxed);
      toggle().map_changed();
    }
    Work& work = *work_;
    toggle().finished(*this, worker);
    if (left_ > 0) {
      worker.create<Clerk>(toggle(), work, left_ - 1)->start(worker);
    } else {
      work.done.count_down();
    }
    return step::done;
  }

 private:
  static constexpr std::uint32_t kSteps = 3;

  [[nodiscard]] bool whole() const noexcept {
    return wanted_.first == 0 && wanted_.last + 1 == work_->bank.slots.size();
  }

  void move() noexcept {
    std::vector<Bank::Slot>& slots_of_bank = work_->bank.slots;
    Bank::Slot& from = slots_of_bank[slots().first];
    Bank::Slot& to = slots_of_bank[slots().last];
    if (steps_ == 0) {
      from.amount -= 7;
    } else if (steps_ == 1) {
      to.amount += 7;
    } else {
      from.copy -= 7;
      to.copy += 7;
    }
  }

  void look() noexcept {
    Bank& bank = work_->bank;
    if (steps_ == 0 && bank.readers.fetch_add(1, std::memory_order_relaxed) != 0) {
      bank.met.fetch_add(1, std::memory_order_relaxed);
    }
    std::int64_t sum = 0;
    bool right = true;
    for (std::uint32_t slot = slots().first; slot <= slots().last; ++slot) {
      right = right && bank.slots[slot].amount == bank.slots[slot].copy;
      sum += bank.slots[slot].amount;
    }
    right = right && (steps_ == 0 || sum == seen_);
    if (whole()) {
      right = right && sum == kInASlot * static_cast<std::int64_t>(bank.slots.size());
      bank.sums.fetch_add(1, std::memory_order_relaxed);
    }
    seen_ = sum;
    bank.wrong.fetch_add(right ? 0 : 1, std::memory_order_relaxed);
    if (steps_ + 1 == kSteps) {
      bank.readers.fetch_sub(1, std::memory_order_relaxed);
    }
  }

  Work* work_;
  std::uint32_t left_;
  Random random_;
  SlotInterval wanted_;
  std::int64_t seen_ = 0;
  std::uint32_t steps_ = 0;
  bool reads_ = false;
  bool redraws_ = false;
};

TEST(ToggleSharedStress, ReadersSeeNoWriterHalfWay) {
  constexpr std::uint32_t kChains = 40;
  constexpr std::uint32_t kLength = 300;
  for (const std::uint32_t reads_of_ten : {3U, 7U, 10U}) {
    SCOPED_TRACE(reads_of_ten);
    RuntimeOptions options = testing::unpinned(kBankWorkers);
    options.stealing = options.order_reach = stealing_scope::machine;
    options.spin_rounds = 0;
    const SystemClock clock;
    Runtime runtime{std::move(options), clock};
    Toggle toggle{runtime, {.buckets = 5, .slots_per_bucket = 6, .hosts = reads_of_ten != 7}};
    Bank bank{toggle.slots()};
    std::latch done{kChains};
    Clerk::Work work{bank, done, reads_of_ten};
    ASSERT_TRUE(runtime.start().ok());
    for (std::uint32_t i = 0; i < kChains; ++i) {
      runtime.submit(runtime.create_outside<Clerk>(toggle, work, kLength + i),
                     WorkerId{static_cast<std::uint16_t>(i % kBankWorkers)});
    }
    done.wait();
    runtime.stop();
    EXPECT_EQ(bank.wrong.load(), 0U);
    EXPECT_GT(bank.sums.load(), 0U);
    EXPECT_GT(bank.met.load(), 0U);
    const ToggleStats stats = toggle.stats();
    EXPECT_GT(stats.shared, 0U);
    EXPECT_GT(stats.inner, 0U);
    EXPECT_GE(stats.operations, std::uint64_t{kChains} * kLength);
  }
}

}  // namespace
}  // namespace mxkv::runtime

// Toggle under real threads: operations write plain words of their slots, so that ThreadSanitizer sees any
// two operations that overlap or that are not ordered. Meanwhile slots are drawn anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <numeric>
#include <vector>

#include "runtime/hierarchy/toggle.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

constexpr std::size_t kToggleWorkers = 3;

struct Field {
  explicit Field(std::uint32_t slots, std::ptrdiff_t chains) : touched(slots, 0), done(chains) {}

  std::vector<std::uint64_t> touched;  ///< plain: only Toggle keeps accesses apart
  std::atomic<std::uint32_t> shift{0};
  std::atomic<std::uint64_t> expected{0};
  std::latch done;
};

/// A chain of operations, one after the other, each with steps on random workers.
class Link final : public ToggleTask<Link> {
 public:
  Link(const TaskClass* task_class, Toggle& toggle, Field& field, std::uint32_t left) noexcept
      : ToggleTask(task_class, toggle), field_(&field), left_(left), random_(left * 7919 + 1) {
    const auto slots = static_cast<std::uint32_t>(field.touched.size());
    first_ = static_cast<std::uint32_t>(random_.below(slots));
    last_ = random_.below(4) != 0
                ? first_
                : std::min(slots - 1, first_ + static_cast<std::uint32_t>(random_.below(slots)));
    redraws_ = left % 50 == 0;
  }

  [[nodiscard]] SlotInterval place() const noexcept {
    const auto slots = static_cast<std::uint32_t>(field_->touched.size());
    if (redraws_) {
      return {0, slots - 1};
    }
    const std::uint32_t shift = field_->shift.load(std::memory_order_relaxed);
    return {std::min(first_ + shift, slots - 1), std::min(last_ + shift, slots - 1)};
  }

  step run(Worker& worker) {
    if (steps_ < 3) {
      for (std::uint32_t slot = slots().first; slot <= slots().last; ++slot) {
        ++field_->touched[slot];
      }
      ++steps_;
      annotate(WorkerId{static_cast<std::uint16_t>(random_.below(kToggleWorkers))});
      return step::again;
    }
    field_->expected.fetch_add(3 * std::uint64_t{slots().last - slots().first + 1},
                               std::memory_order_relaxed);
    if (redraws_) {
      field_->shift.store(static_cast<std::uint32_t>(random_.below(5)), std::memory_order_relaxed);
      toggle().map_changed();
    }
    toggle().finished(*this, worker);
    if (left_ > 0) {
      worker.create<Link>(toggle(), *field_, left_ - 1)->start(worker);
    } else {
      field_->done.count_down();
    }
    return step::done;
  }

 private:
  Field* field_;
  std::uint32_t left_;
  Random random_;
  std::uint32_t first_ = 0;
  std::uint32_t last_ = 0;
  std::uint32_t steps_ = 0;
  bool redraws_ = false;
};

class ToggleStress : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Hosts, ToggleStress, ::testing::Bool());

TEST_P(ToggleStress, OperationsOfManyThreadsKeepApart) {
  constexpr std::uint32_t kChains = 40;
  constexpr std::uint32_t kLength = 400;
  RuntimeOptions options = testing::unpinned(kToggleWorkers);
  options.stealing = options.order_reach = stealing_scope::machine;
  options.spin_rounds = 0;
  const SystemClock clock;
  Runtime runtime{std::move(options), clock};
  Toggle toggle{runtime, {.buckets = 5, .slots_per_bucket = 6, .hosts = GetParam()}};
  Field field{toggle.slots(), kChains};
  ASSERT_TRUE(runtime.start().ok());
  for (std::uint32_t i = 0; i < kChains; ++i) {
    runtime.submit(runtime.create_outside<Link>(toggle, field, kLength + i),
                   WorkerId{static_cast<std::uint16_t>(i % kToggleWorkers)});
  }
  field.done.wait();
  runtime.stop();
  EXPECT_EQ(std::accumulate(field.touched.begin(), field.touched.end(), std::uint64_t{0}),
            field.expected.load());
  const ToggleStats stats = toggle.stats();
  EXPECT_GT(stats.of_many, 0U);
  EXPECT_GT(stats.inner, 0U);
  EXPECT_GE(stats.operations, std::uint64_t{kChains} * kLength);
}

}  // namespace
}  // namespace mxkv::runtime

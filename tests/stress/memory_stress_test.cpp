// Threads that allocate, hand blocks to each other and release them anywhere: for ThreadSanitizer, and for
// overlaps that only appear when blocks travel. Each thread's choices come from a fixed seed; how they
// interleave is up to the machine.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/memory/core_heap.hpp"
#include "runtime/memory/value_heap.hpp"
#include "tests/unit/memory/memory_fixture.hpp"

namespace mxkv::runtime {
namespace {

constexpr std::size_t kThreads = 4;
constexpr int kSteps = 150'000;

using testing::kMiB;
using testing::worker;

void run_threads(const std::function<void(std::size_t)>& body) {
  std::latch all_started(kThreads);  // else the first thread ends before the last begins
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      all_started.arrive_and_wait();
      body(i);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

/// Slots through which blocks change hands: a swap releases the block put in and acquires the one got out.
template <std::size_t Slots>
class Exchange {
 public:
  void* swap(std::size_t slot, void* block) {
    return slots_[slot % Slots].exchange(block, std::memory_order_acq_rel);
  }
  static constexpr std::size_t size() { return Slots; }

 private:
  std::array<std::atomic<void*>, Slots> slots_{};
};

/// Writes the size and a sum of it to both ends of a block.
struct Stamp {
  std::uint32_t bytes;
  std::uint32_t check;

  static Stamp of(std::size_t bytes) {
    const auto word = static_cast<std::uint32_t>(bytes);
    return {word, word * 2654435761U};
  }
};

void stamp(void* block, std::size_t bytes) {
  const Stamp value = Stamp::of(bytes);
  std::memcpy(block, &value, sizeof value);
  std::memcpy(static_cast<std::byte*>(block) + bytes - sizeof value, &value, sizeof value);
}

[[nodiscard]] bool stamp_intact(const void* block) {
  Stamp front{};
  Stamp back{};
  std::memcpy(&front, block, sizeof front);
  if (front.check != Stamp::of(front.bytes).check) {
    return false;
  }
  std::memcpy(&back, static_cast<const std::byte*>(block) + front.bytes - sizeof back, sizeof back);
  return back.bytes == front.bytes && back.check == front.check;
}

ValueSpaceOptions stress_options() {
  ValueSpaceOptions options = testing::space_options(kThreads, 256 * kMiB);
  options.bin_wake_bytes = std::size_t{16} * 1024;
  return options;
}

struct ValueStress : testing::Heaps {
  explicit ValueStress(std::size_t limit_bytes) : Heaps(limit_bytes, stress_options()) {}

  /// Allocates, swaps into a random slot, releases the block that came out. Returns refused allocations.
  std::size_t work(std::size_t thread) {
    ValueHeap& heap = heaps[thread];
    Random random(100 + thread);
    std::size_t refused = 0;
    for (int step = 0; step < kSteps; ++step) {
      const std::size_t bytes = 16 + (random.below(100) == 0 ? random.below(200'000) : random.below(1000));
      void* block = heap.allocate(bytes);
      if (block != nullptr) {
        stamp(block, bytes);
      } else {
        ++refused;  // swaps nullptr in: the budget recovers
      }
      release(heap, exchange.swap(random(), block));
      if (step % 512 == 0) {
        heap.flush_foreign();
        heap.collect();
        budget.account(worker(thread)).flush();
      }
    }
    heap.flush_foreign();
    return refused;
  }

  void release(ValueHeap& heap, void* block) {
    if (block == nullptr) {
      return;
    }
    if (!stamp_intact(block)) {
      damaged.fetch_add(1, std::memory_order_relaxed);
    }
    heap.release(block);
  }

  /// On one thread, after the others ended: everything goes home.
  void drain() {
    for (std::size_t slot = 0; slot < exchange.size(); ++slot) {
      release(heaps[0], exchange.swap(slot, nullptr));
    }
    settle();
  }

  Exchange<2048> exchange;
  std::atomic<std::size_t> damaged{0};
};

TEST(MemoryStress, ValuesReleasedOnAnyThreadStayIntactAndAllMemoryComesBack) {
  ValueStress stress(256 * kMiB);
  struct Wakes final : BinOwners {
    void wake(WorkerId /*owner*/) noexcept override { times.fetch_add(1, std::memory_order_relaxed); }
    std::atomic<std::size_t> times{0};
  } wakes;
  stress.space.set_bin_owners(wakes);
  run_threads([&](std::size_t thread) { EXPECT_EQ(stress.work(thread), 0U); });
  stress.drain();
  EXPECT_EQ(stress.damaged.load(), 0U);
  std::size_t foreign = 0;
  std::size_t collected = 0;
  for (const ValueHeap& heap : stress.heaps) {
    foreign += heap.stats().foreign_frees;
    collected += heap.stats().collected;
    EXPECT_EQ(heap.stats().live_bytes, 0U);
    EXPECT_EQ(heap.bin_bytes(), 0U);
  }
  EXPECT_GT(foreign, 0U);
  EXPECT_EQ(foreign, collected);
  EXPECT_GT(wakes.times.load(), 0U);
  EXPECT_EQ(stress.space.span_bytes(), 0U);
  EXPECT_EQ(stress.budget.used_bytes(), 0U);
}

TEST(MemoryStress, AnExhaustedBudgetRefusesButNeverBreaksNorIsExceeded) {
  constexpr std::size_t kLimit = 6 * kMiB;
  ValueStress stress(kLimit);
  std::atomic<bool> running{true};
  std::atomic<bool> exceeded{false};
  std::thread observer([&] {
    while (running.load(std::memory_order_relaxed)) {
      if (stress.budget.used_bytes() > kLimit) {
        exceeded.store(true, std::memory_order_relaxed);
      }
      for (const ValueHeap& heap : stress.heaps) {
        if (heap.stats().span_bytes > kLimit) {  // statistics may be read while the owner works
          exceeded.store(true, std::memory_order_relaxed);
        }
      }
    }
  });
  std::atomic<std::size_t> refused{0};
  run_threads([&](std::size_t thread) { refused.fetch_add(stress.work(thread), std::memory_order_relaxed); });
  running.store(false, std::memory_order_relaxed);
  observer.join();
  stress.drain();
  EXPECT_FALSE(exceeded.load());
  EXPECT_GT(refused.load(), 0U) << "the limit was never reached, so nothing was tested";
  EXPECT_LT(refused.load(), kThreads * static_cast<std::size_t>(kSteps));
  EXPECT_EQ(stress.damaged.load(), 0U);
  EXPECT_EQ(stress.space.span_bytes(), 0U);
  EXPECT_EQ(stress.budget.used_bytes(), 0U);
}

TEST(MemoryStress, TaskBlocksChangeHandsBetweenCoreHeapsUnharmed) {
  MemoryBudget budget(MemoryBudget::kUnlimited, kThreads);
  TaskMemory memory(budget, testing::space_options(kThreads).pages, 64 * kMiB);
  Exchange<512> exchange;
  std::atomic<std::size_t> damaged{0};
  const auto release = [&](CoreHeap& heap, void* block) {
    if (block != nullptr) {
      damaged.fetch_add(stamp_intact(block) ? 0 : 1, std::memory_order_relaxed);
      Stamp value{};
      std::memcpy(&value, block, sizeof value);
      heap.release(block, task_block_for(value.bytes));
    }
  };
  run_threads([&](std::size_t thread) {
    CoreHeap heap(memory.processor_heap(NumaNodeId(0)));
    Random random(200 + thread);
    std::vector<void*> mine;
    for (int step = 0; step < kSteps; ++step) {
      // Bursts, so that whole batches travel through the processor heap in both directions.
      if ((step / 300) % 2 == 0) {
        const std::size_t bytes = task_block_bytes(static_cast<task_block>(random.below(kTaskBlocks)));
        void* block = heap.allocate(task_block_for(bytes));
        ASSERT_NE(block, nullptr);
        stamp(block, bytes);
        mine.push_back(exchange.swap(random(), block));
      } else if (!mine.empty()) {
        release(heap, mine.back());
        mine.pop_back();
      }
    }
    for (void* block : mine) {
      release(heap, block);
    }
  });
  EXPECT_EQ(damaged.load(), 0U);
  // Every round allocates from released blocks: at most one burst a thread and the slots are in use at once.
  EXPECT_LE(memory.taken_bytes(), 4 * kMiB);
}

TEST(MemoryStress, AccountsOfManyThreadsNeverExceedTheLimitTogether) {
  constexpr std::size_t kLimit = 4 * kMiB;
  MemoryBudget budget(kLimit, kThreads);
  std::atomic<std::size_t> held{0};
  std::atomic<std::size_t> refused{0};
  std::atomic<bool> exceeded{false};
  run_threads([&](std::size_t thread) {
    MemoryAccount& account = budget.account(worker(thread));
    Random random(300 + thread);
    std::vector<std::size_t> charges;
    const auto refund_last = [&] {
      held.fetch_sub(charges.back(), std::memory_order_relaxed);
      account.refund(memory_category::output, charges.back());
      charges.pop_back();
    };
    for (int step = 0; step < kSteps; ++step) {
      const std::size_t bytes = random.below(100'000);
      if (random.below(2) == 0) {
        if (!account.try_charge(memory_category::output, bytes)) {
          refused.fetch_add(1, std::memory_order_relaxed);
          continue;
        }
        charges.push_back(bytes);
        // Added after the charge and subtracted before the refund: `held` is never above the true sum.
        if (held.fetch_add(bytes, std::memory_order_relaxed) + bytes > kLimit) {
          exceeded.store(true, std::memory_order_relaxed);
        }
      } else if (!charges.empty()) {
        refund_last();
      }
    }
    while (!charges.empty()) {
      refund_last();
    }
    account.flush();
  });
  EXPECT_FALSE(exceeded.load());
  EXPECT_GT(refused.load(), 0U) << "the limit was never reached, so nothing was tested";
  EXPECT_EQ(budget.used_bytes(), 0U);
  EXPECT_EQ(budget.category_bytes(memory_category::output), 0U);
}

}  // namespace
}  // namespace mxkv::runtime

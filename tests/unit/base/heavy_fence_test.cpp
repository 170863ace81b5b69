// The asymmetric fence: of two threads that store and then look, at least one sees the other's store.
//
// Without a fence on the light side x86-64 and arm64 both let the store pass the load now and then. A round
// that met only by luck proves nothing; so many rounds are a fair chance to catch a missing fence.
#include "runtime/base/heavy_fence.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "runtime/base/cache_line.hpp"

namespace mxkv::runtime {
namespace {

constexpr int kRounds = 20'000;

struct Meeting {
  alignas(kCacheLineBytes) std::atomic<int> light_here{0};
  alignas(kCacheLineBytes) std::atomic<int> heavy_here{0};
  alignas(kCacheLineBytes) std::atomic<int> round{0};
  alignas(kCacheLineBytes) std::atomic<int> light_done{0};
  int light_saw = 0;  ///< handed over by light_done
};

void wait_for(const std::atomic<int>& word, int value) {
  for (int i = 0; word.load(std::memory_order_acquire) != value; ++i) {
    if (i > 1000) {
      std::this_thread::yield();
    }
  }
}

TEST(HeavyFence, OneOfTheTwoSidesSeesTheOther) {
  Meeting meeting;
  std::jthread light([&meeting] {
    for (int round = 1; round <= kRounds; ++round) {
      wait_for(meeting.round, round);
      meeting.light_here.store(round, std::memory_order_relaxed);
      light_fence();
      meeting.light_saw = meeting.heavy_here.load(std::memory_order_relaxed);
      meeting.light_done.store(round, std::memory_order_release);
    }
  });
  int missed_by_both = 0;
  for (int round = 1; round <= kRounds; ++round) {
    meeting.round.store(round, std::memory_order_release);
    meeting.heavy_here.store(round, std::memory_order_relaxed);
    heavy_fence();
    const int heavy_saw = meeting.light_here.load(std::memory_order_relaxed);
    wait_for(meeting.light_done, round);
    missed_by_both += heavy_saw != round && meeting.light_saw != round ? 1 : 0;
  }
  EXPECT_EQ(missed_by_both, 0);
}

}  // namespace
}  // namespace mxkv::runtime

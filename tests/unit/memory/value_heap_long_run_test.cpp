// How much memory the value allocator holds for its live bytes, after long runs that are hard on it. The test
// plays the application's part: it moves blocks in sparse spans, as server/store/evacuation does with items.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/memory/poison.hpp"
#include "tests/unit/memory/memory_fixture.hpp"

namespace mxkv::runtime {
namespace {

using testing::Heaps;
using testing::kMiB;

constexpr std::size_t kWorkers = 4;
constexpr double kMostOverhead = 1.25;
constexpr std::size_t kCacheBytes = 8 * kMiB;  ///< of free superblocks with pages, a node

/// Workers that keep about `bytes` alive.
class Population {
 public:
  explicit Population(std::uint64_t seed) : random_(seed) {}

  void allocate(std::size_t worker, std::size_t bytes) {
    auto* data = static_cast<unsigned char*>(heaps_[worker].allocate(bytes));
    ASSERT_NE(data, nullptr);
    data[0] = data[bytes - 1] = mark(data);
    blocks_.push_back({data, bytes, worker});
    live_bytes_ += bytes;
  }
  /// Some block is released by any worker.
  void release_one() {
    Block& victim = blocks_[random_.below(blocks_.size())];
    EXPECT_EQ(victim.data[0], mark(victim.data));
    EXPECT_EQ(victim.data[victim.bytes - 1], mark(victim.data));
    live_bytes_ -= victim.bytes;
    heaps_[random_.below(kWorkers)].release(victim.data);
    victim = blocks_.back();
    blocks_.pop_back();
  }
  /// Each worker moves the blocks in its sparse spans. Returns how many.
  std::size_t evacuate() {
    heaps_.settle();
    std::size_t moved = 0;
    for (Block& block : blocks_) {
      ValueHeap& heap = heaps_[block.worker];
      if (!heap.in_sparse_span(block.data)) {
        continue;
      }
      auto* copy = static_cast<unsigned char*>(heap.allocate(block.bytes));
      if (copy == nullptr) {
        break;
      }
      copy[0] = copy[block.bytes - 1] = mark(copy);
      heap.release(block.data);
      block.data = copy;
      ++moved;
    }
    return moved;
  }
  /// Bytes held for each live byte, whichever account is charged for them.
  [[nodiscard]] double overhead() {
    heaps_.settle();
    return static_cast<double>(heaps_.space.span_bytes()) / static_cast<double>(live_bytes_);
  }
  [[nodiscard]] std::size_t live_bytes() const noexcept { return live_bytes_; }
  [[nodiscard]] std::size_t blocks() const noexcept { return blocks_.size(); }
  [[nodiscard]] Random& random() noexcept { return random_; }
  [[nodiscard]] Heaps& heaps() noexcept { return heaps_; }

 private:
  struct Block {
    unsigned char* data;
    std::size_t bytes;
    std::size_t worker;
  };
  static unsigned char mark(const unsigned char* data) noexcept {
    return static_cast<unsigned char>(reinterpret_cast<std::uintptr_t>(data) >> 4U);
  }

  Random random_;
  Heaps heaps_{512 * kMiB, testing::space_options(kWorkers, 512 * kMiB)};
  std::vector<Block> blocks_;
  std::size_t live_bytes_ = 0;
};

TEST(ValueHeapLongRun, MixedSizesThatDriftEndBelowAQuarterOfOverhead) {
  constexpr std::size_t kLiveBytes = 128 * kMiB;
  constexpr std::size_t kRounds = 600'000;
  constexpr std::size_t kEvacuateEvery = 50'000;
  for (std::uint64_t seed = 1; seed <= (detail::kPoisoningActive ? 1U : 2U); ++seed) {
    Population population{seed};
    for (std::size_t round = 0; round < kRounds; ++round) {
      // The usual size goes from 40 to 4,000 bytes and back, three times; sizes are spread around it by up to
      // four.
      const double phase = static_cast<double>(round) / kRounds * 3 * 2 * 3.14159265;
      const double usual = 400 * std::pow(10.0, -std::cos(phase));
      const double spread = std::pow(4.0, static_cast<double>(population.random().below(2001)) / 1000 - 1);
      population.allocate(population.random().below(kWorkers),
                          std::max<std::size_t>(8, static_cast<std::size_t>(usual * spread)));
      while (population.live_bytes() > kLiveBytes) {
        population.release_one();
      }
      if (round % kEvacuateEvery == kEvacuateEvery - 1) {
        population.evacuate();
      }
    }
    population.evacuate();
    EXPECT_LT(population.overhead(), kMostOverhead) << "seed " << seed;
    EXPECT_LE(population.heaps().space.pooled_bytes(),
              kCacheBytes + population.heaps().space.span_bytes() / 16);
  }
}

TEST(ValueHeapLongRun, FillWithSmallDeleteMostFillWithLargeEndsBelowAQuarterOfOverhead) {
  constexpr std::size_t kBytes = 64 * kMiB;
  Population population{7};
  while (population.live_bytes() < kBytes) {
    population.allocate(population.random().below(kWorkers), 64 + population.random().below(128));
  }
  const std::size_t most = population.blocks();
  while (population.blocks() > most / 10) {
    population.release_one();
  }
  EXPECT_GT(population.overhead(), 4) << "else there is nothing to evacuate";
  EXPECT_GT(population.evacuate(), 0U);
  // So few bytes in so many classes: the span that each class of each worker allocates from counts.
  const std::size_t current_spans = kWorkers * (size_class_for(192) - size_class_for(64) + 1);
  EXPECT_LT(static_cast<double>(population.heaps().space.span_bytes()),
            kMostOverhead * static_cast<double>(population.live_bytes()) +
                static_cast<double>(current_spans * kSpanBytes))
      << "after evacuation";
  while (population.live_bytes() < kBytes) {
    population.allocate(population.random().below(kWorkers), 4000 + population.random().below(8000));
  }
  EXPECT_LT(population.overhead(), kMostOverhead) << "filled again";
}

}  // namespace
}  // namespace mxkv::runtime

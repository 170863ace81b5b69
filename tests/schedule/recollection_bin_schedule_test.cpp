// The recollection bin in every order of its atomic steps: each block comes home once, whatever is pushed
// while the owner collects, and no bin fills up without a wake-up for its owner.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "runtime/memory/recollection_bin.hpp"
#include "tests/schedule/interleaving.hpp"

namespace mxkv::testing {
namespace {

using runtime::detail::read_link;
using runtime::detail::unpoison;
using runtime::detail::write_link;

struct alignas(64) Block {
  std::array<std::byte, 64> memory{};
  int came_home = 0;
};

constexpr std::size_t kBlockBytes = 64;
constexpr std::size_t kWakeBytes = 4 * kBlockBytes;

/// Some workers that push chains, and the owner that collects when it is woken, and now and then by itself.
class BinRun {
 public:
  ~BinRun() {
    for (Block& block : blocks_) {
      unpoison(block.memory.data(), block.memory.size());
    }
  }

  void add_pusher(int chains, std::size_t blocks_each) {
    ++pushers_;
    longest_bytes_ = std::max(longest_bytes_, blocks_each * kBlockBytes);
    bodies_.emplace_back([this, chains, blocks_each] {
      for (int i = 0; i < chains; ++i) {
        push(blocks_each);
        Interleaving::point();
      }
    });
  }
  void add_owner(int rounds, bool unasked) {
    bodies_.emplace_back([this, rounds, unasked] {
      for (int i = 0; i < rounds; ++i) {
        if (std::exchange(told_, false) || unasked) {
          collect();
        }
        Interleaving::point();
      }
    });
  }

  void run(Interleaving& interleaving) {
    interleaving.run(bodies_);
    const std::size_t before = home_;
    const bool told = told_;
    collect();
    // Chains counted before the last collection and linked after it: one a pusher at most.
    const std::size_t left_bytes = (home_ - before) * kBlockBytes;
    EXPECT_TRUE(told || left_bytes < kWakeBytes + pushers_ * longest_bytes_)
        << left_bytes << " bytes wait, and nobody was told";
    EXPECT_EQ(home_, blocks_.size());
    for (const Block& block : blocks_) {
      EXPECT_EQ(block.came_home, 1);
    }
    EXPECT_EQ(bin_.bytes(), 0U);
    EXPECT_EQ(bin_.take_all(), nullptr);
  }
  [[nodiscard]] int wakes() const { return wakes_; }
  [[nodiscard]] bool met_a_push() const { return met_a_push_; }

 private:
  void push(std::size_t count) {
    Block* last = &blocks_.emplace_back();
    Block* first = last;
    for (std::size_t i = 1; i < count; ++i) {
      Block* next = &blocks_.emplace_back();
      write_link(next, first);
      first = next;
    }
    const std::size_t collections = collections_;
    if (bin_.push(first, last, count * kBlockBytes, kWakeBytes)) {
      ++wakes_;
      Interleaving::point();  // the wake-up takes a while
      told_ = true;
    }
    met_a_push_ = met_a_push_ || collections != collections_;
  }
  void collect() {
    for (void* block = bin_.take_all(); block != nullptr;) {
      void* const next = read_link(block);
      Interleaving::point();  // a long chain takes long
      ++static_cast<Block*>(block)->came_home;
      ++home_;
      block = next;
    }
    ++collections_;
  }

  runtime::BasicRecollectionBin<Interleaved> bin_;
  std::deque<Block> blocks_;
  std::vector<std::function<void()>> bodies_;
  std::size_t pushers_ = 0;
  std::size_t longest_bytes_ = 0;
  std::size_t home_ = 0;
  std::size_t collections_ = 0;
  int wakes_ = 0;
  bool told_ = false;
  bool met_a_push_ = false;  ///< a collection ended in the middle of a push
};

TEST(RecollectionBinSchedule, APusherAndTheOwnerInEveryOrder) {
  int met = 0;
  const std::size_t runs = in_all_orders(100, [&met](Interleaving& order) {
    BinRun run;
    run.add_pusher(2, 2);
    run.add_owner(2, true);
    run.run(order);
    met += run.met_a_push() ? 1 : 0;
  });
  EXPECT_GT(runs, 100U);
  EXPECT_GT(met, 0) << "the rare order was met";
}

TEST(RecollectionBinSchedule, TwoPushersAndTheOwnerWithThreePreemptions) {
  int met = 0;
  const std::size_t runs = in_all_orders(3, [&met](Interleaving& order) {
    BinRun run;
    run.add_pusher(2, 1);
    run.add_pusher(1, 3);
    run.add_owner(2, true);
    run.run(order);
    met += run.met_a_push() ? 1 : 0;
  });
  EXPECT_GT(runs, 100U);
  EXPECT_GT(met, 0);
}

TEST(RecollectionBinSchedule, ABinThatFillsUpWhileItIsCollectedTellsItsOwnerAgain) {
  int most_wakes = 0;
  const std::size_t runs = in_all_orders(3, [&most_wakes](Interleaving& order) {
    BinRun run;
    run.add_pusher(4, 4);  // each takes the bin over its size
    run.add_owner(6, false);
    run.run(order);
    most_wakes = std::max(most_wakes, run.wakes());
  });
  EXPECT_GT(runs, 100U);
  EXPECT_GT(most_wakes, 1);
}

TEST(RecollectionBinSchedule, ManyPushersInRandomOrders) {
  in_random_orders(500, [](Interleaving& order) {
    BinRun run;
    for (std::size_t i = 0; i < 4; ++i) {
      run.add_pusher(6, 1 + i);
    }
    run.add_owner(20, false);
    run.run(order);
  });
}

}  // namespace
}  // namespace mxkv::testing

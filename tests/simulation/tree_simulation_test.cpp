// The tree in a world that a seed decides: one thread steps one to four workers in any order, a few tasks at
// a time, with many operations in flight. Meanwhile versions move, latches are held by nobody in sight,
// epochs advance, workers leave their epochs as if they parked, memory runs out and comes back, and some
// worlds end in the middle. Afterwards every key's history must be linearizable, scans in order, the
// invariants whole and every block of nodes and items back in its heap.
//
// A failure prints its seed: run with MXKV_SEED=<seed> to see that world alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "index/checker.hpp"
#include "tests/unit/index/byte_keys.hpp"
#include "tests/unit/index/tree_drain.hpp"
#include "tests/unit/index/tree_driver.hpp"
#include "tests/unit/index/tree_load.hpp"

namespace mxkv::index::testing {
namespace {

using runtime::Random;
using runtime::WorkerId;

std::vector<std::uint64_t> world_keys(std::uint64_t /*kind*/, std::size_t count, Random& random) {
  std::vector<std::uint64_t> keys{0, ~std::uint64_t{0}};
  while (keys.size() < count) {
    keys.push_back(random.below(500));
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}
std::vector<std::string> world_keys(const std::string& /*kind*/, std::size_t count, Random& random) {
  return make_keys(kAllKeySets[random.below(std::size(kAllKeySets))], count, random());
}

runtime::RuntimeOptions world_options(Random& random) {
  runtime::RuntimeOptions options = driver_options(1 + random.below(4));
  options.prefetch.mode = static_cast<runtime::prefetch_mode>(random.below(3));
  options.prefetch.window = static_cast<std::uint32_t>(1 + random.below(64));
  options.batch_tasks = static_cast<std::uint32_t>(1 + random.below(6));
  options.pools_per_worker = static_cast<std::uint32_t>(1 + random.below(3));
  options.epoch.interval_ms = 1;
  options.memory.limit_bytes = std::size_t{64} << 20U;
  return options;
}

TreeOptions world_primitives(Random& random) {
  const auto any = [&random] { return kTreePrimitives[random.below(std::size(kTreePrimitives))]; };
  return {any(), any()};
}

template <class Env>
class World {
 public:
  using Traits = typename Env::Traits;
  using NodeT = Node<typename Traits::Shape>;
  using OwnedKey = typename Env::OwnedKey;

  explicit World(std::uint64_t seed)
      : random_(seed),
        driver_(1, world_options(random_), random_()),
        env_(driver_.runtime()),
        tree_(driver_.runtime(), world_primitives(random_)),
        keys_(world_keys(OwnedKey{}, 4 + random_.below(60), random_)),
        short_of_memory_(random_.below(3) == 0),
        ends_early_(random_.below(8) == 0) {
    const unsigned clears = random_.below(3) == 0 ? 30 : 0;
    for (std::size_t i = 0; i < driver_.runtime().worker_count(); ++i) {
      const LoadOptions options{
          random_(), 40 + random_.below(160), 1 + random_.below(16), static_cast<unsigned>(random_.below(9)),
          clears,    random_.below(2) == 0};
      loads_.emplace_back(tree_, env_, keys_, ticks_, options);
      driver_.worker(i).set_poller(loads_.back());
    }
  }

  void run() {
    constexpr std::size_t kMost = 400'000;
    constexpr std::size_t kUnrest =
        8'000;  // then it gets calm: moving versions could go on defeating writers
    std::size_t steps = 0;
    const std::size_t last = ends_early_ ? random_.below(400) : kMost;
    while (!finished() && steps < last) {
      ++steps;
      step_anyone();
      if (steps < kUnrest) {
        interfere();
      } else if (steps == kUnrest) {
        held_.reset();
        give_memory_back();
      }
    }
    ASSERT_TRUE(finished() || ends_early_) << "operations never ended";
    held_.reset();
    give_memory_back();
    if (!ends_early_) {
      driver_.settle();
    }
    check();
  }

 private:
  [[nodiscard]] bool finished() const {
    return std::all_of(loads_.begin(), loads_.end(), [](const auto& load) { return load.finished(); });
  }

  void step_anyone() {
    runtime::Worker& worker = driver_.worker(random_.below(driver_.runtime().worker_count()));
    const bool busy = worker.step();
    if (!busy && random_.below(4) == 0 && worker.prepare_to_park()) {
      worker.unpark();
    }
  }

  void interfere() {
    if (held_.has_value() && random_.below(6) == 0) {
      held_.reset();
    }
    switch (random_.below(24)) {
      case 0:
        driver_.clock().advance_us(random_.below(2'000));
        break;
      case 1:
        if (!held_.has_value()) {
          held_.emplace(runtime::WriteLatch::acquire(any_node(), 1));
        }
        break;
      case 2:
        if (!held_.has_value()) {
          const auto moved = runtime::WriteLatch::acquire(any_node(), 1);
        }
        break;
      case 3:
        if (short_of_memory_) {
          take_memory();
        }
        break;
      case 4:
        give_memory_back();
        break;
      default:
        break;
    }
  }

  NodeT& any_node() {
    const NodeT* node = static_cast<const NodeT*>(tree_.root().object());
    for (std::uint64_t hops = random_.below(6); hops > 0; --hops) {
      const NodeMeta meta = node->meta();
      std::uint64_t next = node->right();
      if (meta.level() > 0 && random_.below(3) > 0) {
        const auto block = static_cast<std::uint8_t>(random_.below(meta.blocks()));
        next =
            node->value(false, Position{block, static_cast<std::uint8_t>(random_.below(meta.count(block)))});
      }
      if (next == 0) {
        break;
      }
      node = static_cast<const NodeT*>(runtime::TaggedPointer{next}.object());
    }
    return const_cast<NodeT&>(*node);
  }

  /// No worker gets another span, and some find no free node or fence either.
  void take_memory() {
    driver_.runtime().budget().set_limit_bytes(0);
    for (std::size_t i = 0; i < driver_.runtime().worker_count(); ++i) {
      for (const std::size_t bytes : {sizeof(NodeT), std::size_t{16}, std::size_t{64}}) {
        if (random_.below(2) == 0) {
          take_blocks(driver_.worker(i).nodes(), bytes);
        }
      }
    }
  }
  void take_blocks(runtime::ValueHeap& heap, std::size_t bytes) {
    constexpr std::size_t kMost = 5'000;  // more than a span holds
    for (std::size_t n = 0; n < kMost; ++n) {
      void* block = heap.allocate(bytes);
      if (block == nullptr) {
        break;
      }
      taken_.emplace_back(&heap, block);
    }
    for (std::uint64_t left = random_.below(3); left > 0 && !taken_.empty(); --left) {
      taken_.back().first->release(taken_.back().second);
      taken_.pop_back();
    }
  }
  void give_memory_back() {
    driver_.runtime().budget().set_limit_bytes(std::size_t{64} << 20U);
    for (const auto& [heap, block] : taken_) {
      heap->release(block);
    }
    taken_.clear();
  }

  void check() {
    typename TreeLoad<Env>::Histories histories;
    for (const auto& load : loads_) {
      EXPECT_TRUE(load.scans_in_order());
      load.tell(histories);
      EXPECT_TRUE(load.failed() == 0 || short_of_memory_);
    }
    for (const auto& [key, history] : histories) {
      const auto wrong = history.contradiction();
      EXPECT_FALSE(wrong.has_value()) << ::testing::PrintToString(key) << ": " << *wrong;
    }
    driver_.runtime().drain_stopped();
    const CheckReport report = Checker<Traits>::check(tree_);
    EXPECT_THAT(report.errors, ::testing::IsEmpty());
    EXPECT_TRUE(report.pending == 0 || short_of_memory_ || ends_early_);
    drain(tree_, driver_.runtime());
    const LiveBytes left = live_bytes(driver_.runtime());
    EXPECT_EQ(left.nodes, 0U) << "nodes or fences leaked";
    EXPECT_EQ(left.items, 0U) << "items leaked";
  }

  Random random_;
  std::deque<TreeLoad<Env>> loads_;  // pollers outlive the runtime
  Driver driver_;
  Env env_;
  Tree<Traits> tree_;
  std::vector<OwnedKey> keys_;
  bool short_of_memory_;
  bool ends_early_;
  std::atomic<std::uint64_t> ticks_{0};
  std::optional<runtime::WriteLatch> held_;
  std::vector<std::pair<runtime::ValueHeap*, void*>> taken_;
};

template <class Env>
class TreeSimulation : public ::testing::Test {};

using AllEnvs = ::testing::Types<IntegerEnv<NodeShape<2, 2, 2, false>>, IntegerEnv<NodeShape<3, 2, 3, false>>,
                                 ByteEnv<NodeShape<2, 2, 2, true>>, ByteEnv<NodeShape<3, 2, 3, true>>>;
TYPED_TEST_SUITE(TreeSimulation, AllEnvs);

TYPED_TEST(TreeSimulation, EverySeedIsLinearizableAndLeaksNothing) {
  const char* one = std::getenv("MXKV_SEED");
  const std::uint64_t first = one == nullptr ? 0 : std::strtoull(one, nullptr, 10);
  const std::uint64_t seeds = one == nullptr ? 150 : 1;
  for (std::uint64_t seed = first; seed < first + seeds && !this->HasFailure(); ++seed) {
    SCOPED_TRACE("MXKV_SEED=" + std::to_string(seed));
    World<TypeParam> world{seed};
    world.run();
  }
}

}  // namespace
}  // namespace mxkv::index::testing

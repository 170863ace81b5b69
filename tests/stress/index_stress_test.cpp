// The tree under real threads, for ThreadSanitizer and AddressSanitizer: few keys on tiny nodes, so that
// workers meet; every key's history must be linearizable, with moments from one atomic counter, and scans see
// the keys that stay, in strict order. Each worker's choices are seeded; how they meet is up to the machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "index/checker.hpp"
#include "tests/sanitized.hpp"
#include "tests/unit/index/byte_keys.hpp"
#include "tests/unit/index/tree_drain.hpp"
#include "tests/unit/index/tree_driver.hpp"
#include "tests/unit/index/tree_load.hpp"

namespace mxkv::index::testing {
namespace {

#ifdef MXKV_VECTOR_COMPARE
constexpr std::size_t kOperations = 3'000;
#else
constexpr std::size_t kOperations = 2'000;  // with a sanitizer, whose runs take long
#endif

struct Crowd {
  std::size_t workers;
  TreeOptions how;
  unsigned clears_in_1024;
};

template <class Env>
void expect_linearizable(const Crowd& crowd, const std::vector<typename Env::OwnedKey>& keys) {
  using Traits = typename Env::Traits;
  const runtime::SystemClock clock;
  runtime::RuntimeOptions options = driver_options(crowd.workers);
  options.epoch.interval_ms = 1;
  options.epoch.advance_bytes = std::size_t{16} << 10U;
  std::deque<TreeLoad<Env>> loads;  // pollers outlive the runtime
  std::atomic<std::uint64_t> ticks{0};
  runtime::Runtime runtime{std::move(options), clock};
  const Env env{runtime};
  Tree<Traits> tree{runtime, crowd.how};
  for (std::size_t i = 0; i < crowd.workers; ++i) {
    const LoadOptions load{.seed = 1 + i,
                           .operations = kOperations,
                           .in_flight = 4,
                           .scans_in_64 = 2,
                           .clears_in_1024 = crowd.clears_in_1024,
                           .merges_in_64 = 4,
                           .wave = 400};
    loads.emplace_back(tree, env, keys, ticks, load);
    runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)}).set_poller(loads.back());
  }
  ASSERT_TRUE(runtime.start());
  for (const auto& load : loads) {
    while (!load.finished()) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
  }
  runtime.stop();
  typename TreeLoad<Env>::Histories histories;
  for (const auto& load : loads) {
    EXPECT_TRUE(load.scans_in_order());
    EXPECT_EQ(load.failed(), 0U);
    load.tell(histories);
  }
  for (const auto& [key, history] : histories) {
    const auto wrong = history.contradiction();
    EXPECT_FALSE(wrong.has_value()) << ::testing::PrintToString(key) << ": " << *wrong;
  }
  EXPECT_GT(tree.unlinks().leaves.load(), 0U);
  if (tree.all_latched() && !kSanitized) {  // with few operations there may be none
    EXPECT_GT(tree.unlinks().merges.load(), 0U);
  }
  runtime.drain_stopped();
  EXPECT_THAT(Checker<Traits>::check(tree).errors, ::testing::IsEmpty());
  drain(tree, runtime);
  EXPECT_EQ(live_bytes(runtime).nodes, 0U);
  EXPECT_EQ(live_bytes(runtime).items, 0U);
}

std::vector<Crowd> crowds() {
  using runtime::primitive;
  constexpr auto kLatch = primitive::optimistic_latch;
  constexpr auto kScheduling = primitive::optimistic_scheduling;
  constexpr auto kSerialized = primitive::serialized_by_scheduling;
  constexpr auto kSpin = primitive::spin_latch;
  constexpr auto kShared = primitive::reader_writer_latch;
  return {{2, {kLatch, kLatch}, 0},
          {3, {kLatch, kScheduling}, 1},
          {4, {kScheduling, kLatch}, 1},
          {2, {kScheduling, kScheduling}, 0},
          {2, {kSerialized, kSerialized}, 1},
          {3, {kSpin, kSpin}, 1},
          {4, {kShared, kShared}, 1},
          {3, {kShared, kSerialized}, 0},
          {3, {kSerialized, kSpin}, 0},
          {2, {.leaves_adapt = true}, 1},
          {4, {.inner_nodes = kScheduling, .leaves_adapt = true}, 0}};
}

class IndexStress : public ::testing::TestWithParam<Crowd> {};

TEST_P(IndexStress, IntegerKeysStayLinearizable) {
  std::vector<std::uint64_t> keys(48);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i] = 7 * i;
  }
  expect_linearizable<IntegerEnv<NodeShape<2, 2, 2, false>>>(GetParam(), keys);
}

TEST_P(IndexStress, ByteKeysStayLinearizable) {
  expect_linearizable<ByteEnv<NodeShape<2, 2, 2, true>>>(GetParam(), make_keys(key_set::families, 48, 3));
  expect_linearizable<ByteEnv<NodeShape<3, 2, 3, true>>>(GetParam(), make_keys(key_set::common_30, 48, 3));
}

INSTANTIATE_TEST_SUITE_P(All, IndexStress, ::testing::ValuesIn(crowds()));

}  // namespace
}  // namespace mxkv::index::testing

// A tree on workers that the test steps, with operations that return when they are done. At the end of each
// test the invariants must hold, and all memory that is not in the tree must have gone back to the heaps.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "index/checker.hpp"
#include "tests/unit/index/tree_drain.hpp"
#include "tests/unit/index/tree_driver.hpp"
#include "tests/unit/index/tree_instances.hpp"

namespace mxkv::index::testing {

/// Whether runs take long, as with a sanitizer: then a long series of cases is thinned out.
#ifdef MXKV_VECTOR_COMPARE
inline constexpr bool kSlowRuns = false;
#else
inline constexpr bool kSlowRuns = true;
#endif

template <class Env>
class TreeUnderTest {
 public:
  using OwnedKey = typename Env::OwnedKey;
  using Traits = typename Env::Traits;
  using Model = std::map<OwnedKey, std::uint64_t>;
  using Pairs = std::vector<std::pair<OwnedKey, std::uint64_t>>;

  explicit TreeUnderTest(runtime::RuntimeOptions options = driver_options(1), TreeOptions how = {})
      : driver_(1, std::move(options)), env_(driver_.runtime()), tree_(driver_.runtime(), how) {}
  TreeUnderTest(const TreeUnderTest&) = delete;
  TreeUnderTest& operator=(const TreeUnderTest&) = delete;
  ~TreeUnderTest() {
    drain(tree_, driver_.runtime());
    const LiveBytes left = live_bytes(driver_.runtime());
    EXPECT_EQ(left.nodes, 0U) << "nodes or fences leaked";
    EXPECT_EQ(left.items, 0U) << "items leaked";
  }

  Operation<Env> apply(const OwnedKey& key, verb how, std::uint64_t operand = 0, std::uint64_t expected = 0) {
    Operation<Env> operation;
    operation.key = key;
    operation.how = how;
    operation.operand = operand;
    operation.expected = expected;
    const std::size_t at = driver_.random().below(driver_.runtime().worker_count());
    driver_.on_worker(at, [&](runtime::Worker& worker) { start_operation(context_, operation, worker); });
    driver_.run_until([&] { return operation.done; });
    EXPECT_TRUE(operation.done);
    return operation;
  }
  Operation<Env> find(const OwnedKey& key) { return apply(key, verb::find); }

  Range<Env> range(const OwnedKey& key, bool backward, std::size_t limit,
                   std::uint64_t wanted = Range<Env>{}.wanted) {
    Range<Env> range;
    range.key = key;
    range.backward = backward;
    range.limit = limit;
    range.wanted = wanted;
    driver_.on_worker(
        0, [&](runtime::Worker& worker) { worker.create<RangeTask<Env>>(tree_, range)->start(worker); });
    driver_.run_until([&] { return range.done; });
    EXPECT_TRUE(range.done);
    return range;
  }

  /// The expected result of a scan of the model.
  static Pairs expected_range(const Model& model, const OwnedKey& key, bool backward, std::size_t limit) {
    Pairs pairs;
    auto at = model.lower_bound(key);
    if (backward) {
      while (at != model.begin() && pairs.size() < limit) {
        pairs.emplace_back(*--at);
      }
    } else {
      for (; at != model.end() && pairs.size() < limit; ++at) {
        pairs.emplace_back(*at);
      }
    }
    return pairs;
  }

  /// Checks that the invariants hold and that every key of the model is found, by look-ups and by scans.
  void expect_holds(const Model& model) {
    driver_.settle();
    const CheckReport report = Checker<Traits>::check(tree_);
    EXPECT_THAT(report.errors, ::testing::IsEmpty());
    EXPECT_EQ(report.pending, 0U);
    EXPECT_EQ(report.frozen, 0U);
    EXPECT_EQ(report.claimed, 0U);
    EXPECT_EQ(report.left_over, 0U) << "nodes that should have been unlinked";
    EXPECT_EQ(report.entries, model.size());
    for (const auto& [key, number] : model) {
      const Operation<Env> out = find(key);
      ASSERT_TRUE(out.found) << ::testing::PrintToString(key);
      ASSERT_EQ(out.number, number) << ::testing::PrintToString(key);
    }
  }

  [[nodiscard]] Driver& driver() noexcept { return driver_; }
  [[nodiscard]] Tree<Traits>& tree() noexcept { return tree_; }
  [[nodiscard]] const Env& env() const noexcept { return env_; }
  [[nodiscard]] TreeContext<Env>& context() noexcept { return context_; }

 private:
  Driver driver_;
  Env env_;
  Tree<Traits> tree_;
  TreeContext<Env> context_{tree_, env_};
};

/// Random operations on `keys`, compared with a map after each. Returns the expected contents.
template <class Env>
typename TreeUnderTest<Env>::Model compare_with_map(TreeUnderTest<Env>& tree,
                                                    const std::vector<typename Env::OwnedKey>& keys,
                                                    std::size_t operations, std::uint64_t seed) {
  typename TreeUnderTest<Env>::Model model;
  runtime::Random random{seed};
  for (std::size_t i = 0; i < operations; ++i) {
    const auto& key = keys[random.below(keys.size())];
    const auto at = model.find(key);
    const bool present = at != model.end();
    const std::uint64_t before = present ? at->second : 0;
    const std::uint64_t operand = random();
    const auto how = static_cast<verb>(random.below(8) % 6);  // finds and upserts twice as often
    const std::uint64_t expected = random.below(2) == 0 ? before : operand;
    const Operation<Env> out = tree.apply(key, how, operand, expected);
    EXPECT_EQ(out.found, present);
    EXPECT_EQ(out.number, before);
    if (how == verb::upsert || (how == verb::compare_swap && present && before == expected)) {
      model[key] = operand;
    } else if (how == verb::add) {
      model[key] = before + operand;
    } else if (how == verb::remove) {
      model.erase(key);
    }
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << "at operation " << i << " on key " << ::testing::PrintToString(key);
      break;
    }
  }
  return model;
}

}  // namespace mxkv::index::testing

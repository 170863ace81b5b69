// Scans that stand still, between two leaves or in the middle of one. Meanwhile the leaves around them, and
// the leaf that they were about to enter, are emptied, unlinked and, as far as possible, reclaimed.
#include <algorithm>

#include "tests/unit/index/spaced_keys.hpp"
#include "tests/unit/index/tree_fixture.hpp"

namespace mxkv::index::testing {
namespace {

template <class Env>
class UnlinkedScan : public ::testing::Test {
 protected:
  using OwnedKey = typename Env::OwnedKey;
  using Under = TreeUnderTest<Env>;
  using Model = typename Under::Model;
  static constexpr std::uint64_t kKeys = 150;
  static constexpr std::uint64_t kStays = 25;  ///< keys whose number divides by it are never removed
  static constexpr std::size_t kLeavesPerPin = 16;
  static constexpr std::size_t kStride = kSlowRuns ? 29 : 3;

  static OwnedKey key(std::uint64_t n) { return spaced_key(OwnedKey{}, n); }
  static OwnedKey first_key(bool backward) { return key(backward ? kKeys : 0); }

  static void fill(Under& tree, Model& model) {
    for (std::uint64_t n = 0; n < kKeys; ++n) {
      tree.apply(key(n), verb::upsert, n);
      model.emplace(key(n), n);
    }
    tree.driver().settle();
  }
  static void start(Under& tree, Range<Env>& range, bool backward,
                    const std::function<void()>* meanwhile = nullptr) {
    range.key = first_key(backward);
    range.backward = backward;
    range.limit = 100'000;
    tree.driver().on_worker(0, [&](runtime::Worker& worker) {
      worker.create<RangeTask<Env>>(tree.tree(), range, nullptr, nullptr, meanwhile)->start(worker);
    });
  }
  /// Lets the scan, if it stood still, go on to the end of its next leaf. False: that was the last leaf.
  static bool go_on(Under& tree, Range<Env>& range) {
    if (runtime::MxTask* task = std::exchange(range.halted, nullptr)) {
      tree.driver().on_worker(range.halted_on->id().index(),
                              [task](runtime::Worker& worker) { worker.spawn(task); });
    }
    tree.driver().run_until([&] { return range.done || range.halted != nullptr; });
    EXPECT_TRUE(range.done || range.halted != nullptr) << "the scan got lost";
    return !range.done;
  }
  static void reclaim(Under& tree) {
    for (int i = 0; i < 4; ++i) {
      tree.driver().clock().advance_us(100'000);
      tree.driver().settle();
    }
  }
  static std::size_t retired(Under& tree) {
    return tree.driver().worker(0).retired_objects() + tree.driver().worker(1).retired_objects();
  }
  static std::uint64_t unlinked(Under& tree) { return tree.tree().unlinks().leaves.load(); }

  /// The entries that a scan must return that goes on from `seen`.
  static typename Under::Pairs rest(const Model& model, const Range<Env>& range) {
    typename Under::Pairs pairs = range.entries;
    const bool any = !pairs.empty();
    const OwnedKey from = any ? pairs.back().first : range.key;
    auto ahead = Under::expected_range(model, from, range.backward, 100'000);
    const bool again = any && !range.backward && !ahead.empty() && ahead.front().first == from;
    pairs.insert(pairs.end(), ahead.begin() + (again ? 1 : 0), ahead.end());
    return pairs;
  }

  /// For each primitive and direction, `run(tree, model, range, leaves)` with a scan that stands still after
  /// so many leaves: each with a part of all numbers, together with all where few are left out.
  template <class Run>
  void at_every_leaf(const Run& run) {
    std::size_t begin = 0;
    for (const runtime::primitive how : kTreePrimitives) {
      for (const bool backward : {false, true}) {
        std::size_t leaves = 1 + begin++ % kStride;
        for (bool more = true; more && !this->HasFailure(); leaves += kStride) {
          SCOPED_TRACE(std::string{runtime::primitive_name(how)} + (backward ? " backward" : " forward") +
                       " after leaf " + std::to_string(leaves));
          Under tree{driver_options(2), {how, how}};
          Model model;
          fill(tree, model);
          Range<Env> range;
          range.halts = true;
          start(tree, range, backward);
          for (std::size_t leaf = 0; more && leaf < leaves; ++leaf) {
            more = go_on(tree, range);
          }
          if (more) {
            run(tree, model, range, leaves);
          }
          tree.expect_holds(model);
        }
        EXPECT_GT(leaves, 2 * kLeavesPerPin) << "few leaves";
      }
    }
  }

  /// Removes the keys whose numbers `which` chooses, and tries to have the leaves reclaimed.
  template <class Which>
  static void remove(Under& tree, Model& model, const Which& which) {
    for (std::uint64_t n = 0; n < kKeys; ++n) {
      if (n % kStays != 0 && which(n)) {
        EXPECT_TRUE(tree.apply(key(n), verb::remove).found);
        model.erase(key(n));
      }
    }
    reclaim(tree);
  }

  /// Lets the scan go on to its end. Unlinked leaves go when the scan takes a new pin, not before.
  static void finish(Under& tree, Range<Env>& range, std::size_t leaves) {
    const bool held = retired(tree) > 0;
    EXPECT_TRUE(held || unlinked(tree) == 0) << "the pin of the scan holds what was unlinked since";
    bool renewed = false;
    while (go_on(tree, range)) {
      reclaim(tree);
      renewed = renewed || ++leaves % kLeavesPerPin == 0;
      EXPECT_EQ(retired(tree) > 0, held && !renewed) << "after leaf " << leaves;
    }
    EXPECT_TRUE(range.exhausted);
    reclaim(tree);
    EXPECT_EQ(retired(tree), 0U);
  }
};

using ScanEnvs = ::testing::Types<IntegerEnv<NodeShape<2, 2, 2, false>>, ByteEnv<NodeShape<2, 2, 2, true>>>;
TYPED_TEST_SUITE(UnlinkedScan, ScanEnvs);

TYPED_TEST(UnlinkedScan, GoesOnWhenAllLeavesAheadAreUnlinked) {
  this->at_every_leaf([this](auto& tree, auto& model, auto& range, std::size_t leaves) {
    this->remove(tree, model, [&](std::uint64_t n) {
      const auto key = this->key(n);
      return range.backward ? key < range.entries.back().first : range.entries.back().first < key;
    });
    const auto expected = this->rest(model, range);
    this->finish(tree, range, leaves);
    EXPECT_EQ(range.entries, expected);
  });
}

TYPED_TEST(UnlinkedScan, GoesOnWhenAllLeavesBehindAreUnlinked) {
  this->at_every_leaf([this](auto& tree, auto& model, auto& range, std::size_t leaves) {
    const auto expected = this->rest(model, range);
    this->remove(tree, model, [&](std::uint64_t n) {
      const auto key = this->key(n);
      return range.backward ? range.entries.back().first < key : key < range.entries.back().first;
    });
    this->finish(tree, range, leaves);
    EXPECT_EQ(range.entries, expected);
  });
}

// Keys are inserted into ranges whose leaves are gone: into their neighbours and into new leaves.
TYPED_TEST(UnlinkedScan, SeesWhatStaysAndNothingTwiceWhenOtherKeysComeInstead) {
  this->at_every_leaf([this](auto& tree, auto& model, auto& range, std::size_t leaves) {
    this->remove(tree, model, [](std::uint64_t) { return true; });
    const auto stays = this->rest(model, range);
    for (std::uint64_t n = 0; n < TestFixture::kKeys; ++n) {
      const auto other = spaced_key(typename TestFixture::OwnedKey{}, n, 1 + n % 3);
      tree.apply(other, verb::upsert, 1000 + n);
      model.emplace(other, 1000 + n);
    }
    const auto all = this->rest(model, range);
    while (this->go_on(tree, range)) {
      this->reclaim(tree);
    }
    EXPECT_TRUE(range.exhausted);
    const auto order = [&range](const auto& left, const auto& right) {
      return range.backward ? right.first < left.first : left.first < right.first;
    };
    EXPECT_TRUE(std::adjacent_find(range.entries.begin(), range.entries.end(),
                                   [&](const auto& left, const auto& right) {
                                     return !order(left, right);
                                   }) == range.entries.end())
        << "out of order";
    EXPECT_TRUE(std::includes(all.begin(), all.end(), range.entries.begin(), range.entries.end(), order));
    EXPECT_TRUE(std::includes(range.entries.begin(), range.entries.end(), stays.begin(), stays.end(), order));
    static_cast<void>(leaves);
  });
}

// In the middle of a leaf the scan has copied its entries; the records may be retired already.
TYPED_TEST(UnlinkedScan, ReturnsTheWholeLeafThatIsUnlinkedUnderIt) {
  for (const runtime::primitive how : kTreePrimitives) {
    const bool bound = how == runtime::primitive::optimistic_scheduling ||
                       how == runtime::primitive::serialized_by_scheduling;
    for (const bool backward : {false, true}) {
      for (std::size_t n = 0; n < TestFixture::kKeys; n += 7 * TestFixture::kStride) {
        SCOPED_TRACE(std::string{runtime::primitive_name(how)} + (backward ? " backward" : " forward") +
                     " at entry " + std::to_string(n));
        runtime::RuntimeOptions options = driver_options(2);
        options.batch_tasks = 1;
        typename TestFixture::Under tree{options, {how, how}};
        typename TestFixture::Model before;
        this->fill(tree, before);
        std::vector<Operation<TypeParam>> removals;
        typename TestFixture::Model model = before;
        for (std::uint64_t i = 0; i < TestFixture::kKeys; ++i) {
          if (i % TestFixture::kStays != 0) {
            removals.emplace_back();
            removals.back().key = this->key(i);
            removals.back().how = verb::remove;
            model.erase(this->key(i));
          }
        }
        const auto removed = [&removals] {
          return std::all_of(removals.begin(), removals.end(),
                             [](const auto& removal) { return removal.done; });
        };
        Range<TypeParam> range;
        constexpr std::uint64_t kMany = TestFixture::kKeys / 8;
        std::size_t visits = 0;
        const std::function<void()> meanwhile = [&] {
          if (visits++ != n) {
            return;
          }
          // The scan may have been stolen.
          const std::size_t other = runtime::Worker::current() == &tree.driver().worker(0) ? 1 : 0;
          tree.driver().on_worker(other, [&](runtime::Worker& worker) {
            for (auto& removal : removals) {
              start_operation(tree.context(), removal, worker);
            }
          });
          // All unlinks, except those that need the scan's own pool; and as much time as reclamation may
          // want.
          for (int steps = 0; steps < (bound ? 500 : 20'000) && this->unlinked(tree) < kMany; ++steps) {
            tree.driver().clock().advance_us(1'000);
            tree.driver().worker(other).step();
          }
          for (int steps = 0; steps < 50; ++steps) {
            tree.driver().clock().advance_us(100'000);
            tree.driver().worker(other).step();
          }
          EXPECT_TRUE(bound || (removed() && this->unlinked(tree) >= kMany)) << this->unlinked(tree);
        };
        this->start(tree, range, backward, &meanwhile);
        tree.driver().settle();
        EXPECT_TRUE(range.done && removed());
        // First the entries that it had seen, then the rest of that leaf, and then the keys that stay.
        std::size_t at = 0;
        const auto first = this->first_key(backward);
        const auto then = tree.expected_range(before, first, backward, TestFixture::kKeys);
        while (at < range.entries.size() && range.entries[at] == then[at]) {
          ++at;
        }
        EXPECT_GT(at, n);
        auto expected = then;
        expected.resize(at);
        for (const auto& entry : tree.expected_range(model, first, backward, TestFixture::kKeys)) {
          if (backward ? entry.first < then[at - 1].first : then[at - 1].first < entry.first) {
            expected.push_back(entry);
          }
        }
        EXPECT_TRUE(bound || range.entries == expected);
        EXPECT_TRUE(std::is_sorted(range.entries.begin(), range.entries.end()) != backward || n == 0);
        tree.expect_holds(model);
      }
    }
  }
}

}  // namespace
}  // namespace mxkv::index::testing

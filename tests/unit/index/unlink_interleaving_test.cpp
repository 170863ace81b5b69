// An unlink with another operation beside it, at each of its points. A delete empties a leaf. At the n-th
// place where the tasks that follow look at a fence (in a read, before or under a latch), another worker does
// something else, to its end if it can. There is a run for each n, and one between any two steps; under
// primitives that the daemon's tree does not use, for every seventh n.
#include <algorithm>

#include "tests/unit/index/byte_keys.hpp"
#include "tests/unit/index/interrupted.hpp"
#include "tests/unit/index/tree_fixture.hpp"

namespace mxkv::index::testing {
namespace {

std::uint64_t some_key(std::uint64_t /*kind*/, std::uint64_t n) {
  return 100 + 10 * n;
}
std::string some_key(const std::string& /*kind*/, std::uint64_t n) {
  return (n < 12 ? "common-part-of-some-" : "commoner-than-that-") + std::to_string(1000 + n);
}

template <class Env>
class UnlinkInterleaving : public ::testing::Test {
 protected:
  using OwnedKey = typename Env::OwnedKey;
  using Under = TreeUnderTest<Env>;
  using Model = typename Under::Model;
  using NodeT = Node<typename Env::Traits::Shape>;
  static constexpr std::uint64_t kKeys = 24;
#ifdef MXKV_VECTOR_COMPARE
  static constexpr std::size_t kStride = 1;
#else
  static constexpr std::size_t kStride = 29;  // with a sanitizer, whose runs take long
#endif

  static OwnedKey key(std::uint64_t n) { return some_key(OwnedKey{}, n); }

  /// An operation beside the unlink: starts on a worker; done() when it has ended.
  struct Other {
    std::vector<Operation<Env>> operations;
    std::vector<Range<Env>> ranges;
    [[nodiscard]] bool done() const {
      return std::all_of(operations.begin(), operations.end(), [](const auto& op) { return op.done; }) &&
             std::all_of(ranges.begin(), ranges.end(), [](const auto& range) { return range.done; });
    }
    Operation<Env>& add(verb how, const OwnedKey& of, std::uint64_t operand = 0) {
      operations.emplace_back();
      operations.back().how = how;
      operations.back().key = of;
      operations.back().operand = operand;
      return operations.back();
    }
    void scan(const OwnedKey& from, bool backward) {
      ranges.emplace_back();
      ranges.back().key = from;
      ranges.back().backward = backward;
      ranges.back().limit = 1000;
    }
  };

  static void start(Under& tree, Other& other, runtime::Worker& worker) {
    for (auto& operation : other.operations) {
      start_operation(tree.context(), operation, worker);
    }
    for (auto& range : other.ranges) {
      worker.create<RangeTask<Env>>(tree.tree(), range)->start(worker);
    }
  }

  /// Removes the keys [first, last) one after the other; at point `n`, `other` runs on the second worker.
  /// Returns whether there was such a point.
  static bool remove_with(Under& tree, std::uint64_t first, std::uint64_t last, Other& other, std::size_t n) {
    runtime::Worker& beside = tree.driver().worker(1);
    std::size_t points = 0;
    bool started = false;
    const auto interrupt = [&] {
      if (points++ != n) {
        return;
      }
      started = true;
      tree.driver().on_worker(1, [&](runtime::Worker& worker) { start(tree, other, worker); });
      for (int steps = 0; steps < 20 && !other.done(); ++steps) {
        beside.step();  // tasks that wait for the unlink go on later
      }
    };
    for (std::uint64_t i = first; i < last; ++i) {
      Operation<Env> removal;
      removal.key = key(i);
      removal.how = verb::remove;
      interruption() = interrupt;
      tree.driver().on_worker(
          0, [&](runtime::Worker& worker) { start_operation(tree.context(), removal, worker); });
      for (int steps = 0; steps < 40; ++steps) {  // alone; then both, since it may wait for the other
        tree.driver().worker(0).step();
        if (steps < 25) {
          interrupt();  // between two steps, too
        }
      }
      interruption() = nullptr;
      tree.driver().settle();
      EXPECT_TRUE(removal.done);
    }
    EXPECT_TRUE(!started || other.done());
    return started;
  }

  static runtime::RuntimeOptions options() {
    runtime::RuntimeOptions options = driver_options(2);
    options.batch_tasks = 1;
    return options;
  }

  /// Runs the operation that `make` fills in at every point; `check` looks at its results and updates the
  /// model.
  template <class Make, class Check>
  void at_every_point(const Make& make, const Check& check) {
    for (const runtime::primitive how : kTreePrimitives) {
      SCOPED_TRACE(runtime::primitive_name(how));
      const std::size_t stride = how == runtime::primitive::optimistic_latch ? kStride : 7 * kStride;
      std::size_t n = 0;
      for (bool more = true; more && !this->HasFailure(); n += stride) {
        SCOPED_TRACE(n);
        Under tree{options(), {how, how}};
        Model model;
        for (std::uint64_t i = 0; i < kKeys; ++i) {
          tree.apply(key(i), verb::upsert, i);
          model.emplace(key(i), i);
        }
        Other other;
        make(other);
        more = remove_with(tree, 4, 20, other, n);
        for (std::uint64_t i = 4; i < 20; ++i) {
          model.erase(key(i));
        }
        if (more) {
          check(other, model);
        }
        tree.expect_holds(model);
      }
      EXPECT_GT(n, 100U) << "few points";
    }
  }
};

using InterleavingEnvs = ::testing::Types<Interrupted<IntegerEnv<NodeShape<2, 2, 2, false>>>,
                                          Interrupted<ByteEnv<NodeShape<2, 2, 2, true>>>>;
TYPED_TEST_SUITE(UnlinkInterleaving, InterleavingEnvs);

// Keys between the removed ones, so that they belong to a leaf that is on its way out.
TYPED_TEST(UnlinkInterleaving, WhatIsInsertedMeanwhileStays) {
  const auto between = [](std::uint64_t n) {
    auto key = TestFixture::key(n);
    if constexpr (std::is_same_v<decltype(key), std::string>) {
      return key + "x";
    } else {
      return key + 5;
    }
  };
  this->at_every_point(
      [&](auto& other) {
        for (std::uint64_t n = 3; n < 20; n += 2) {
          other.add(verb::upsert, between(n), 1000 + n);
        }
      },
      [&](auto& other, auto& model) {
        for (const auto& operation : other.operations) {
          EXPECT_FALSE(operation.found);
          model[operation.key] = operation.operand;
        }
      });
}

TYPED_TEST(UnlinkInterleaving, ScansBothWaysSeeWhatStaysInOrder) {
  this->at_every_point(
      [&](auto& other) {
        other.scan(TestFixture::key(0), false);
        other.scan(TestFixture::key(9), false);
        other.scan(TestFixture::key(30), true);
        other.scan(TestFixture::key(15), true);
      },
      [&](auto& other, auto& model) {
        for (const auto& range : other.ranges) {
          const auto& seen = range.entries;
          EXPECT_TRUE(range.exhausted);
          for (std::size_t i = 1; i < seen.size(); ++i) {
            EXPECT_EQ(range.backward, seen[i].first < seen[i - 1].first);
          }
          for (const auto& entry : model) {
            const bool passed = range.backward ? entry.first < range.key : !(entry.first < range.key);
            const auto same = [&entry](const auto& other_entry) {
              return other_entry.first == entry.first && other_entry.second == entry.second;
            };
            EXPECT_EQ(std::count_if(seen.begin(), seen.end(), same), passed ? 1 : 0);
          }
        }
      });
}

TYPED_TEST(UnlinkInterleaving, LookUpsAndUpdatesWithoutEffectAnswer) {
  this->at_every_point(
      [&](auto& other) {
        for (std::uint64_t n = 0; n < TestFixture::kKeys; ++n) {
          other.add(verb::find, TestFixture::key(n));
          other.add(verb::touch, TestFixture::key(n));
        }
      },
      [&](auto& other, auto& model) {
        for (const auto& operation : other.operations) {
          EXPECT_TRUE(operation.found || !model.contains(operation.key));
        }
      });
}

// Neighbours go at the same time: the left one, the right one, and those that share a parent.
TYPED_TEST(UnlinkInterleaving, NeighboursMayGoAtTheSameTime) {
  this->at_every_point(
      [&](auto& other) {
        for (std::uint64_t n = 20; n > 2; --n) {
          other.add(verb::remove, TestFixture::key(n));
        }
      },
      [&](auto& /*other*/, auto& model) {
        for (std::uint64_t n = 20; n > 2; --n) {
          model.erase(TestFixture::key(n));
        }
      });
}

TYPED_TEST(UnlinkInterleaving, TheTreeMayBeClearedInTheMiddle) {
  this->at_every_point([](auto& other) { other.add(verb::clear, {}); },
                       [](auto& /*other*/, auto& model) { model.clear(); });
}

}  // namespace
}  // namespace mxkv::index::testing

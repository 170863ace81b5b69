// The tree over 64-bit keys against std::map, on nodes so small that few keys split all levels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "index/checker.hpp"
#include "tests/unit/index/integer_tasks.hpp"

namespace mxkv::index::testing {
namespace {

using TinyTraits = IntegerTraits<NodeShape<2, 2, 2, false>>;
using SmallTraits = IntegerTraits<NodeShape<3, 3, 3, false>>;
using FullTraits = IntegerTraits<>;

template <class Traits>
class IntegerTreeTest : public ::testing::Test {
 protected:
  using Model = std::map<std::uint64_t, std::uint64_t>;

  Outcome find(std::uint64_t key) {
    Outcome out;
    driver_.on_worker(
        0, [&](runtime::Worker& worker) { worker.create<FindTask<Traits>>(tree_, key, out)->start(worker); });
    driver_.run_until([&] { return out.done; });
    EXPECT_TRUE(out.done);
    return out;
  }
  Outcome apply(std::uint64_t key, change how, std::uint64_t operand = 0, std::uint64_t expected = 0) {
    Outcome out;
    driver_.on_worker(0, [&](runtime::Worker& worker) {
      worker.create<ChangeTask<Traits>>(tree_, key, how, operand, expected, out)->start(worker);
    });
    driver_.run_until([&] { return out.done; });
    EXPECT_TRUE(out.done);
    return out;
  }
  RangeOutcome range(std::uint64_t key, bool backward, std::size_t limit) {
    RangeOutcome out;
    driver_.on_worker(0, [&](runtime::Worker& worker) {
      worker.create<RangeTask<Traits>>(tree_, key, backward, limit, out)->start(worker);
    });
    driver_.run_until([&] { return out.done; });
    EXPECT_TRUE(out.done);
    return out;
  }
  void expect_sound(const Model& model) {
    driver_.settle();
    const CheckReport report = Checker<Traits>::check(tree_);
    EXPECT_THAT(report.errors, ::testing::IsEmpty());
    EXPECT_EQ(report.entries, model.size());
  }

  Driver driver_;
  Tree<Traits> tree_{driver_.runtime(), TreeOptions{}};
};

using AllTraits = ::testing::Types<TinyTraits, SmallTraits, FullTraits>;
TYPED_TEST_SUITE(IntegerTreeTest, AllTraits);

TYPED_TEST(IntegerTreeTest, BehavesLikeAMapUnderRandomOperations) {
  std::map<std::uint64_t, std::uint64_t> model;
  runtime::Random random{7};
  for (int i = 0; i < 6000; ++i) {
    const std::uint64_t key = random.below(10) == 0 ? ~std::uint64_t{0} - random.below(3) : random.below(700);
    const auto at = model.find(key);
    const bool present = at != model.end();
    const std::uint64_t operand = random();
    switch (random.below(6)) {
      case 0:
      case 1: {
        const Outcome out = this->apply(key, change::upsert, operand);
        EXPECT_EQ(out.found, present);
        model[key] = operand;
        break;
      }
      case 2: {
        const Outcome out = this->apply(key, change::remove);
        EXPECT_EQ(out.found, present);
        model.erase(key);
        break;
      }
      case 3: {
        const std::uint64_t expected = present && random.below(2) == 0 ? at->second : operand;
        this->apply(key, change::compare_swap, operand, expected);
        if (present && at->second == expected) {
          model[key] = operand;
        }
        break;
      }
      case 4:
        this->apply(key, change::add, 5);
        model[key] += 5;
        break;
      default: {
        const Outcome out = this->find(key);
        ASSERT_EQ(out.found, present);
        if (present) {
          EXPECT_EQ(out.value, at->second);
        }
      }
    }
  }
  this->expect_sound(model);
}

TYPED_TEST(IntegerTreeTest, ScansBothWaysReturnWhatAMapHolds) {
  std::map<std::uint64_t, std::uint64_t> model;
  runtime::Random random{11};
  for (int i = 0; i < 900; ++i) {
    const std::uint64_t key = random.below(2000);
    this->apply(key, change::upsert, key * 3);
    model[key] = key * 3;
  }
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t key = random.below(2100);
    const std::size_t limit = random.below(300);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ahead;
    for (auto at = model.lower_bound(key); at != model.end() && ahead.size() < limit; ++at) {
      ahead.emplace_back(*at);
    }
    EXPECT_EQ(this->range(key, false, limit).entries, ahead);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> behind;
    for (auto at = model.lower_bound(key); at != model.begin() && behind.size() < limit;) {
      behind.emplace_back(*--at);
    }
    EXPECT_EQ(this->range(key, true, limit).entries, behind);
  }
}

TYPED_TEST(IntegerTreeTest, SortedLoadsBothWaysKeepTheInvariants) {
  std::map<std::uint64_t, std::uint64_t> model;
  for (std::uint64_t i = 0; i < 1500; ++i) {
    for (const std::uint64_t key : {1'000'000 + i, 1'000'000 - i}) {
      this->apply(key, change::upsert, i);
      model[key] = i;
    }
  }
  this->expect_sound(model);
  for (const auto& [key, value] : model) {
    ASSERT_EQ(this->find(key).value, value);
  }
}

}  // namespace
}  // namespace mxkv::index::testing

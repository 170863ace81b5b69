// Keys that come in order, many of them under way at once: nothing more comes to the leaves that they leave
// behind, so these are full.
#include <algorithm>
#include <deque>
#include <string>

#include "tests/unit/index/taken_path.hpp"
#include "tests/unit/index/tree_walk.hpp"

namespace mxkv::index::testing {
namespace {

/// Key `number` of range `range`.
std::uint64_t key_in(std::uint64_t range, std::uint64_t number, std::uint64_t /*as*/) {
  return range << 40U | number;
}
std::string key_in(std::uint64_t range, std::uint64_t number, const std::string& /*as*/) {
  const std::string digits = std::to_string(number);
  return "log:" + std::to_string(100 + range) + ':' + std::string(12 - digits.size(), '0') + digits;
}

template <class Env>
class OrderTest : public ::testing::Test {
 protected:
  using Key = typename Env::OwnedKey;
  using Walk = TreeWalk<Env>;
  static constexpr unsigned kCapacity = Env::Traits::Shape::capacity(true);
  static constexpr std::uint64_t kKeys = kCapacity > 9 ? (kSlowRuns ? 3000 : 9000) : 500;
  static constexpr std::size_t kInFlight = kCapacity > 9 ? 64 : 8;

  /// Has operations done in turn, up to `in_flight` at once.
  void run(verb how, const std::vector<Key>& keys, std::size_t in_flight) {
    std::deque<Operation<Env>> operations;
    std::size_t ended = 0;
    tree_.context().ended = [](void* count, Operation<Env>&) { ++*static_cast<std::size_t*>(count); };
    tree_.context().listener = &ended;
    while (ended < keys.size()) {
      const std::size_t before = ended;
      while (operations.size() < keys.size() && operations.size() - ended < in_flight) {
        auto& operation = operations.emplace_back();
        operation.key = keys[operations.size() - 1];
        operation.how = how;
        operation.operand = ++number_;
        how == verb::remove ? model_.erase(operation.key) : model_[operation.key] = operation.operand;
        const std::size_t at = tree_.driver().random().below(tree_.driver().runtime().worker_count());
        tree_.driver().on_worker(
            at, [&](runtime::Worker& worker) { start_operation(tree_.context(), operation, worker); });
      }
      tree_.driver().run_until([&] { return ended > before; });
      ASSERT_GT(ended, before);
    }
    tree_.context().ended = nullptr;
  }
  void insert(const std::vector<Key>& keys, std::size_t in_flight) { run(verb::upsert, keys, in_flight); }

  static std::vector<Key> ascending(std::uint64_t range, std::uint64_t first, std::uint64_t count) {
    std::vector<Key> keys;
    for (std::uint64_t n = first; n < first + count; ++n) {
      keys.push_back(key_in(range, n, Key{}));
    }
    return keys;
  }
  double entries_a_leaf() {
    tree_.driver().settle();
    return static_cast<double>(model_.size()) / static_cast<double>(Walk::level(tree_.tree(), 0).size());
  }
  void expect_fill(double part) {
    tree_.expect_holds(model_);
    if (kCapacity > 9) {
      EXPECT_GT(entries_a_leaf(), part * kCapacity);
    }
  }

  TreeUnderTest<Env> tree_;
  typename TreeUnderTest<Env>::Model model_;
  std::uint64_t number_ = 0;
};

using OrderEnvs = ::testing::Types<TinyIntegers, SmallIntegers, Integers, TinyBytes, SmallBytes, Bytes>;
TYPED_TEST_SUITE(OrderTest, OrderEnvs);

TYPED_TEST(OrderTest, AscendingKeysLeaveFullLeaves) {
  this->insert(this->ascending(1, 0, this->kKeys), 1);
  this->expect_fill(0.95);
}

TYPED_TEST(OrderTest, AscendingKeysUnderWayAtOnceLeaveFullLeaves) {
  const Taken anew{runtime::path::fast_anew};
  const Taken right{runtime::path::fast_right};
  const Taken block{runtime::path::fast_new_block};
  const Taken split{runtime::path::split_in_order};
  this->insert(this->ascending(1, 0, this->kKeys), this->kInFlight);
  this->expect_fill(0.85);
  EXPECT_GT(split.times(), 0U);
  if (this->kCapacity > 9) {  // so deep that leaves are reached hop by hop
    EXPECT_GT(anew.times(), 0U);
    EXPECT_GT(right.times(), 0U);
    EXPECT_GT(block.times(), 0U);
  }
}

TYPED_TEST(OrderTest, DescendingKeysLeaveFullLeaves) {
  auto keys = this->ascending(1, 0, this->kKeys);
  std::reverse(keys.begin(), keys.end());
  this->insert(keys, this->kInFlight);
  this->expect_fill(0.7);
}

TYPED_TEST(OrderTest, AscendingRangesSideBySideLeaveFullLeaves) {
  constexpr std::uint64_t kRanges = 7;
  std::vector<typename TestFixture::Key> keys;
  for (std::uint64_t n = 0; n < this->kKeys; ++n) {
    keys.push_back(key_in(n * 3 % kRanges, n / kRanges, typename TestFixture::Key{}));
  }
  this->insert(keys, this->kInFlight);
  this->expect_fill(0.85);
}

TYPED_TEST(OrderTest, AQueueKeepsFullLeavesAndNoOthers) {
  const std::uint64_t held = this->kKeys / 8;
  this->insert(this->ascending(1, 0, held), this->kInFlight);
  for (std::uint64_t n = held; n < this->kKeys; n += held / 4) {
    this->insert(this->ascending(1, n, held / 4), this->kInFlight);
    this->run(verb::remove, this->ascending(1, n - held, held / 4), this->kInFlight);
  }
  this->expect_fill(0.7);
}

/// Keys in random order behind a range that has come in order.
TYPED_TEST(OrderTest, LateKeysFindTheirPlaceInFullLeaves) {
  auto keys = this->ascending(1, 0, this->kKeys);
  std::vector<typename TestFixture::Key> late;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i % 5 == 2) {
      late.push_back(keys[i]);
    }
  }
  std::erase_if(keys, [&](const auto& key) { return std::binary_search(late.begin(), late.end(), key); });
  this->insert(keys, this->kInFlight);
  for (std::size_t i = 0; i < late.size(); ++i) {
    std::swap(late[i], late[this->tree_.driver().random().below(late.size())]);
  }
  this->insert(late, this->kInFlight);
  this->expect_fill(0.6);
}

}  // namespace
}  // namespace mxkv::index::testing

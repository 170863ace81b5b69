// The tree over byte keys against std::map, on tiny and full nodes, with keys that are hard to tell apart.
#include "index/row_put.hpp"
#include "index/row_walk.hpp"
#include "tests/unit/index/byte_keys.hpp"
#include "tests/unit/index/tree_fixture.hpp"

namespace mxkv::index::testing {
namespace {

using TinyByteEnv = ByteEnv<NodeShape<2, 2, 2, true>>;
using SmallByteEnv = ByteEnv<NodeShape<3, 3, 3, true>>;
using FullByteEnv = ByteEnv<>;

template <class Env>
class ByteTreeTest : public ::testing::Test {};

using AllByteEnvs = ::testing::Types<TinyByteEnv, SmallByteEnv, FullByteEnv>;
TYPED_TEST_SUITE(ByteTreeTest, AllByteEnvs);

TYPED_TEST(ByteTreeTest, BehavesLikeAMapOnHardKeys) {
  for (const key_set set : kAllKeySets) {
    SCOPED_TRACE(static_cast<int>(set));
    TreeUnderTest<TypeParam> tree;
    const auto model = compare_with_map(tree, make_keys(set, 500, 5), kSlowRuns ? 1000 : 2500, 7);
    tree.expect_holds(model);
    if (this->HasFailure()) {
      return;
    }
  }
}

/// Looks up a row of random keys, half of them of the tree. Returns for how many the row told an answer.
template <class Env>
std::size_t look_up_row(TreeUnderTest<Env>& tree, const typename TreeUnderTest<Env>::Model& model,
                        const std::vector<std::string>& keys, key_set set, runtime::Random& random) {
  RowWalk<typename Env::Traits> row;
  std::vector<std::string> wanted(1 + random.below(row.kMost));
  for (std::string& key : wanted) {
    key = random.below(2) == 0 ? keys[random.below(keys.size())] : random_key(set, random);
  }
  std::size_t told = 0;
  tree.driver().on_worker(0, [&](runtime::Worker& /*worker*/) {
    told = row.look_up(tree.tree(), wanted.size(), [&](std::size_t i) { return KeyView{wanted[i]}; });
    for (std::size_t i = 0; i < told; ++i) {
      const auto at = model.find(wanted[i]);
      ASSERT_EQ(row.found(i) != 0, at != model.end()) << wanted[i];
      if (at != model.end()) {
        ASSERT_EQ(Env::number(row.found(i)), at->second) << wanted[i];
      }
    }
  });
  return told;
}

TYPED_TEST(ByteTreeTest, RowsTellWhatAMapHoldsOrLeaveAKeyToATask) {
  for (const key_set set : kAllKeySets) {
    SCOPED_TRACE(static_cast<int>(set));
    TreeUnderTest<TypeParam> tree;
    const auto keys = make_keys(set, 600, 5);
    const auto model = compare_with_map(tree, keys, kSlowRuns ? 1000 : 2500, 7);
    runtime::Random random{17};
    std::size_t told = 0;
    for (int i = 0; i < 300; ++i) {
      told += look_up_row(tree, model, keys, set, random);
    }
    if (set == key_set::decimal) {
      EXPECT_GT(told, 1000U) << "rows of usual keys are told";
    }
    tree.expect_holds(model);
    if (this->HasFailure()) {
      return;
    }
  }
}

/// The part of a put under the latch; keys that begin with `closed` may not change.
struct RowWriter {
  std::string closed;
  [[nodiscard]] bool admitted(KeyView key) const { return closed.empty() || !key.starts_with(closed); }
  template <class NodeT>
  [[nodiscard]] Change commit(NodeT& /*leaf*/, std::uint64_t /*old*/, std::uint64_t /*value*/) const {
    return Change::put(1);
  }
};

/// Puts a row of keys of the set, some of them twice. Returns how many were put.
template <class Env>
std::size_t put_row(TreeUnderTest<Env>& tree, typename TreeUnderTest<Env>::Model& model,
                    const std::vector<std::string>& wanted, RowWriter writer) {
  using Row = RowPut<typename Env::Traits>;
  std::size_t put = 0;
  tree.driver().on_worker(0, [&](runtime::Worker& worker) {
    Row row;
    const std::size_t told =
        row.look_up(tree.tree(), wanted.size(), [&](std::size_t i) { return KeyView{wanted[i]}; });
    for (; put < told; ++put) {
      const std::uint64_t number = 1'000'000 + model.size() * 100 + put;
      const std::uint64_t word = tree.env().make(worker, wanted[put], number).value();
      if (!row.put(tree.tree(), put, wanted[put], word, writer, worker)) {
        tree.env().dispose(worker, word);
        break;
      }
      const auto at = model.find(wanted[put]);
      ASSERT_EQ(row.found(put) != 0, at != model.end()) << wanted[put];
      if (at != model.end()) {
        ASSERT_EQ(Env::number(row.found(put)), at->second) << wanted[put];
        tree.env().retire(worker, row.found(put));
      }
      model[wanted[put]] = number;
    }
  });
  return put;
}

TYPED_TEST(ByteTreeTest, RowsPutWhatAMapTakesOrLeaveAKeyToATask) {
  for (const key_set set : kAllKeySets) {
    SCOPED_TRACE(static_cast<int>(set));
    TreeUnderTest<TypeParam> tree;
    const auto keys = make_keys(set, 600, 5);
    auto model = compare_with_map(tree, keys, kSlowRuns ? 1000 : 2500, 7);
    runtime::Random random{19};
    std::size_t put = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
      std::vector<std::string> wanted(1 + random.below(RowPut<typename TypeParam::Traits>::kMost));
      for (std::string& key : wanted) {
        key = random.below(4) != 0 ? keys[random.below(keys.size())] : random_key(set, random);
      }
      wanted.back() = wanted.front();
      const std::size_t done = put_row(tree, model, wanted, {});
      put += done;
      if (done < wanted.size()) {
        tree.apply(wanted[done], verb::upsert, i);
        model[wanted[done]] = i;
      }
    }
    if (set == key_set::decimal) {
      EXPECT_GT(put, 300U) << "rows of usual keys are put";
    }
    tree.expect_holds(model);
    if (this->HasFailure()) {
      return;
    }
  }
}

TYPED_TEST(ByteTreeTest, ARowEndsBeforeAKeyThatMayNotChange) {
  TreeUnderTest<TypeParam> tree;
  typename TreeUnderTest<TypeParam>::Model model;
  std::vector<std::string> wanted;
  for (std::size_t i = 0; i < 400; ++i) {
    const std::string key = "user" + std::to_string(1'000'000 + i * 7919 % 1'000'000);
    tree.apply(key, verb::upsert, i);
    model[key] = i;
    if (i % 80 == 0) {
      wanted.push_back(key);
    }
  }
  tree.driver().settle();
  EXPECT_EQ(put_row(tree, model, wanted, {.closed = wanted[3]}), 3U);
  EXPECT_EQ(put_row(tree, model, wanted, {}), wanted.size());
  tree.expect_holds(model);
}

TYPED_TEST(ByteTreeTest, RowsLeaveKeysOfALatchedLeafToTasks) {
  TreeUnderTest<TypeParam> tree;
  typename TreeUnderTest<TypeParam>::Model model;
  for (std::size_t i = 0; i < 400; ++i) {
    const std::string key = "user" + std::to_string(1'000'000 + i * 7919 % 1'000'000);
    tree.apply(key, verb::upsert, i);
    model[key] = i;
  }
  tree.driver().settle();
  tree.driver().on_worker(0, [&](runtime::Worker& /*worker*/) {
    RowWalk<typename TypeParam::Traits> row;
    const std::string& first = model.begin()->first;
    const std::string& last = model.rbegin()->first;
    const auto key_of = [&](std::size_t i) { return KeyView{i == 0 ? last : first}; };
    auto* leaf = static_cast<Node<typename TypeParam::Traits::Shape>*>(tree.tree().root().object());
    while (leaf->meta().level() != 0) {
      leaf = static_cast<decltype(leaf)>(runtime::TaggedPointer{leaf->value(false, {0, 0})}.object());
    }
    ASSERT_EQ(row.look_up(tree.tree(), 3, key_of), 3U);
    {
      const runtime::WriteLatch latch =
          runtime::WriteLatch::upgrade(*leaf, leaf->version().load(std::memory_order_relaxed));
      EXPECT_EQ(row.look_up(tree.tree(), 3, key_of), 1U) << "the first leaf is being written";
    }
    EXPECT_EQ(row.look_up(tree.tree(), 3, key_of), 3U);
  });
  tree.expect_holds(model);
}

TYPED_TEST(ByteTreeTest, SortedLoadsBothWaysKeepTheInvariants) {
  for (const key_set set : kAllKeySets) {
    SCOPED_TRACE(static_cast<int>(set));
    for (const bool descending : {false, true}) {
      TreeUnderTest<TypeParam> tree;
      auto keys = make_keys(set, 400, 3);
      if (descending) {
        std::reverse(keys.begin(), keys.end());
      }
      typename TreeUnderTest<TypeParam>::Model model;
      for (const auto& key : keys) {
        tree.apply(key, verb::upsert, model.size());
        model.emplace(key, model.size());
      }
      tree.expect_holds(model);
    }
  }
}

TYPED_TEST(ByteTreeTest, ScansBothWaysReturnWhatAMapHolds) {
  for (const key_set set : kAllKeySets) {
    SCOPED_TRACE(static_cast<int>(set));
    TreeUnderTest<TypeParam> tree;
    const auto keys = make_keys(set, 400, 9);
    const auto model = compare_with_map(tree, keys, 1500, 11);
    runtime::Random random{13};
    for (int i = 0; i < 40; ++i) {
      const std::string key =
          random.below(2) == 0 ? keys[random.below(keys.size())] : random_key(set, random);
      const std::size_t limit = random.below(200);
      for (const bool backward : {false, true}) {
        const auto out = tree.range(key, backward, limit);
        EXPECT_EQ(out.entries, tree.expected_range(model, key, backward, limit));
        EXPECT_EQ(out.exhausted, tree.expected_range(model, key, backward, limit + 1).size() <= limit);
      }
    }
  }
}

TYPED_TEST(ByteTreeTest, KeysThatAreAbsentButCloseAreNotFound) {
  for (const key_set set : kAllKeySets) {
    SCOPED_TRACE(static_cast<int>(set));
    TreeUnderTest<TypeParam> tree;
    typename TreeUnderTest<TypeParam>::Model model;
    for (const auto& key : make_keys(set, 300, 17)) {
      tree.apply(key, verb::upsert, 1);
      model.emplace(key, 1);
    }
    for (const auto& [key, number] : model) {
      std::string with_nul = key;
      with_nul.push_back('\0');
      std::string changed = key;
      changed.back() = static_cast<char>(changed.back() ^ 1);
      const std::string cut = key.substr(0, key.size() - 1);
      const std::string other = "\x01" + key.substr(0, 20);
      for (const std::string& close : {with_nul, changed, cut, other}) {
        if (!close.empty()) {
          EXPECT_EQ(tree.find(close).found, model.contains(close)) << ::testing::PrintToString(close);
        }
      }
    }
  }
}

TYPED_TEST(ByteTreeTest, RemovingAllKeysLeavesNoEntryAndTheyCanComeBack) {
  TreeUnderTest<TypeParam> tree;
  const auto keys = make_keys(key_set::families, 400, 19);
  typename TreeUnderTest<TypeParam>::Model model;
  for (int round = 0; round < 3; ++round) {
    for (const auto& key : keys) {
      EXPECT_FALSE(tree.apply(key, verb::upsert, 1).found);
    }
    for (const auto& key : keys) {
      EXPECT_TRUE(tree.apply(key, verb::remove).found);
    }
    EXPECT_TRUE(tree.range("\x01", false, 10).entries.empty());
    tree.expect_holds(model);
  }
  for (const auto& key : keys) {
    tree.apply(key, verb::upsert, 2);
    model.emplace(key, 2);
  }
  tree.expect_holds(model);
}

/// How many nodes at the edges of a level may hold entries whose heads tie.
template <class Tree>
unsigned edge_nodes_with_ties(const Tree& tree) {
  using NodeT = typename TreeUnderTest<FullByteEnv>::Traits::Shape;
  using At = const Node<NodeT>*;
  unsigned ties = 0;
  for (At first = static_cast<At>(tree.root().object());;) {
    At last = first;
    while (!last->meta().high_infinite()) {
      last = static_cast<At>(runtime::TaggedPointer{last->right()}.object());
    }
    ties += (first->meta().ties() ? 1U : 0U) + (last->meta().ties() ? 1U : 0U);
    if (first->leaf()) {
      return ties;
    }
    first = static_cast<At>(runtime::TaggedPointer{first->value(false, Position{})}.object());
  }
}

TEST(LoosePrefix, TellsKeysApartThatAllBeginAlike) {
  for (const bool sorted : {false, true}) {
    TreeUnderTest<FullByteEnv> tree;
    runtime::Random random{23};
    TreeUnderTest<FullByteEnv>::Model model;
    for (unsigned i = 0; i < (kSlowRuns ? 1500U : 5000U); ++i) {
      const std::string key =
          "service:0001:" + std::to_string(1'000'000 + (sorted ? i : random.below(900'000)));
      tree.apply(key, verb::upsert, i);
      model[key] = i;
    }
    EXPECT_EQ(edge_nodes_with_ties(tree.tree()), 0U);
    for (const std::string stranger : {"a", "service:0001", "service:0001:", "service:0002:5", "z", "\xFF"}) {
      EXPECT_FALSE(tree.find(stranger).found);
      tree.apply(stranger, verb::upsert, 7);
      model[stranger] = 7;
      tree.expect_holds(model);
    }
  }
}

}  // namespace
}  // namespace mxkv::index::testing

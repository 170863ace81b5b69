// A bulk-loaded tree is one that inserts could have made: the invariants hold, all keys are found, scans see
// them, and the tree goes on like any other.
#include "index/bulk_load.hpp"

#include <algorithm>
#include <set>

#include "tests/unit/index/byte_keys.hpp"
#include "tests/unit/index/taken_blocks.hpp"
#include "tests/unit/index/tree_fixture.hpp"

namespace mxkv::index::testing {
namespace {

constexpr std::size_t kWorkers = 3;

template <class Env>
class BulkLoad : public ::testing::Test {
 protected:
  using OwnedKey = typename Env::OwnedKey;
  using Under = TreeUnderTest<Env>;
  using Model = typename Under::Model;
  using Loader = BulkLoader<typename Env::Traits>;
  using Run = LeafRun<typename Env::Traits>;

  static std::vector<OwnedKey> keys(key_set set, std::size_t count, std::uint64_t seed) {
    if constexpr (std::is_same_v<OwnedKey, std::string>) {
      return make_keys(set, count, seed);
    } else {
      runtime::Random random{seed};
      std::set<std::uint64_t> chosen;
      while (chosen.size() < count) {
        chosen.insert(random() >> (static_cast<unsigned>(set) % 2 == 0 ? random.below(50) : 0));
      }
      return {chosen.begin(), chosen.end()};
    }
  }

  static runtime::Worker& worker(Under& tree, std::size_t i) {
    return tree.driver().runtime().worker(runtime::WorkerId{static_cast<std::uint16_t>(i % kWorkers)});
  }

  /// Appends keys[from, to) to a run; their numbers are their indices.
  static bool append(Under& tree, Run& run, const std::vector<OwnedKey>& keys, std::size_t from,
                     std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      const auto word = tree.env().make(run.worker(), Env::view(keys[i]), i);
      if (!word) {
        return false;
      }
      if (!run.append(Env::view(keys[i]), *word)) {
        tree.env().dispose(run.worker(), *word);
        return false;
      }
    }
    return true;
  }

  /// Loads sorted keys in runs that end at `ends`, the last one at the end.
  static bool load(Under& tree, const std::vector<OwnedKey>& keys, std::vector<std::size_t> ends) {
    ends.push_back(keys.size());
    std::vector<std::unique_ptr<Run>> runs;
    std::vector<Run*> all;
    std::size_t from = 0;
    bool fits = true;
    for (const std::size_t end : ends) {
      runs.push_back(std::make_unique<Run>(tree.tree(), worker(tree, runs.size())));
      all.push_back(runs.back().get());
      fits = fits && append(tree, *all.back(), keys, from, end);
      from = end;
    }
    return fits && Loader::finish(tree.tree(), all);
  }

  static Model model_of(const std::vector<OwnedKey>& keys) {
    Model model;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      model.emplace(keys[i], i);
    }
    return model;
  }

  static std::vector<std::size_t> random_ends(std::size_t count, runtime::Random& random) {
    std::vector<std::size_t> ends(random.below(5));
    for (std::size_t& end : ends) {
      end = random.below(4) == 0 ? (random.below(2) == 0 ? 0 : count) : random.below(count + 1);
    }
    std::sort(ends.begin(), ends.end());
    return ends;
  }
};

using BulkLoadEnvs =
    ::testing::Types<IntegerEnv<NodeShape<2, 2, 2, false>>, IntegerEnv<>, ByteEnv<NodeShape<2, 2, 2, true>>,
                     ByteEnv<NodeShape<3, 3, 3, true>>, ByteEnv<>>;
TYPED_TEST_SUITE(BulkLoad, BulkLoadEnvs);

TYPED_TEST(BulkLoad, HoldsWhatWasAppendedWhateverTheKeysAndTheRuns) {
  runtime::Random random{3};
  for (const key_set set : kAllKeySets) {
    for (const std::size_t count : {0U, 1U, 2U, 5U, 41U, 42U, 43U, 900U}) {
      SCOPED_TRACE(::testing::Message() << static_cast<int>(set) << ", " << count << " keys");
      const auto keys = this->keys(set, count, count + 1);
      typename TestFixture::Under tree{driver_options(kWorkers)};
      ASSERT_TRUE(this->load(tree, keys, this->random_ends(keys.size(), random)));
      const auto model = this->model_of(keys);
      tree.expect_holds(model);
      for (const bool backward : {false, true}) {
        const auto from = keys.empty() ? typename TypeParam::OwnedKey{} : keys[random.below(keys.size())];
        EXPECT_EQ(tree.range(from, backward, 2000).entries, tree.expected_range(model, from, backward, 2000));
      }
      if (this->HasFailure()) {
        return;
      }
    }
  }
}

TYPED_TEST(BulkLoad, GoesOnLikeATreeOfInserts) {
  for (const key_set set : kAllKeySets) {
    SCOPED_TRACE(static_cast<int>(set));
    const auto keys = this->keys(set, 400, 5);
    typename TestFixture::Under tree{driver_options(kWorkers)};
    std::vector<typename TypeParam::OwnedKey> every_other;
    for (std::size_t i = 0; i < keys.size(); i += 2) {
      every_other.push_back(keys[i]);
    }
    ASSERT_TRUE(this->load(tree, every_other, {every_other.size() / 3, every_other.size() / 2}));
    auto model = this->model_of(every_other);
    runtime::Random random{7};
    for (int i = 0; i < (kSlowRuns ? 500 : 1500); ++i) {
      const auto& key = keys[random.below(keys.size())];
      if (random.below(2) == 0) {
        tree.apply(key, verb::upsert, 1000U + static_cast<std::uint64_t>(i));
        model[key] = 1000U + static_cast<std::uint64_t>(i);
      } else {
        EXPECT_EQ(tree.apply(key, verb::remove).found, model.erase(key) == 1);
      }
    }
    tree.expect_holds(model);
    for (const auto& key : keys) {
      tree.apply(key, verb::remove);
    }
    tree.expect_holds({});
    if (this->HasFailure()) {
      return;
    }
  }
}

TYPED_TEST(BulkLoad, KeepsToTheLimitsOfNodes) {
  const auto keys = this->keys(key_set::decimal, 500, 11);
  typename TestFixture::Under tree{driver_options(kWorkers), {.limits = {.leaf = 2, .inner = 4}}};
  ASSERT_TRUE(this->load(tree, keys, {100}));
  tree.expect_holds(this->model_of(keys));
  EXPECT_GE(tree.tree().root_level(), 3U);
}

TYPED_TEST(BulkLoad, NodesAreOfTheWorkersThatAppendedThem) {
  const auto keys = this->keys(key_set::families, 300, 13);
  typename TestFixture::Under tree{driver_options(kWorkers)};
  ASSERT_TRUE(this->load(tree, keys, {keys.size() / 3, keys.size() * 2 / 3}));
  using NodeT = Node<typename TypeParam::Traits::Shape>;
  const auto* node = static_cast<const NodeT*>(tree.tree().root().object());
  while (!node->leaf()) {
    node = index::detail::node_of<const NodeT>(node->value(false, Position{}));
  }
  std::set<std::size_t> owners;
  std::size_t before = 0;
  for (; node != nullptr; node = index::detail::node_of<const NodeT>(node->right())) {
    std::size_t owner = 0;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      for (std::uint64_t spread = 0; spread < 64; ++spread) {
        if (tree.driver().runtime().pool_for_object(this->worker(tree, i).id(), spread) == node->pool()) {
          owner = i;
        }
      }
    }
    EXPECT_GE(owner, before) << "runs are in order, and so are their workers";
    before = owner;
    owners.insert(owner);
  }
  EXPECT_EQ(owners.size(), kWorkers);
}

TYPED_TEST(BulkLoad, LeavesOfTheRunsHaveTheFirstDueOfTheirEntries) {
  constexpr std::uint64_t kNow = 1'000'000;
  typename TestFixture::Under tree{driver_options(kWorkers)};
  typename TestFixture::Run run{tree.tree(), this->worker(tree, 0)};
  const auto keys = this->keys(key_set::decimal, 4, 17);
  const std::uint64_t after[] = {0, 900, 100, 500};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto word = tree.env().make(run.worker(), TypeParam::view(keys[i]), i);
    ASSERT_TRUE(
        run.append(TypeParam::view(keys[i]), *word, after[i] == 0 ? Due{} : Due::at(kNow + after[i], kNow)));
  }
  typename TestFixture::Run* const all[] = {&run};
  ASSERT_TRUE(TestFixture::Loader::finish(tree.tree(), all));
  using NodeT = Node<typename TypeParam::Traits::Shape>;
  const auto* node = static_cast<const NodeT*>(tree.tree().root().object());
  while (!node->leaf()) {
    node = index::detail::node_of<const NodeT>(node->value(false, Position{}));
  }
  EXPECT_EQ(node->due().bits(), Due::at(kNow + 900, kNow).bits());
}

/// Takes all memory for nodes and fences away, except so many blocks of each size.
class LittleMemory {
 public:
  LittleMemory(runtime::Runtime& runtime, runtime::ValueHeap& heap, std::size_t left)
      : runtime_(runtime), limit_(runtime.budget().limit_bytes()) {
    runtime.budget().set_limit_bytes(0);
    nodes_.take(heap, sizeof(Node<NodeShape<6, 4, 8, true>>), left);
    for (std::size_t bytes = runtime::kSmallestClassBytes; bytes <= 64; bytes += 8) {
      fences_.emplace_back().take(heap, bytes, left);
    }
  }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;
  ~LittleMemory() {
    runtime_.budget().set_limit_bytes(limit_);
    nodes_.give_back();
    for (TakenBlocks& taken : fences_) {
      taken.give_back();
    }
  }

 private:
  runtime::Runtime& runtime_;
  std::size_t limit_;
  TakenBlocks nodes_;
  std::vector<TakenBlocks> fences_;
};

/// How many entries a full leaf has.
template <class Env>
constexpr std::size_t kLeaf = Env::Traits::Shape::capacity(true);

TYPED_TEST(BulkLoad, WithoutMemoryForALeafTheRestIsRefusedAndNothingStays) {
  typename TestFixture::Under tree{driver_options(kWorkers)};
  const auto keys = this->keys(key_set::decimal, 20 * kLeaf<TypeParam>, 19);
  typename TestFixture::Run run{tree.tree(), this->worker(tree, 0)};
  ASSERT_TRUE(this->append(tree, run, keys, 0, 2 * kLeaf<TypeParam>));
  {
    const LittleMemory little{tree.driver().runtime(), run.worker().nodes(), 3};
    EXPECT_FALSE(this->append(tree, run, keys, 2 * kLeaf<TypeParam>, keys.size()));
    EXPECT_LT(run.size(), keys.size());
  }
  tree.expect_holds({});
}

TYPED_TEST(BulkLoad, WithoutMemoryForTheLevelsAboveTheTreeStaysEmpty) {
  bool ended = false;
  for (std::size_t left = 0; !ended; ++left) {
    ASSERT_LT(left, 100U);
    typename TestFixture::Under tree{driver_options(kWorkers)};
    const auto keys = this->keys(key_set::decimal, 20 * kLeaf<TypeParam>, 19);
    typename TestFixture::Run first{tree.tree(), this->worker(tree, 0)};
    typename TestFixture::Run second{tree.tree(), this->worker(tree, 0)};
    ASSERT_TRUE(this->append(tree, first, keys, 0, kLeaf<TypeParam>));
    ASSERT_TRUE(this->append(tree, second, keys, kLeaf<TypeParam>, keys.size()));
    {
      const LittleMemory little{tree.driver().runtime(), first.worker().nodes(), left};
      typename TestFixture::Run* const all[] = {&first, &second};
      ended = TestFixture::Loader::finish(tree.tree(), all);
    }
    tree.expect_holds(ended ? this->model_of(keys) : typename TestFixture::Model{});
    EXPECT_TRUE(left > 0 || !ended) << "levels above need memory";
  }
}

}  // namespace
}  // namespace mxkv::index::testing

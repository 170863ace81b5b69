// Ranges of entries removed leaf by leaf: the right ones go and the others stay, compared with a map, with
// every primitive, with writers that come in between, and with nothing left behind.
#include <algorithm>

#include "index/edit_task.hpp"
#include "tests/unit/index/byte_keys.hpp"
#include "tests/unit/index/spaced_keys.hpp"
#include "tests/unit/index/tree_fixture.hpp"

namespace mxkv::index::testing {
namespace {

/// Removes up to `limit` entries of [key, until) whose number is not kept.
template <class Env>
struct Purge {
  using OwnedKey = typename Env::OwnedKey;
  OwnedKey key{};
  OwnedKey until{};
  std::size_t limit = 0;
  std::uint64_t kept = 1;  ///< numbers that divide by it stay; 1: none does
  OwnedKey at{};
  std::vector<std::uint64_t> removed;
  std::size_t judged = 0;  ///< as the tallies of leaves say
  bool done = false;
};

struct Judged {
  std::size_t erased = 0;
};

template <class Env>
class PurgeTask final : public EditTask<PurgeTask<Env>, typename Env::Traits, Judged> {
  using Base = EditTask<PurgeTask<Env>, typename Env::Traits, Judged>;
  using Key = typename Env::Traits::Key;

 public:
  using typename Base::NodeT;
  PurgeTask(const runtime::TaskClass* task_class, TreeContext<Env>& context, Purge<Env>& purge)
      : Base(task_class, context.tree), context_(&context), purge_(&purge) {
    purge.at = purge.key;
  }
  [[nodiscard]] Key key() const noexcept { return Env::view(purge_->at); }
  void set_key(Key key) { purge_->at = typename Env::OwnedKey{key}; }

  verdict judge(std::uint64_t head, std::uint64_t word, Judged& leaf, runtime::Worker& /*worker*/) {
    if (context_->disturb != nullptr && context_->disturb->below(8) == 0) {
      const auto held = runtime::WriteLatch::acquire(this->here(), 1);  // another writer was faster
    }
    const auto found = Env::key_of(head, word);
    EXPECT_FALSE(found < purge_->key) << "an entry before the range";
    if (!(found < purge_->until) || purge_->judged + leaf.erased == purge_->limit) {
      return verdict::stop;
    }
    if (purge_->kept > 1 && Env::number(word) % purge_->kept == 0) {
      return verdict::keep;
    }
    ++leaf.erased;
    return verdict::erase;
  }
  Change erasing(NodeT& /*leaf*/, std::uint64_t /*word*/, runtime::Worker& /*worker*/) noexcept { return {}; }
  void erased(std::uint64_t word, runtime::Worker& worker) {
    purge_->removed.push_back(Env::number(word));
    context_->env.retire(worker, word);
  }
  void judged(const Judged& leaf, runtime::Worker& /*worker*/) noexcept { purge_->judged += leaf.erased; }
  runtime::step finished(runtime::Worker& /*worker*/) {
    EXPECT_FALSE(purge_->done) << "ended twice";
    purge_->done = true;
    return runtime::step::done;
  }

 private:
  TreeContext<Env>* context_;
  Purge<Env>* purge_;
};

template <class Env>
void start(TreeUnderTest<Env>& tree, Purge<Env>& purge, std::size_t worker) {
  tree.driver().on_worker(worker, [&](runtime::Worker& at) {
    at.template create<PurgeTask<Env>>(tree.context(), purge)->start(at);
  });
}

/// The keys that the purge must remove from a map; removes them there.
template <class Env>
std::vector<std::uint64_t> purge_model(typename TreeUnderTest<Env>::Model& model, const Purge<Env>& purge) {
  std::vector<std::uint64_t> removed;
  for (auto at = model.lower_bound(purge.key); at != model.end() && at->first < purge.until;) {
    if (removed.size() == purge.limit) {
      break;
    }
    if (purge.kept > 1 && at->second % purge.kept == 0) {
      ++at;
      continue;
    }
    removed.push_back(at->second);
    at = model.erase(at);
  }
  return removed;
}

/// Random purges; removed entries are put back now and then.
template <class Env>
void compare_purges(TreeUnderTest<Env>& tree, std::vector<typename Env::OwnedKey> keys, std::size_t rounds,
                    std::uint64_t seed) {
  typename TreeUnderTest<Env>::Model model;
  runtime::Random random{seed};
  runtime::Random disturb{seed + 1};
  tree.context().disturb = &disturb;
  std::sort(keys.begin(), keys.end());
  std::uint64_t number = 0;
  for (std::size_t round = 0; round < rounds && !::testing::Test::HasFailure(); ++round) {
    for (std::size_t i = random.below(keys.size()); i > 0; --i) {
      const auto& key = keys[random.below(keys.size())];
      tree.apply(key, verb::upsert, ++number);
      model[key] = number;
    }
    Purge<Env> purge;
    purge.key = keys[random.below(keys.size())];
    purge.until = keys[random.below(keys.size())];
    purge.limit = random.below(3) == 0 ? random.below(20) : keys.size();
    purge.kept = 1 + random.below(3);
    start(tree, purge, random.below(tree.driver().runtime().worker_count()));
    tree.driver().run_until([&] { return purge.done; });
    ASSERT_TRUE(purge.done);
    ASSERT_EQ(purge.removed, purge_model(model, purge)) << "round " << round;
    ASSERT_EQ(purge.judged, purge.removed.size());
  }
  tree.context().disturb = nullptr;
  tree.expect_holds(model);
}

template <class Env>
class EraseTest : public ::testing::Test {
 protected:
  using OwnedKey = typename Env::OwnedKey;
  using Under = TreeUnderTest<Env>;
  static constexpr std::uint64_t kKeys = 400;
  static OwnedKey key(std::uint64_t n) { return spaced_key(OwnedKey{}, n); }
  static std::vector<OwnedKey> keys() {
    std::vector<OwnedKey> all;
    for (std::uint64_t n = 0; n < kKeys; ++n) {
      all.push_back(key(n));
    }
    return all;
  }
};

using EraseEnvs = ::testing::Types<IntegerEnv<NodeShape<2, 2, 2, false>>, IntegerEnv<>,
                                   ByteEnv<NodeShape<2, 2, 2, true>>, ByteEnv<>>;
TYPED_TEST_SUITE(EraseTest, EraseEnvs);

TYPED_TEST(EraseTest, RangesGoAsInAMap) {
  for (const runtime::primitive how : kTreePrimitives) {
    SCOPED_TRACE(runtime::primitive_name(how));
    typename TestFixture::Under tree{driver_options(2), {how, how}};
    compare_purges<TypeParam>(tree, this->keys(), kSlowRuns ? 10 : 40, 7);
  }
}

TYPED_TEST(EraseTest, TwoAtOnceAmongWritersRemoveEachEntryOnce) {
  for (std::uint64_t seed = 1; seed <= (kSlowRuns ? 3U : 12U); ++seed) {
    SCOPED_TRACE(seed);
    typename TestFixture::Under tree{driver_options(2)};
    runtime::Random random{seed};
    for (std::uint64_t n = 0; n < this->kKeys; ++n) {
      tree.apply(this->key(n), verb::upsert, n);
    }
    Purge<TypeParam> purges[2];
    for (std::size_t i = 0; i < 2; ++i) {
      purges[i].key = this->key(random.below(50));
      purges[i].until = this->key(this->kKeys - random.below(50));
      purges[i].limit = this->kKeys;
      purges[i].kept = 2 + i;
      start(tree, purges[i], i);
    }
    typename TestFixture::Under::Model added;
    for (std::uint64_t n = 1; n < this->kKeys; n += 3) {  // in between, with numbers that both keep
      const auto key = spaced_key(typename TypeParam::OwnedKey{}, n, 5);
      tree.apply(key, verb::upsert, 6 * n);
      added.emplace(key, 6 * n);
    }
    tree.driver().run_until([&] { return purges[0].done && purges[1].done; });
    std::vector<std::uint64_t> all = purges[0].removed;
    all.insert(all.end(), purges[1].removed.begin(), purges[1].removed.end());
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << "an entry was removed twice";
    typename TestFixture::Under::Model left = added;
    for (std::uint64_t n = 0; n < this->kKeys; ++n) {
      const bool first = !(this->key(n) < purges[0].key) && this->key(n) < purges[0].until && n % 2 != 0;
      const bool second = !(this->key(n) < purges[1].key) && this->key(n) < purges[1].until && n % 3 != 0;
      EXPECT_EQ(std::binary_search(all.begin(), all.end(), n), first || second) << n;
      if (!first && !second) {
        left.emplace(this->key(n), n);
      }
    }
    tree.expect_holds(left);
  }
}

TEST(EraseHardKeys, RangesGoAsInAMap) {
  for (const key_set set : kAllKeySets) {
    SCOPED_TRACE(static_cast<int>(set));
    TreeUnderTest<ByteEnv<NodeShape<3, 2, 3, true>>> tree{driver_options(2)};
    compare_purges<ByteEnv<NodeShape<3, 2, 3, true>>>(tree, make_keys(set, 300, 3), kSlowRuns ? 8 : 30, 5);
  }
}

}  // namespace
}  // namespace mxkv::index::testing

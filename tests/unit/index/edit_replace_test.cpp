// Entries replaced and changed in place leaf by leaf: each once, whatever comes in between, also when writes
// are refused and memory runs out. Nothing is lost, and nothing is left behind.
#include <algorithm>

#include "index/edit_task.hpp"
#include "tests/unit/index/spaced_keys.hpp"
#include "tests/unit/index/tree_fixture.hpp"

namespace mxkv::index::testing {
namespace {

constexpr std::uint64_t kRaised = 1'000'000;

/// Raises numbers that divide by three, and touches those that leave a remainder of one.
template <class Env>
struct Raise {
  using OwnedKey = typename Env::OwnedKey;
  OwnedKey at{};
  runtime::Random random{1};
  bool refuses = false;    ///< now and then
  bool no_memory = false;  ///< now and then
  std::size_t refusals = 0;
  std::size_t shortages = 0;
  std::size_t changes = 0;
  std::size_t judged = 0;
  bool done = false;
};

template <class Env>
class RaiseTask final : public EditTask<RaiseTask<Env>, typename Env::Traits, std::size_t, true> {
  using Base = EditTask<RaiseTask<Env>, typename Env::Traits, std::size_t, true>;
  using Key = typename Env::Traits::Key;

 public:
  using typename Base::NodeT;
  RaiseTask(const runtime::TaskClass* task_class, TreeContext<Env>& context, Raise<Env>& raise)
      : Base(task_class, context.tree), context_(&context), raise_(&raise) {}
  [[nodiscard]] Key key() const noexcept { return Env::view(raise_->at); }
  void set_key(Key key) { raise_->at = typename Env::OwnedKey{key}; }

  verdict judge(std::uint64_t /*head*/, std::uint64_t word, std::size_t& seen, runtime::Worker& /*worker*/) {
    if (raise_->random.below(16) == 0) {
      const auto held = runtime::WriteLatch::acquire(this->here(), 1);  // another writer was faster
    }
    ++seen;
    const std::uint64_t number = Env::number(word);
    if (number >= kRaised) {
      return verdict::keep;
    }
    return number % 3 == 0 ? verdict::replace : number % 3 == 1 ? verdict::change : verdict::keep;
  }
  std::uint64_t replacement(std::uint64_t word, runtime::Worker& worker) {
    if (raise_->no_memory && raise_->random.below(20) == 0) {
      return 0;
    }
    return context_->env.make(worker, key_of(word), Env::number(word) + kRaised).value();
  }
  Change replacing(NodeT& /*leaf*/, std::uint64_t word, std::uint64_t by,
                   runtime::Worker& /*worker*/) noexcept {
    EXPECT_EQ(Env::number(by), Env::number(word) + kRaised);
    return {};
  }
  void replaced(std::uint64_t word, std::uint64_t /*by*/, runtime::Worker& worker) {
    context_->env.retire(worker, word);
  }
  void unmade(std::uint64_t by, runtime::Worker& worker) noexcept { context_->env.dispose(worker, by); }
  Change changing(NodeT& leaf, std::uint64_t /*word*/, runtime::Worker& /*worker*/) noexcept {
    floor_ = leaf.order_floor() + 1;
    return Change::part(floor_);
  }
  void change_record(std::uint64_t word, runtime::Worker& /*worker*/) noexcept {
    EXPECT_EQ(this->here().order_floor(), floor_) << "a record changes before its leaf's floor is raised";
    Env::touch(word);
    ++raise_->changes;
  }
  Change erasing(NodeT& /*leaf*/, std::uint64_t /*word*/, runtime::Worker& /*worker*/) noexcept {
    ADD_FAILURE() << "nothing is to go";
    return {};
  }
  void erased(std::uint64_t /*word*/, runtime::Worker& /*worker*/) noexcept {}
  [[nodiscard]] bool refuses(std::uint64_t /*word*/, runtime::Worker& /*worker*/) noexcept {
    return raise_->refuses && raise_->random.below(20) == 0;
  }
  runtime::step refused(runtime::Worker& worker) {
    ++raise_->refusals;
    return this->rescan(worker);
  }
  runtime::step out_of_memory(runtime::Worker& worker) {
    ++raise_->shortages;
    return this->rescan(worker);
  }
  void judged(std::size_t seen, runtime::Worker& /*worker*/) noexcept { raise_->judged += seen; }
  runtime::step finished(runtime::Worker& /*worker*/) {
    EXPECT_FALSE(raise_->done) << "ended twice";
    raise_->done = true;
    return runtime::step::done;
  }

 private:
  Key key_of(std::uint64_t word) const {
    if constexpr (Env::Traits::kExact) {
      return 0;  // sits in the node
    } else {
      return Env::Traits::Record::key(word);
    }
  }

  TreeContext<Env>* context_;
  Raise<Env>* raise_;
  std::uint64_t floor_ = 0;
};

template <class Env>
class EditReplaceTest : public ::testing::Test {
 protected:
  using Under = TreeUnderTest<Env>;
  static constexpr std::uint64_t kKeys = 400;
  static typename Env::OwnedKey key(std::uint64_t n) { return spaced_key(typename Env::OwnedKey{}, n); }

  static void run(Under& tree, Raise<Env>& raise) {
    typename Under::Model model;
    for (std::uint64_t n = 1; n <= kKeys; ++n) {
      tree.apply(key(n), verb::upsert, n);
      model[key(n)] = n % 3 == 0 ? n + kRaised : n;
    }
    tree.driver().on_worker(0, [&](runtime::Worker& at) {
      at.template create<RaiseTask<Env>>(tree.context(), raise)->start(at);
    });
    tree.driver().run_until([&] { return raise.done; });
    ASSERT_TRUE(raise.done);
    EXPECT_EQ(raise.judged, kKeys) << "each entry is judged for good once";
    EXPECT_EQ(raise.changes, (kKeys + 2) / 3);
    tree.expect_holds(model);
  }
};

using EditEnvs = ::testing::Types<IntegerEnv<NodeShape<2, 2, 2, false>>, IntegerEnv<>,
                                  ByteEnv<NodeShape<2, 2, 2, true>>, ByteEnv<>>;
TYPED_TEST_SUITE(EditReplaceTest, EditEnvs);

TYPED_TEST(EditReplaceTest, EachEntryIsReplacedOrChangedOnce) {
  for (const runtime::primitive how : kTreePrimitives) {
    SCOPED_TRACE(runtime::primitive_name(how));
    typename TestFixture::Under tree{driver_options(2), {how, how}};
    Raise<TypeParam> raise;
    this->run(tree, raise);
  }
}

TYPED_TEST(EditReplaceTest, ARefusedLeafAndOneWithoutMemoryAreLeftAsTheyWere) {
  std::size_t refusals = 0;
  std::size_t shortages = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    typename TestFixture::Under tree{driver_options(2)};
    Raise<TypeParam> raise;
    raise.random = runtime::Random{seed};
    raise.refuses = raise.no_memory = true;
    this->run(tree, raise);
    refusals += raise.refusals;
    shortages += raise.shortages;
  }
  EXPECT_GT(refusals, 0U);
  EXPECT_GT(shortages, 0U);
}

}  // namespace
}  // namespace mxkv::index::testing

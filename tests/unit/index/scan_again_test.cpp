// A scan that starts again, from its first key or another, sees the entries of its range and nothing else.
#include "tests/unit/index/byte_keys.hpp"
#include "tests/unit/index/spaced_keys.hpp"
#include "tests/unit/index/tree_fixture.hpp"

namespace mxkv::index::testing {
namespace {

/// A scan that starts over after its first `halt_after` entries, and keeps the entries of its second life.
template <class Env>
class TwiceTask final : public ScanTask<TwiceTask<Env>, typename Env::Traits> {
  using Base = ScanTask<TwiceTask<Env>, typename Env::Traits>;
  using Key = typename Env::Traits::Key;

 public:
  struct Plan {
    typename Env::OwnedKey first{};  ///< where it starts, both times
    bool backward = false;
    std::size_t halt_after = 0;
    std::vector<typename Env::OwnedKey> seen;
    int starts = 0;
    bool done = false;
    typename Env::OwnedKey at{};
  };

  TwiceTask(const runtime::TaskClass* task_class, Tree<typename Env::Traits>& tree, Plan& plan) noexcept
      : Base(task_class, tree), plan_(&plan) {}
  void begin(runtime::Worker& worker) {
    plan_->at = plan_->first;
    plan_->seen.clear();
    ++plan_->starts;
    this->start(worker);
  }
  [[nodiscard]] Key key() const noexcept { return Env::view(plan_->at); }
  void set_key(Key key) { plan_->at = typename Env::OwnedKey{key}; }
  [[nodiscard]] bool backward() const noexcept { return plan_->backward; }
  bool visit(std::uint64_t head, std::uint64_t word, runtime::Worker& /*worker*/) {
    if (plan_->starts == 1 && plan_->seen.size() == plan_->halt_after) {
      return false;
    }
    plan_->seen.push_back(Env::key_of(head, word));
    return true;
  }
  runtime::step finished(bool /*exhausted*/, runtime::Worker& worker) {
    if (plan_->starts == 1) {
      worker.unpin(*this);
      begin(worker);
      return runtime::step::parked;
    }
    plan_->done = true;
    return runtime::step::done;
  }

 private:
  Plan* plan_;
};

template <class Env>
class ScanAgain : public ::testing::Test {};

using ScanEnvs =
    ::testing::Types<IntegerEnv<NodeShape<2, 2, 2, false>>, ByteEnv<NodeShape<2, 2, 2, true>>, ByteEnv<>>;
TYPED_TEST_SUITE(ScanAgain, ScanEnvs);

TYPED_TEST(ScanAgain, SeesOnlyWhatIsOnItsSideOfTheStart) {
  using OwnedKey = typename TypeParam::OwnedKey;
  constexpr std::uint64_t kKeys = 300;
  TreeUnderTest<TypeParam> tree;
  typename TreeUnderTest<TypeParam>::Model model;
  for (std::uint64_t n = 0; n < kKeys; ++n) {
    tree.apply(spaced_key(OwnedKey{}, n), verb::upsert, n);
    model.emplace(spaced_key(OwnedKey{}, n), n);
  }
  for (const bool backward : {false, true}) {
    for (std::uint64_t first = 1; first < kKeys; first += 23) {
      for (const std::size_t halt_after : {0U, 1U, 40U, 200U}) {
        SCOPED_TRACE(::testing::Message() << first << (backward ? " backward" : "") << ", " << halt_after);
        typename TwiceTask<TypeParam>::Plan plan;
        plan.first = spaced_key(OwnedKey{}, first);
        plan.backward = backward;
        plan.halt_after = halt_after;
        tree.driver().on_worker(0, [&](runtime::Worker& worker) {
          worker.create<TwiceTask<TypeParam>>(tree.tree(), plan)->begin(worker);
        });
        tree.driver().run_until([&plan] { return plan.done; });
        std::vector<OwnedKey> expected;
        for (const auto& [key, number] :
             TreeUnderTest<TypeParam>::expected_range(model, plan.first, backward, kKeys)) {
          expected.push_back(key);
        }
        ASSERT_EQ(plan.seen, expected);
      }
    }
  }
}

}  // namespace
}  // namespace mxkv::index::testing

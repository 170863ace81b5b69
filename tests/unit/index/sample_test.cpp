// Random walks: right on average for ranges of every width, and exact where there is no choice.
#include <algorithm>
#include <cmath>

#include "index/sample_task.hpp"
#include "tests/unit/index/spaced_keys.hpp"
#include "tests/unit/index/tree_fixture.hpp"

namespace mxkv::index::testing {
namespace {

template <class Env>
struct Survey {
  using OwnedKey = typename Env::OwnedKey;
  OwnedKey key{};
  OwnedKey until{};
  std::size_t walks = 0;  ///< wanted
  std::size_t walked = 0;
  double sum = 0;
  double squares = 0;
  std::uint64_t exact = 0;  ///< of a walk that saw the whole range
  bool whole = false;
  bool done = false;
};

template <class Env>
class SurveyTask final : public SampleTask<SurveyTask<Env>, typename Env::Traits> {
  using Base = SampleTask<SurveyTask<Env>, typename Env::Traits>;
  using Key = typename Env::Traits::Key;

 public:
  SurveyTask(const runtime::TaskClass* task_class, Tree<typename Env::Traits>& tree, std::uint64_t seed,
             Survey<Env>& survey)
      : Base(task_class, tree, seed), survey_(&survey) {}
  [[nodiscard]] Key key() const noexcept { return Env::view(survey_->key); }
  [[nodiscard]] bool ends_before(Key key) const noexcept { return !(key < Env::view(survey_->until)); }
  bool walked(const Entries& leaf, double weight, bool whole, runtime::Worker& /*worker*/) {
    std::uint64_t found = 0;
    for (unsigned i = 0; i < leaf.count; ++i) {
      const auto key = Env::key_of(leaf.heads[i], leaf.values[i]);
      found += !(key < survey_->key) && key < survey_->until ? 1 : 0;
    }
    survey_->whole = whole;
    if (whole) {
      survey_->exact = found;
      return false;
    }
    const double estimate = weight * static_cast<double>(found);
    survey_->sum += estimate;
    survey_->squares += estimate * estimate;
    return ++survey_->walked < survey_->walks;
  }
  runtime::step finished(runtime::Worker& /*worker*/) {
    survey_->done = true;
    return runtime::step::done;
  }

 private:
  Survey<Env>* survey_;
};

template <class Env>
class SampleTest : public ::testing::Test {
 protected:
  using OwnedKey = typename Env::OwnedKey;
  static constexpr std::uint64_t kKeys = 3000;
  static OwnedKey key(std::uint64_t n) { return spaced_key(OwnedKey{}, n); }
};

using SampleEnvs = ::testing::Types<IntegerEnv<NodeShape<3, 2, 3, false>>, IntegerEnv<>,
                                    ByteEnv<NodeShape<3, 2, 3, true>>, ByteEnv<>>;
TYPED_TEST_SUITE(SampleTest, SampleEnvs);

TYPED_TEST(SampleTest, TheMeanOfManyWalksIsTheNumberOfEntries) {
  TreeUnderTest<TypeParam> tree;
  runtime::Random random{3};
  for (std::uint64_t i = 0; i < 2 * this->kKeys; ++i) {  // leaves of every fill
    const std::uint64_t n = random.below(this->kKeys);
    tree.apply(this->key(n), verb::upsert, n);
  }
  std::vector<typename TypeParam::OwnedKey> held;
  for (std::uint64_t n = 0; n < this->kKeys; ++n) {
    if (tree.find(this->key(n)).found) {
      held.push_back(this->key(n));
    }
  }
  std::sort(held.begin(), held.end());
  for (const std::uint64_t width : {1U, 3U, 20U, 100U, 1000U, 2400U}) {
    for (std::uint64_t i = 0; i < (kSlowRuns ? 2U : 5U); ++i) {
      const std::uint64_t first = random.below(held.size() - width);
      Survey<TypeParam> survey;
      survey.key = held[first];
      survey.until = held[first + width];
      survey.walks = kSlowRuns ? 500 : 4000;
      tree.driver().on_worker(0, [&](runtime::Worker& worker) {
        worker.create<SurveyTask<TypeParam>>(tree.tree(), i, survey)->start(worker);
      });
      tree.driver().run_until([&] { return survey.done; });
      SCOPED_TRACE(std::to_string(width) + " from " + std::to_string(first));
      ASSERT_TRUE(survey.done);
      if (survey.whole) {
        EXPECT_EQ(survey.exact, width);
        continue;
      }
      const auto walks = static_cast<double>(survey.walked);
      const double mean = survey.sum / walks;
      const double error = std::sqrt(std::max(0.0, survey.squares / walks - mean * mean) / walks);
      EXPECT_NEAR(mean, static_cast<double>(width), 5 * error + 0.01);
      EXPECT_LT(error, 0.2 * static_cast<double>(width) + 1);
    }
  }
}

}  // namespace
}  // namespace mxkv::index::testing

// A scan that says how many entries it wants copies parts of leaves; whatever it said, it sees all entries
// that it takes, each once.
#include "tests/unit/index/byte_keys.hpp"
#include "tests/unit/index/spaced_keys.hpp"
#include "tests/unit/index/tree_fixture.hpp"

namespace mxkv::index::testing {
namespace {

template <class Env>
class ScanPart : public ::testing::Test {};

using PartEnvs = ::testing::Types<IntegerEnv<NodeShape<2, 2, 2, false>>, IntegerEnv<>,
                                  ByteEnv<NodeShape<2, 2, 2, true>>, ByteEnv<>>;
TYPED_TEST_SUITE(ScanPart, PartEnvs);

TYPED_TEST(ScanPart, SeesAllThatItTakesWhateverItTold) {
  using OwnedKey = typename TypeParam::OwnedKey;
  constexpr std::uint64_t kKeys = 400;
  TreeUnderTest<TypeParam> tree;
  typename TreeUnderTest<TypeParam>::Model model;
  for (std::uint64_t n = 0; n < kKeys; ++n) {
    const std::uint64_t at = n * 61 % kKeys;  // in no order
    tree.apply(spaced_key(OwnedKey{}, at), verb::upsert, at);
    model.emplace(spaced_key(OwnedKey{}, at), at);
  }
  for (const bool backward : {false, true}) {
    for (std::uint64_t first = 1; first < kKeys; first += 13) {
      for (const std::uint64_t wanted : {0U, 1U, 2U, 9U, 30U}) {
        for (const std::size_t limit : {std::size_t{3}, std::size_t{45}, std::size_t{kKeys}}) {
          SCOPED_TRACE(::testing::Message()
                       << first << (backward ? " backward, " : ", ") << wanted << " of " << limit);
          const OwnedKey key = spaced_key(OwnedKey{}, first);
          const auto range = tree.range(key, backward, limit, wanted);
          ASSERT_EQ(range.entries, TreeUnderTest<TypeParam>::expected_range(model, key, backward, limit));
        }
      }
    }
  }
}

}  // namespace
}  // namespace mxkv::index::testing

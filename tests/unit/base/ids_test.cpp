// Strong ids: kinds are kept apart by the compiler, values compare and hash as their numbers do.
#include "runtime/base/ids.hpp"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

namespace mxkv::runtime {
namespace {

template <class To, class From>
constexpr bool kCanBePassedAs = std::is_convertible_v<From, To> || std::is_constructible_v<To, From>;

TEST(StrongId, OneKindIsNotAcceptedWhereAnotherIsMeant) {
  static_assert(!kCanBePassedAs<WorkerId, PoolId>);
  static_assert(!kCanBePassedAs<EpochId, RequestId>);
  static_assert(!std::is_convertible_v<int, WorkerId>, "a bare number is not an id");
  static_assert(!std::is_convertible_v<WorkerId, std::uint16_t>, "an id is not a number");
  static_assert(!std::is_invocable_v<std::equal_to<>, WorkerId, PoolId>);
}

TEST(StrongId, IsAsCheapAsItsNumber) {
  static_assert(sizeof(WorkerId) == 2 && sizeof(RequestId) == 8);
  static_assert(std::is_trivially_copyable_v<WorkerId>);
  EXPECT_EQ(WorkerId{}.value(), 0);
  EXPECT_EQ(RequestId{~std::uint64_t{0}}.value(), ~std::uint64_t{0});
  EXPECT_EQ(PoolId{65535}.index(), 65535U);
}

TEST(StrongId, OrdersAndHashesByValue) {
  EXPECT_LT(PoolId{1}, PoolId{2});
  EXPECT_GT(EpochId{9}, EpochId{8});
  EXPECT_EQ(PuId{3}, PuId{3});
  const std::unordered_set<WorkerId> workers{WorkerId{1}, WorkerId{2}, WorkerId{1}};
  EXPECT_EQ(workers.size(), 2U);
  EXPECT_TRUE(workers.contains(WorkerId{2}));
}

}  // namespace
}  // namespace mxkv::runtime

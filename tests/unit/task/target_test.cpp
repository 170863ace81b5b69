// Places in 16 bits: an encoded place is decoded, and an id that does not fit is a place that cannot exist.
#include "runtime/task/target.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace mxkv::runtime {
namespace {

template <class Id>
void comes_back(std::uint16_t value, target_kind kind) {
  const Target target{Id{value}};
  EXPECT_EQ(target.kind(), kind) << value;
  EXPECT_EQ(target.id(), value);
  EXPECT_EQ(Target{target.encoded()}, target);
}

TEST(TargetTest, EveryKindOfPlaceComesBackAsItWas) {
  for (const std::uint16_t value : std::initializer_list<std::uint16_t>{0, 1, 63, 1023, 8190}) {
    comes_back<WorkerId>(value, target_kind::worker);
    comes_back<CoreGroupId>(value, target_kind::core_group);
    comes_back<NumaNodeId>(value, target_kind::node);
    comes_back<PoolId>(value, target_kind::pool);
  }
  comes_back<WorkerId>(16382, target_kind::worker);
  comes_back<PoolId>(32765, target_kind::pool);
}

TEST(TargetTest, WhatIsTooLargeIsTheLastOfItsKind) {
  EXPECT_EQ(Target{WorkerId{40000}}.kind(), target_kind::worker);
  EXPECT_EQ(Target{WorkerId{40000}}.id(), 0x3FFF);
  EXPECT_EQ(Target{CoreGroupId{0xFFFF}}.kind(), target_kind::core_group);
  EXPECT_EQ(Target{CoreGroupId{0xFFFF}}.id(), 0x1FFF);
  EXPECT_EQ(Target{NumaNodeId{9000}}.kind(), target_kind::node);
  EXPECT_EQ(Target{NumaNodeId{9000}}.id(), 0x1FFF);
  EXPECT_EQ(Target{PoolId{0xFFFF}}.kind(), target_kind::pool) << "not anywhere";
  EXPECT_EQ(Target{PoolId{0xFFFF}}.id(), 0x7FFE);
}

TEST(TargetTest, AnywhereIsNoPlace) {
  EXPECT_EQ(Target{Target::kAnywhere}.kind(), target_kind::anywhere);
  EXPECT_EQ(Target{WorkerId{Target::kAnywhere}}.kind(), target_kind::anywhere);
}

}  // namespace
}  // namespace mxkv::runtime

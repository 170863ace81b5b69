// Slots: which keys are in one, and which operations may meet.
#include "runtime/hierarchy/slots.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace mxkv::runtime {
namespace {

TEST(Slots, ASeparatorBelongsToTheSlotThatItBegins) {
  const SlotMap<int> map{{10, 20, 30}};
  EXPECT_EQ(map.slots(), 4U);
  EXPECT_EQ(map.slot_of(-5), 0U);
  EXPECT_EQ(map.slot_of(9), 0U);
  EXPECT_EQ(map.slot_of(10), 1U);
  EXPECT_EQ(map.slot_of(29), 2U);
  EXPECT_EQ(map.slot_of(30), 3U);
  EXPECT_EQ(map.slot_of(1000), 3U);
  EXPECT_EQ(map.slots_of(9, 20), (SlotInterval{0, 2}));
}

TEST(Slots, WithoutSeparatorsThereIsOne) {
  const SlotMap<std::string> map{{}};
  EXPECT_EQ(map.slots(), 1U);
  EXPECT_EQ(map.slot_of(std::string_view{"any"}), 0U);
}

TEST(Slots, IntervalsOverlapWhereTheyShareASlot) {
  const SlotInterval middle{3, 5};
  EXPECT_TRUE(middle.overlaps({5, 9}));
  EXPECT_TRUE(middle.overlaps({0, 3}));
  EXPECT_TRUE(middle.overlaps({4, 4}));
  EXPECT_TRUE(middle.overlaps({0, 9}));
  EXPECT_FALSE(middle.overlaps({6, 9}));
  EXPECT_FALSE(middle.overlaps({0, 2}));
  EXPECT_TRUE((SlotInterval{2, 2}).single());
  EXPECT_FALSE(middle.single());
}

}  // namespace
}  // namespace mxkv::runtime

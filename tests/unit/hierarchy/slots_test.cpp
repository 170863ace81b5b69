// Slots: which keys are in one, and which operations may overlap.
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

TEST(Slots, ABitStandsForASlotWhereOneWordIsEnough) {
  EXPECT_EQ((SlotParts{2, 32}).slots_a_part(), 1U);
  EXPECT_EQ((SlotParts{64, 1}).slots_a_part(), 1U);
  EXPECT_EQ((SlotParts{8, 16}).slots_a_part(), 2U);
  EXPECT_EQ((SlotParts{3, 31}).slots_a_part(), 31U) << "no part lies in two buckets";
  EXPECT_EQ((SlotParts{64, 64}).slots_a_part(), 64U);
  EXPECT_EQ((SlotParts{65, 2}).slots_a_part(), 4U);
  for (std::uint32_t buckets = 1; buckets <= 200; ++buckets) {
    for (std::uint32_t slots = 1; slots <= 64; ++slots) {
      const std::uint32_t part = (SlotParts{buckets, slots}).slots_a_part();
      EXPECT_TRUE(slots % part == 0 || part % slots == 0);
      EXPECT_LE((buckets * slots + part - 1) / part, SlotParts::kMost);
    }
  }
}

TEST(Slots, AMaskLeavesSlotsOut) {
  const SlotParts parts{4, 8};
  const SlotSet ends{{0, 31}, parts.bit_of(0) | parts.bit_of(31)};
  const auto all_of = [&parts](const SlotInterval& span) { return SlotSet{span, parts.bits_of(span)}; };
  EXPECT_EQ(parts.bits_of({8, 23}), 0xFFFF00U);
  EXPECT_EQ(parts.bits_of({0, 31}), 0xFFFFFFFFU);
  EXPECT_FALSE(ends.overlaps(all_of({8, 23})));
  EXPECT_FALSE(all_of({8, 23}).overlaps(ends));
  EXPECT_TRUE(ends.overlaps(all_of({0, 5})));
  EXPECT_TRUE(all_of({31, 31}).overlaps(ends));
}

}  // namespace
}  // namespace mxkv::runtime

// The slot of a key. Writes of keys whose slot is closed are held off, and no other writes.
#include "server/store/locks/key_partition.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/server/durability/text_store.hpp"

namespace mxkv::server::testing {
namespace {

TEST(KeyPartition, OneSlotHoldsAllKeysAtFirst) {
  TextStore store{2};
  const KeyPartition& slots = store.store.locks().slots;
  EXPECT_EQ(slots.count(), 1U);
  EXPECT_EQ(slots.slot_of(""), 0U);
  EXPECT_EQ(slots.slot_of("zzz"), 0U);
  EXPECT_GT(slots.most(), 1U);
}

TEST(KeyPartition, SeparatorsCutTheKeys) {
  TextStore store{2};
  KeyPartition& slots = store.store.locks().slots;
  slots.replace(std::make_unique<KeyPartition::Map>(std::vector<std::string>{"f", "m"}), 300,
                store.machine[0]);
  EXPECT_EQ(slots.count(), 3U);
  EXPECT_EQ(slots.items_a_slot(), 100U);
  EXPECT_EQ(slots.slot_of("a"), 0U);
  EXPECT_EQ(slots.slot_of("f"), 1U) << "a separator is the least key of its slot";
  EXPECT_EQ(slots.slot_of("ez"), 0U);
  EXPECT_EQ(slots.slot_of("lz"), 1U);
  EXPECT_EQ(slots.slot_of("m"), 2U);
  EXPECT_EQ(slots.begin_of(1), "f");
  const runtime::SlotInterval middle = slots.slots_of("b", "g");
  EXPECT_EQ(middle.first, 0U);
  EXPECT_EQ(middle.last, 1U);
  const runtime::SlotInterval upward = slots.from("g");
  EXPECT_EQ(upward.first, 1U);
  EXPECT_EQ(upward.last, 2U);
}

TEST(RangeLocks, AreDrawnAnewAsItemsCome) {
  TextStore store{2};
  for (int i = 0; i < 3000; ++i) {
    store.ask("set key" + std::to_string(i) + " 0 0 1\r\nx\r\n");
    if (i % 100 == 0) {
      ASSERT_EQ(store.ask("mt key" + std::to_string(i) + " T0 i Hkey" + std::to_string(i) + "\r\n"),
                "HD A1\r\n");
      store.machine.clock.advance_us(1'000'000);
    }
  }
  EXPECT_GT(store.store.locks().slots.count(), 1U);
  EXPECT_GT(store.store.total(counter::slot_maps), 0U);
  EXPECT_FALSE(store.store.locks().holds_off("key1")) << "nobody holds anything";
}

}  // namespace
}  // namespace mxkv::server::testing

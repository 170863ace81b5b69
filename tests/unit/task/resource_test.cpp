// Data objects: the table that selects their primitive, their header, and the pointer that carries a copy of
// it.
#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "runtime/resource/data_object.hpp"
#include "runtime/resource/primitive.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

constexpr rw_ratio kRatios[] = {rw_ratio::read_heavy, rw_ratio::balanced, rw_ratio::write_heavy};
constexpr access_frequency kFrequencies[] = {access_frequency::low, access_frequency::moderate,
                                             access_frequency::high};

TEST(SelectPrimitive, NoIsolationNeedsNoPrimitive) {
  for (const rw_ratio ratio : kRatios) {
    for (const access_frequency frequency : kFrequencies) {
      EXPECT_EQ(select_primitive(isolation::none, ratio, frequency), primitive::none);
    }
  }
}

TEST(SelectPrimitive, ExclusiveObjectsAreSerializedByScheduling) {
  for (const rw_ratio ratio : kRatios) {
    for (const access_frequency frequency : kFrequencies) {
      EXPECT_EQ(select_primitive(isolation::exclusive, ratio, frequency),
                primitive::serialized_by_scheduling);
    }
  }
}

TEST(SelectPrimitive, SharedObjectsAreAlwaysReadOptimistically) {
  using enum access_frequency;
  constexpr primitive kScheduled = primitive::optimistic_scheduling;
  constexpr primitive kLatched = primitive::optimistic_latch;
  const auto shared = [](rw_ratio ratio, access_frequency frequency) {
    return select_primitive(isolation::shared, ratio, frequency);
  };
  EXPECT_EQ(shared(rw_ratio::read_heavy, low), kScheduled);
  EXPECT_EQ(shared(rw_ratio::read_heavy, moderate), kScheduled);
  EXPECT_EQ(shared(rw_ratio::read_heavy, high), kScheduled);
  EXPECT_EQ(shared(rw_ratio::balanced, low), kLatched);
  EXPECT_EQ(shared(rw_ratio::balanced, moderate), kLatched);
  EXPECT_EQ(shared(rw_ratio::balanced, high), kScheduled);
  EXPECT_EQ(shared(rw_ratio::write_heavy, low), kLatched);
  EXPECT_EQ(shared(rw_ratio::write_heavy, moderate), kLatched);
  EXPECT_EQ(shared(rw_ratio::write_heavy, high), kScheduled);
}

TEST(Primitives, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const primitive how :
       {primitive::none, primitive::serialized_by_scheduling, primitive::optimistic_latch,
        primitive::optimistic_scheduling, primitive::spin_latch, primitive::reader_writer_latch}) {
    names.insert(primitive_name(how));
  }
  EXPECT_EQ(names.size(), 6U);
  EXPECT_EQ(names.count("unknown"), 0U);
}

constexpr std::uint16_t kPools[] = {0, 1, 4095, 65535};
constexpr primitive kPrimitives[] = {primitive::none,
                                     primitive::serialized_by_scheduling,
                                     primitive::optimistic_latch,
                                     primitive::optimistic_scheduling,
                                     primitive::spin_latch,
                                     primitive::reader_writer_latch};

TEST(DataObject, RemembersPoolAndPrimitiveAndStartsUnlatched) {
  for (const primitive how : kPrimitives) {
    for (const std::uint16_t pool : kPools) {
      const DataObject object{PoolId{pool}, how};
      EXPECT_EQ(object.pool(), PoolId{pool});
      EXPECT_EQ(object.synchronization(), how);
      EXPECT_EQ(object.version().load(), 0U);
    }
  }
}

TEST(DataObject, LeavesTheUpperMetaBitsToItsType) {
  DataObject object{PoolId{65535}, primitive::optimistic_scheduling};
  object.meta().store(object.meta().load() | (~std::uint64_t{0} << DataObject::kOwnerMetaShift));
  EXPECT_EQ(object.pool(), PoolId{65535});
  EXPECT_EQ(object.synchronization(), primitive::optimistic_scheduling);
}

TEST(TaggedPointer, CarriesAddressPrimitiveMarksAndPoolApart) {
  for (const primitive how : kPrimitives) {
    for (const std::uint16_t pool : kPools) {
      testing::Words<> words{PoolId{pool}, how};
      for (unsigned marks = 0; marks < 8; ++marks) {
        const TaggedPointer tagged = words.tagged(marks);
        EXPECT_EQ(tagged.object(), &words);
        EXPECT_EQ(tagged.synchronization(), how);
        EXPECT_EQ(tagged.marks(), marks);
        EXPECT_EQ(tagged.pool_hint(), PoolId{pool});
        EXPECT_EQ(tagged.first_line(), reinterpret_cast<std::byte*>(&words));
        EXPECT_EQ(TaggedPointer{tagged.word()}, tagged);
        EXPECT_TRUE(tagged);
      }
    }
  }
  EXPECT_FALSE(TaggedPointer{});
}

TEST(TaggedPointer, KeepsItsHintWhenTheObjectMoved) {
  testing::Words<> words{PoolId{3}, primitive::optimistic_scheduling};
  const TaggedPointer before = words.tagged();
  words.meta().store((words.meta().load() & ~std::uint64_t{0xFFFF}) | 9U);
  EXPECT_EQ(before.pool_hint(), PoolId{3});
  EXPECT_EQ(before.object()->pool(), PoolId{9});
}

TEST(TaggedPointer, TakesAnyWordAlignedAddressWithoutSynchronization) {
  alignas(64) const std::byte memory[128]{};
  const TaggedPointer tagged = TaggedPointer::unsynchronized(memory + 72);
  EXPECT_EQ(tagged.synchronization(), primitive::none);
  EXPECT_EQ(tagged.word(), reinterpret_cast<std::uint64_t>(memory + 72));
  EXPECT_EQ(tagged.first_line(), memory + 64) << "the line that the address is in";
}

}  // namespace
}  // namespace mxkv::runtime

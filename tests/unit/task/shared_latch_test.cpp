// The two latches in the version word: which task gets in beside which, and the effect on the version.
#include "runtime/synchronization/latched/shared_latch.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

using SharedObject = testing::Words<14>;

TEST(SharedLatch, LetsReadersInTogetherAndWritersWhenTheLastHasLeft) {
  SharedObject object{PoolId{0}, primitive::reader_writer_latch};
  SharedLatch first = SharedLatch::acquire(object, 1);
  SharedLatch second = SharedLatch::acquire(object, 1);
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  EXPECT_FALSE(WriteLatch::acquire(object, 100));
  first.release_unchanged();
  EXPECT_FALSE(first);
  EXPECT_FALSE(WriteLatch::acquire(object, 100));
  second.release_unchanged();
  EXPECT_TRUE(WriteLatch::acquire(object, 1));
}

TEST(SharedLatch, GivesUpAfterItsTriesWhileAWriterHoldsTheObject) {
  SharedObject object{PoolId{0}, primitive::reader_writer_latch};
  WriteLatch writer = WriteLatch::acquire(object, 1);
  EXPECT_FALSE(SharedLatch::acquire(object, 100));
  writer.release();
  EXPECT_TRUE(SharedLatch::acquire(object, 1));
}

TEST(SharedLatch, ChangesNoVersionAndNamesTheOneItHolds) {
  SharedObject object{PoolId{0}, primitive::reader_writer_latch};
  WriteLatch::acquire(object, 1).release();
  const SharedLatch one = SharedLatch::acquire(object, 1);
  const SharedLatch two = SharedLatch::acquire(object, 1);
  EXPECT_EQ(one.version(), 2U);
  EXPECT_EQ(two.version(), 2U) << "without the other readers";
}

TEST(SharedLatch, IsReleasedOnceHoweverItIsMoved) {
  SharedObject object{PoolId{0}, primitive::reader_writer_latch};
  {
    SharedLatch latch = SharedLatch::acquire(object, 1);
    const SharedLatch moved{std::move(latch)};
    EXPECT_FALSE(latch);  // NOLINT(bugprone-use-after-move): the state after the move is the subject
    EXPECT_TRUE(moved);
    EXPECT_FALSE(WriteLatch::acquire(object, 1));
  }
  EXPECT_EQ(object.version().load(), 0U);
}

TEST(WriteLatch, ReleasedUnchangedLeavesTheVersionThatItTook) {
  SharedObject object{PoolId{0}, primitive::spin_latch};
  WriteLatch latch = WriteLatch::acquire(object, 1);
  EXPECT_EQ(latch.version(), 0U);
  latch.release_unchanged();
  EXPECT_FALSE(latch);
  EXPECT_EQ(object.version().load(), 0U);
}

// Words that are no atomics: only the latch keeps readers and writers apart, for ThreadSanitizer to see.
TEST(SharedLatch, KeepsWritersOutOfWhatReadersRead) {
  struct Plain : DataObject {
    Plain() : DataObject(PoolId{0}, primitive::reader_writer_latch) {}
    std::uint64_t first = 0;
    std::uint64_t second = 0;
  };
  constexpr std::uint64_t kWrites = 20'000;
  Plain object;
  std::atomic<std::uint64_t> torn{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&object] {
        for (std::uint64_t done = 0; done < kWrites;) {
          if (const WriteLatch latch = WriteLatch::acquire(object, 8)) {
            ++object.first;
            ++object.second;
            ++done;
          } else {
            std::this_thread::yield();
          }
        }
      });
      threads.emplace_back([&object, &torn] {
        for (std::uint64_t last = 0; last < 2 * kWrites;) {
          if (const SharedLatch latch = SharedLatch::acquire(object, 8)) {
            torn += object.first != object.second ? 1 : 0;
            last = object.first;
          }
          std::this_thread::yield();
        }
      });
    }
  }
  EXPECT_EQ(torn.load(), 0U);
  EXPECT_EQ(object.first, 2 * kWrites) << "no write was lost";
  EXPECT_EQ(object.version().load(), 4 * kWrites);
}

}  // namespace
}  // namespace mxkv::runtime
